"""Consecutive passages of a document as one text: what they repeat of each other stands once."""

from __future__ import annotations

import re
from collections.abc import Sequence

SHORTEST = 8  # characters that are an overlap and no chance
LONGEST = 4000
_RULE = re.compile(r"\s*\|?[\s:|-]+\|?\s*")


def join_passages(texts: Sequence[str]) -> tuple[str, list[int]]:
    """The texts in one, and where each of them begins in it.

    The end of one that the next repeats stands once, and so do the caption and the head of a table that goes on.
    """
    whole = ""
    starts: list[int] = []
    for text in (text.strip() for text in texts):
        if not whole:
            starts.append(0)
            whole = text
        elif shared := overlap_length(whole, text):
            starts.append(len(whole) - shared)
            whole += text[shared:]
        else:
            rows = _rows_behind(whole, text)
            gap = "\n\n" if rows is None else "\n"
            starts.append(len(whole) + len(gap))
            whole = f"{whole}{gap}{text if rows is None else rows}"
    return whole, starts


def overlap_length(first: str, second: str) -> int:
    """How many characters at the end of the first text the second one begins with; 0 where it is chance."""
    for size in range(min(len(first), len(second), LONGEST), SHORTEST - 1, -1):
        if first.endswith(second[:size]):
            return size
    return 0


def _rows_behind(first: str, second: str) -> str | None:
    """The second text without caption and head, where it goes on with the table in which the first one ends."""
    if not first.rsplit("\n", 1)[-1].lstrip().startswith("|"):
        return None
    lines = second.split("\n")
    rule = next((at for at, line in enumerate(lines[:8]) if "-" in line and _RULE.fullmatch(line)), None)
    if not rule or "\n".join(lines[rule - 1 : rule + 1]) not in first:
        return None
    caption = "\n".join(lines[: rule - 1]).strip()
    return "\n".join(lines[rule + 1 :]) if not caption or caption in first else None
