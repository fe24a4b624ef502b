"""Codes in questions: names of products, versions, numbers of alarms and documents ("ALM-2007", "V3.2.1").

A code names one thing and no other. A passage about its neighbour shares every other word of a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from ragcore.text.normalise import nfkc

LEAST_CHARACTERS = 4  # letters and digits of a code; "5G", "A3" and "R2" name too many things
_SHORT = re.compile(r"([A-Za-z]{1,3})-(\d{2,})|([A-Za-z]{1,2})(\d\d)")  # is a code however short: E-25, E25
_NUMBERED = re.compile(r"#\s?\d+(?![\w.])|(?<![\d.])\d+\s?号(?:线|楼|门|仓|库|机|房|厂|车间|会议室|工位|机架|机柜)")
_PATH = re.compile(r"(?<![\w/.:])/[a-z][\w.-]*(?:/[\w.-]+)*(?![\w/])")
_HAN_DIGITS = dict(zip("123456789", "一二三四五六七八九", strict=True)) | {"10": "十"}
_TOKEN_OF_NAME = re.compile(r"[A-Za-z0-9-]++")
_SIGNED = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Za-z]{1,2}(?:\+\+|#)|[A-Z]\+)(?![A-Za-z_+#])"
    r"|(?<![\w-])\dG-[A-Z](?![\w-])",
    re.ASCII,
)
_YEAR = re.compile(r"[a-z]{0,2}(?:19|20)\d\d")  # FY2017 names a time
_CODE = re.compile(
    r"(?<![A-Za-z0-9.])(?:[A-Za-z]+(?:[-_/][A-Za-z]+)*[-_]?\d[A-Za-z0-9]*(?:[-_./][A-Za-z0-9]+)*"
    r"|\d+(?:\.\d+){2,}[A-Za-z0-9]*|\d{6,}(?:-\d+)+|0[xX][0-9A-Fa-f]{2,}|\d{3,}-(?=[A-Z0-9]*[A-Z])[A-Z0-9]{2,})(?![A-Za-z0-9])"
)
_SPACED = re.compile(
    r"(?<![A-Za-z0-9/-])(?!(?:EUR|USD|GBP|RMB|CNY|JPY|HKD|UTC|GMT|TOP) )([A-Z]{2,6}) (\d{3,6})(?![\d%°]|[.,:]\d)",
    re.ASCII,
)
_VERSION = re.compile(r"[Vv]?(\d+(?:\.\d+)+)")
_JOINT = re.compile(r"[^A-Za-z0-9]+")


def codes_in(text: str) -> list[str]:
    """The codes of a text in order, each once: letters and digits in lower case, a version without its "v".

    Also what is told apart by its number: "#12", 4号线, by its sign: C++, A+, 5G-A, and paths: "/home". A short code
    keeps its hyphen, and a standard its space: "RFC 3339".
    """
    plain = nfkc(text)
    places = [(m.start(), folded_code(m.group())) for m in _CODE.finditer(plain) if _is_name(m.group())]
    places += [(m.start(), re.sub(r"\s", "", m.group())) for m in _NUMBERED.finditer(plain)]
    places += [(m.start(), m.group().lower()) for m in _SPACED.finditer(plain) if not _YEAR.fullmatch(m[2])]
    places += [(m.start(), m.group().lower()) for m in _SIGNED.finditer(plain)]
    places += [(m.start(), m.group()) for m in _PATH.finditer(plain)]
    return list(dict.fromkeys(code for _place, code in sorted(places)))


def versions_in(text: str) -> list[str]:
    """The codes of a text that are versions: V3.2.1."""
    return [code for code in codes_in(text) if "." in code]


def folded_code(code: str) -> str:
    """A code without hyphens and case; a version keeps its dots, as "1.11" is not "11.1"."""
    if version := _VERSION.fullmatch(code):
        return version[1]
    folded = _JOINT.sub("", code).lower()
    return code.lower() if len(folded) < LEAST_CHARACTERS else folded


def missing_codes(question: str, texts: Iterable[str]) -> list[str]:
    """The codes of a question that none of the texts holds; PPR-9087/2 holds PPR-9087, PPR-90871 does not."""
    codes = codes_in(question)
    return without_codes(codes, "\n".join(texts)) if codes else []


def without_codes(codes: Iterable[str], text: str) -> list[str]:
    """Those of some codes that a text does not hold."""
    plain = nfkc(text).lower()
    return [code for code in codes if not _is_there(code, plain)]


def _is_there(code: str, plain: str) -> bool:
    if "." in code:
        return _has_version(code, plain)
    if short := _SHORT.fullmatch(code):
        letters, digits = short[1] or short[3], short[2] or short[4]
        return re.search(rf"(?<![a-z0-9]){letters}[-\s]?{digits}(?!\d)", plain) is not None
    if " " in code:  # also ISO/IEC 9001 and GB/T 50016
        return re.search(rf"(?<!\d){code.partition(' ')[2]}(?!\d)", plain) is not None
    if code[-1] in "+#":
        return re.search(rf"(?<![a-z0-9]){re.escape(code)}(?![a-z_+#])", plain) is not None
    if code[1:3] == "g-":  # 5G-A is also written out: 5G-Advanced
        return re.search(rf"(?<![a-z0-9]){code}(?:[a-z]{{3,}})?(?![a-z0-9])", plain) is not None
    if code.startswith("/"):
        return re.search(rf"{re.escape(code.lower())}(?![\w-])", plain) is not None
    if code.startswith("#"):
        return re.search(rf"(?:#|\bno\.?|\bnr\.?|\bnumber|第)\s?{code[1:]}(?!\d)", plain) is not None
    number, sign, what = code.partition("号")
    if not sign:
        return _code_pattern(code).search(plain) is not None
    spoken = _HAN_DIGITS.get(number, number)
    return re.search(rf"(?<!\d)(?:{number}|{spoken})\s?号{what}", plain) is not None


@lru_cache(maxsize=1024)
def _code_pattern(code: str) -> re.Pattern[str]:
    """A folded code as texts write it, with signs between its parts; not as the beginning or end of another one."""
    pattern = code[0]
    for before, char in pairwise(code):
        is_joint = before.isdigit() != char.isdigit()
        pattern += (r"[-_./\s]{0,2}" if is_joint else "[-_./]?") + re.escape(char)
    kinds = (r"\d" if char.isdigit() else "[a-z]" for char in (code[0], code[-1]))
    return re.compile(f"(?<!{next(kinds)}){pattern}(?!{next(kinds)})")


def _is_name(code: str) -> bool:
    folded = folded_code(code)
    is_long = "." in folded or len(folded) >= LEAST_CHARACTERS or _SHORT.fullmatch(folded) is not None
    return is_long and _YEAR.fullmatch(folded) is None


def _has_version(version: str, plain: str) -> bool:
    return re.search(rf"(?<![\d.]){re.escape(version)}(?![\d]|\.\d)", plain) is not None


def capital_names(text: str) -> list[str]:
    """Names with two capitals, in the order of the text: RedCap, VSWR, S-NSSAI."""
    return [token for token in _TOKEN_OF_NAME.findall(text) if sum(map(str.isupper, token)) > 1]
