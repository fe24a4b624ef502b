"""Numbers and dates as a spreadsheet shows them, by the number format of the cell.

The codes are those of ECMA-376 part 1, 18.8.31. What is implemented is what people read and search for: digits,
thousands, percentages, currency signs, units, dates. Other codes (fractions, exponents, conditions) show the plain
number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache

GENERAL = "General"
MAX_DECIMALS = 15  # of a number in double precision

_IGNORED = re.compile(r"\[(?!\$)[^\]]{0,255}\]|_.|\*.")  # colours and conditions, widths, fillers
_CURRENCY = re.compile(r"\[\$([^\]-]{0,255})(?:-[^\]]{0,255})?\]")
_TOKEN = re.compile(r'"([^"]*)"|\\(.)|([#0?][#0?,]*(?:\.[#0?]*)?,*)|(%)|(.)', re.DOTALL)
_PLAIN_ONLY = re.compile(r"(?i)^general$|[eE][+-]|[#0?]\s*/|\[[<>=]|^@?$")
_LITERAL = re.compile(r'"[^"]*"|\\.|\[\$[^\]]*\]')
_ELAPSED = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberFormat:
    """How a positive number is written."""

    prefix: str = ""
    suffix: str = ""
    digits: int = 1  # before the decimal point at least
    decimals: int = 0
    optional: int = 0  # how many of the decimals are left out when they are zero
    thousands: bool = False
    shift: int = 0  # powers of ten: +2 a percent sign, -3 each comma at the end
    plain: bool = False  # a format that is not understood


def display(value: object, number_format: str = GENERAL) -> str:
    """A cell's value on the screen; "" for None. Dates are ISO unless the format is Chinese."""
    match value:
        case None:
            return ""
        case bool():
            return "TRUE" if value else "FALSE"
        case int() | float():
            return _number(value, number_format)
        case datetime():
            return _datetime(value, number_format)
        case date():
            return _date(value, number_format)
        case time():
            return _clock(value)
        case timedelta():
            return _duration(value)
    return str(value)


def plain_number(value: float) -> str:
    """Without the noise of binary fractions, without ".0" and without an exponent where one can read it."""
    if isinstance(value, int) or value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    text = f"{value:.15g}"
    return f"{Decimal(text):f}" if "e" in text and 1e-6 <= abs(value) < 1e15 else text


def _number(value: float, code: str) -> str:
    form = _parsed(code)
    if form.plain or value != value or value in (float("inf"), float("-inf")):
        return plain_number(value)
    scaled = abs(Decimal(repr(value))).scaleb(form.shift)
    rounded = scaled.quantize(Decimal(1).scaleb(-form.decimals), rounding=ROUND_HALF_UP)
    width = form.digits + form.decimals + bool(form.decimals)
    digits = f"{rounded:,f}" if form.thousands else f"{rounded:0{width}f}"
    if form.optional:
        whole, _, fraction = digits.partition(".")
        decimals = fraction[: len(fraction) - form.optional] + fraction[len(fraction) - form.optional :].rstrip("0")
        digits = f"{whole}.{decimals}" if decimals else whole
    sign = "-" if value < 0 and rounded else ""
    return f"{sign}{form.prefix}{digits}{form.suffix}"


@lru_cache(maxsize=512)
def _parsed(code: str) -> NumberFormat:
    """The first section of a format code; a minus sign stands for the section of negative numbers."""
    section = _sections(code)[0]
    if _PLAIN_ONLY.search(_LITERAL.sub("", section)):
        return NumberFormat(plain=True)
    section = _CURRENCY.sub(lambda match: f'"{match[1]}"', section)
    section = _IGNORED.sub("", section)
    prefix, suffix, pattern, percent = "", "", "", 0
    for quoted, escaped, digits, sign, other in _TOKEN.findall(section):
        if digits and pattern:  # two patterns, as in phone numbers
            return NumberFormat(plain=True)
        pattern = pattern or digits
        percent += bool(sign)
        literal = quoted or escaped or sign or other
        prefix, suffix = (prefix, suffix + literal) if pattern else (prefix + literal, suffix)
    if not pattern:
        return NumberFormat(plain=True)
    body = pattern.rstrip(",")
    whole, _, fraction = body.partition(".")
    return NumberFormat(
        prefix=prefix.lstrip("( "),
        suffix=suffix.rstrip(")").rstrip(),
        digits=max(1, min(whole.count("0"), MAX_DECIMALS)),
        decimals=min(len(fraction), MAX_DECIMALS),
        optional=min(len(fraction) - len(fraction.rstrip("#?")), MAX_DECIMALS),
        thousands="," in whole,
        shift=2 * percent - 3 * (len(pattern) - len(body)),
    )


def _sections(code: str) -> list[str]:
    """Parts between semicolons that are not quoted."""
    return re.findall(r'(?:"[^"]*"|\\.|[^;])+', code) or [GENERAL]


def _datetime(value: datetime, code: str) -> str:
    letters = _LITERAL.sub("", _ELAPSED.sub("", code)).lower()
    day = _date(value.date(), code)
    if "h" in letters and not ("y" in letters or "d" in letters):
        return _clock(value.time())
    has_time = value.time() != time() and ("h" in letters or not letters.strip("@") or letters == "general")
    return f"{day} {_clock(value.time())}" if has_time else day


def _date(value: date, code: str) -> str:
    letters = _LITERAL.sub("", code).lower()
    chinese = "年" in code or ("月" in code and "m" in letters)
    year, day = "y" in letters or "e" in letters.replace("general", ""), "d" in letters
    if chinese:
        parts = [f"{value.year}年" if year else "", f"{value.month}月", f"{value.day}日" if day else ""]
        return "".join(parts)
    return value.isoformat() if day or not year else f"{value:%Y-%m}"


def _clock(value: time) -> str:
    value = value.replace(microsecond=0)
    return f"{value:%H:%M:%S}" if value.second else f"{value:%H:%M}"


def _duration(value: timedelta) -> str:
    seconds = round(value.total_seconds())
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    hours, minutes, rest = seconds // 3600, seconds // 60 % 60, seconds % 60
    return f"{sign}{hours}:{minutes:02d}" + (f":{rest:02d}" if rest else "")
