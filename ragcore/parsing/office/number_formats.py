"""Numbers and dates as a spreadsheet shows them, by the number format of the cell.

The codes are those of ECMA-376 part 1, 18.8.31. What is implemented is what people read and search for: digits,
thousands, percentages, currency signs, units, words for a sign or a condition, digits in groups, dates. Other codes
(fractions) show the plain number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache

GENERAL = "General"
MAX_DECIMALS = 15  # of a number in double precision

_IGNORED = re.compile(r"\[(?!\$)[^\]]{0,255}\]|_.|\*.")  # colours and conditions, widths, fillers
_CURRENCY = re.compile(r"\[\$([^\]-]{0,255})(?:-[^\]]{0,255})?\]")
_CONDITION = re.compile(r"\[(<=|>=|<>|<|>|=)\s*(-?\d{1,15}(?:\.\d{1,15})?)\]")
_QUOTED = re.compile(r'"([^"]*)"|[\\!](.)|([\u4e00-\u9fff]+)')
_WITH_WORDS = re.compile(r'((?:"[^"]*"|[\\!].)?)General("[^"]*"|[\\!].|[\u4e00-\u9fff]{1,8})', re.IGNORECASE)
_PARTS = re.compile(r'"[^"]*"|[\\!].|\[[^\]]{0,255}\]|.', re.DOTALL)
_TOKEN = re.compile(r'"([^"]*)"|[\\!](.)|([#0?][#0?,]*(?:\.[#0?]*)?,*)|(%)|(.)', re.DOTALL)
_PLAIN_ONLY = re.compile(r"(?i)general|[eE][+-]|[#0?]\s*/|@")
_EXPONENT = re.compile(r"[#0?]*0(?:\.([0?]*))?[eE]([+-])([0?]+)")
_LITERAL = re.compile(r'"[^"]*"|[\\!].|\[\$[^\]]*\]')
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
    general: bool = False  # the plain number between prefix and suffix
    words: str = ""  # a format that shows these words and no figure
    template: tuple[str, ...] = ()  # groups of whole digits and what stands between them, in turn


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


def display_text(text: str, number_format: str) -> str:
    """A text as its format shows it: with the words of the section for text, such as `"No. "@`."""
    if "@" not in number_format or number_format.strip() == "@":
        return text
    sections = _sections(number_format)
    section = sections[3] if len(sections) > 3 else next((part for part in sections if "@" in _bare(part)), "@")
    return "".join(text if part == "@" else part for part in _literals(section)).strip() or text


def _scientific(value: float, form: re.Match[str]) -> str:
    """A number with a power of ten: 1.50E-07 for the code 0.00E+00."""
    mantissa, _, power = f"{value:.{len(form[1] or '')}e}".partition("e")
    sign = "-" if power.startswith("-") else "+" if form[2] == "+" else ""
    return f"{mantissa}E{sign}{abs(int(power)):0{len(form[3])}d}"


def _number(value: float, code: str) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        return plain_number(value)
    section, is_signed = _section_for(value, code)
    if section is None:
        return ""
    form = _parsed(section)
    if form.words:
        return form.words
    if form.plain:
        exponent = _EXPONENT.fullmatch(section)
        return _scientific(value, exponent) if exponent is not None else plain_number(value)
    if form.general:
        return f"{'-' if is_signed and value < 0 else ''}{form.prefix}{plain_number(abs(value))}{form.suffix}"
    scaled = abs(Decimal(repr(value))).scaleb(form.shift)
    rounded = scaled.quantize(Decimal(1).scaleb(-form.decimals), rounding=ROUND_HALF_UP)
    width = form.digits + form.decimals + bool(form.decimals)
    digits = f"{rounded:,f}" if form.thousands else f"{rounded:0{width}f}"
    if form.optional:
        whole, _, fraction = digits.partition(".")
        decimals = fraction[: len(fraction) - form.optional] + fraction[len(fraction) - form.optional :].rstrip("0")
        digits = f"{whole}.{decimals}" if decimals else whole
    if form.template:
        digits = _filled(form.template, digits)
    sign = "-" if is_signed and value < 0 and rounded else ""
    return f"{sign}{form.prefix}{digits}{form.suffix}"


@lru_cache(maxsize=512)
def _shape(code: str) -> tuple[tuple[tuple[str, str] | None, str], ...]:
    """The sections of a code, each with its condition (">=", "60") or None."""
    shaped = []
    for section in _sections(code):
        match = _CONDITION.search(section)
        shaped.append(((match[1], match[2]) if match else None, section))
    return tuple(shaped)


def _section_for(value: float, code: str) -> tuple[str | None, bool]:
    """The section that shows a number, and whether a minus sign is to be written; None where it shows nothing."""
    shape = _shape(code)
    if any(condition for condition, _ in shape):
        for condition, section in shape[:3]:
            if condition is None or _holds(value, *condition):
                return section, not (condition and value < 0 and _has_words(section))
        return shape[0][1], True
    sections = [section for _, section in shape]
    positive = sections[0]
    if value < 0 and len(sections) > 1:
        negative = sections[1]
        if not negative.strip():
            return None, False
        return (negative, False) if _words(negative) - _words(positive) else (positive, True)
    if value == 0 and len(sections) > 2:
        zero = sections[2]
        if not zero.strip():
            return None, False
        return (zero, False) if _has_words(zero) else (positive, False)
    return (positive, True) if positive.strip() else (None, False)


def _holds(value: float, sign: str, limit: str) -> bool:
    number = float(limit)
    match sign:
        case "<":
            return value < number
        case "<=":
            return value <= number
        case ">":
            return value > number
        case ">=":
            return value >= number
        case "<>":
            return value != number
    return value == number


def _words(section: str) -> frozenset[str]:
    """The words between quotation marks and behind backslashes of a section."""
    texts = (match[1] or match[2] or match[3] or "" for match in _QUOTED.finditer(section))
    return frozenset(text.strip() for text in texts if any(map(str.isalpha, text)))


def _has_words(section: str) -> bool:
    return bool(_words(section))


def _bare(section: str) -> str:
    return _LITERAL.sub("", section)


def _literals(section: str) -> Iterator[str]:
    """The parts of a section for text: "@" where the text stands, and the words around it."""
    for quoted, escaped, _digits, _sign, other in _TOKEN.findall(_IGNORED.sub("", section)):
        yield quoted or escaped or other


@lru_cache(maxsize=512)
def _parsed(section: str) -> NumberFormat:
    """A section of a format code."""
    section = _CONDITION.sub("", section)
    if (general := _WITH_WORDS.fullmatch(_IGNORED.sub("", section))) is not None:
        prefix, suffix = ("".join(_literals(general[group] or "")) for group in (1, 2))
        return NumberFormat(prefix=prefix, suffix=suffix, general=True)
    if _PLAIN_ONLY.search(_LITERAL.sub("", section)):
        return NumberFormat(plain=True)
    section = _CURRENCY.sub(lambda match: f'"{match[1]}"', section)
    section = _IGNORED.sub("", section)
    prefix, suffix, percent, words = "", "", 0, ""
    patterns: list[str] = []
    template: list[str] = []
    for quoted, escaped, digits, sign, other in _TOKEN.findall(section):
        percent += bool(sign)
        literal = quoted or escaped or sign or other
        if digits:
            template += [suffix] if patterns else []
            suffix = ""
            patterns.append(digits)
            template.append(digits)
        elif patterns:
            suffix += literal
        else:
            prefix += literal
        words += quoted or escaped
    if not patterns:
        literal_text = prefix.strip()
        return NumberFormat(words=literal_text) if any(map(str.isalpha, words)) else NumberFormat(plain=True)
    if len(patterns) > 1 and not _is_template(template):
        return NumberFormat(plain=True)
    pattern = "".join(patterns)
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
        template=tuple(template) if len(patterns) > 1 else (),
    )


def _is_template(template: Sequence[str]) -> bool:
    """Whether whole digits stand between signs, as in phone numbers: 000-0000, and 0\\.0 for tens of thousands."""
    groups = [group.rstrip(",") for group in template[0::2]]
    return all("." not in group and "," not in group for group in groups)


def _filled(template: Sequence[str], digits: str) -> str:
    """Whole digits from the right into the groups of a template; the first group takes what is left."""
    parts: list[str] = []
    for at in range(len(template) - 1, -1, -1):
        if at % 2:
            parts.append(template[at])
        else:
            size = len(template[at].rstrip(",")) if at else len(digits)
            parts.append(digits[len(digits) - size :] if size else "")
            digits = digits[: len(digits) - size] if size else digits
    return "".join(reversed(parts))


def _sections(code: str) -> list[str]:
    """Parts between semicolons that are not quoted, empty ones too."""
    sections, current = [], ""
    for part in _PARTS.findall(code):
        if part == ";":
            sections.append(current)
            current = ""
        else:
            current += part
    return [*sections, current] if code.strip() else [GENERAL]


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
