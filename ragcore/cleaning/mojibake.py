"""UTF-8 that was read as Latin-1 or Windows-1252 is read again (D25): "ä¸­æ–‡" becomes "中文"."""

from __future__ import annotations

import re

_SUSPICIOUS = re.compile(
    "[\u0080-\u00ff\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u203a\u20ac\u2122]{2,}"
)


def repair_mojibake(text: str) -> str:
    """Repairs stretches that are valid UTF-8 when their characters are taken as bytes; correct text never is."""
    return _SUSPICIOUS.sub(_repaired, text)


def _repaired(match: re.Match[str]) -> str:
    try:
        return b"".join(map(_byte, match[0])).decode("utf-8")
    except UnicodeError:
        return match[0]


def _byte(char: str) -> bytes:
    """Windows-1252, where the five bytes that it leaves open stand for themselves."""
    try:
        return char.encode("cp1252")
    except UnicodeEncodeError:
        return char.encode("latin-1")
