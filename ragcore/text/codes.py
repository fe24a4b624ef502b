"""Codes in questions: names of products, versions, numbers of alarms and documents ("ALM-2007", "V3.2.1") (D21).

A code names one thing and no other. A passage about its neighbour shares every other word of a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ragcore.text.normalise import nfkc

LEAST_CHARACTERS = 4  # letters and digits of a code; "5G", "A3" and "R2" name too many things
_YEAR = re.compile(r"[a-z]{0,2}(?:19|20)\d\d")  # FY2017 names a time
_CODE = re.compile(
    r"(?<![A-Za-z0-9.])(?:[A-Za-z]+(?:[-_/][A-Za-z]+)*[-_]?\d[A-Za-z0-9]*(?:[-_./][A-Za-z0-9]+)*"
    r"|\d+(?:\.\d+){2,}[A-Za-z0-9]*)(?![A-Za-z0-9])"
)
_VERSION = re.compile(r"[Vv]?(\d+(?:\.\d+)+)")
_JOINT = re.compile(r"[^A-Za-z0-9]+")


def codes_in(text: str) -> list[str]:
    """The codes of a text in order, each once: letters and digits in lower case, a version without its "v"."""
    found = (folded_code(match.group()) for match in _CODE.finditer(nfkc(text)))
    return list(dict.fromkeys(code for code in found if _is_name(code)))


def folded_code(code: str) -> str:
    """A code without hyphens and case; a version keeps its dots, as "1.11" is not "11.1"."""
    if version := _VERSION.fullmatch(code):
        return version[1]
    return _JOINT.sub("", code).lower()


def missing_codes(question: str, texts: Iterable[str]) -> list[str]:
    """The codes of a question that none of the texts holds, also as part of a longer one."""
    codes = codes_in(question)
    return without_codes(codes, "\n".join(texts)) if codes else []


def without_codes(codes: Iterable[str], text: str) -> list[str]:
    """Those of some codes that a text does not hold."""
    plain = nfkc(text).lower()
    squeezed = _JOINT.sub("", plain)
    return [code for code in codes if not (_has_version(code, plain) if "." in code else code in squeezed)]


def _is_name(code: str) -> bool:
    return ("." in code or len(code) >= LEAST_CHARACTERS) and _YEAR.fullmatch(code) is None


def _has_version(version: str, plain: str) -> bool:
    return re.search(rf"(?<![\d.]){re.escape(version)}(?![\d]|\.\d)", plain) is not None
