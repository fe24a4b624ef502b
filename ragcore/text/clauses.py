"""The clause of a place in a text: whether what stands there is told of the asker."""

from __future__ import annotations

import re

_ASKER = re.compile(r"\b(?:I|I['’](?:m|ve|ll|d))\b|我(?![们們])")
_CLAUSE_END = re.compile(r"[。！？；，!?;,]|\.\s")


def clause_around(text: str, start: int, end: int) -> tuple[str, str]:
    """What stands before and behind a place in its clause."""
    return _CLAUSE_END.split(text[:start])[-1], _CLAUSE_END.split(text[end:])[0]


def is_of_asker(text: str, start: int, end: int) -> bool:
    """Whether the clause of a time in a text tells of the asker; "last week's minutes" has a time of its own."""
    before, behind = clause_around(text, start, end)
    return not behind.startswith(("的", "'s", "’s")) and _ASKER.search(f"{before} {behind}") is not None
