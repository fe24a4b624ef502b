"""Timestamps at the beginning of log lines (D25); off unless a set asks for it, as they may be what matters."""

from __future__ import annotations

import re

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DATE = rf"(?:\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{2,4}}|{_MONTH}\s+\d{{1,2}})"
_TIME = r"\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?:\s?(?:Z|[+-]\d{2}:?\d{2}))?"
_STAMP = re.compile(rf"^[ \t]*\[?(?:{_DATE}[T ,]?\s*)?{_TIME}\]?[ \t]*(?:[-:|][ \t]+)?", re.MULTILINE)


def strip_log_timestamps(text: str) -> str:
    """Lines without the time at which they were written; lines that do not begin with one stay."""
    return _STAMP.sub("", text)
