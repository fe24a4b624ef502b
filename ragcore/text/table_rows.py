"""Rows of tables in Markdown (D24, A2)."""

from __future__ import annotations

import re

_RULE = re.compile(r"\s*\|?(?:\s*:?-{1,}:?\s*\|)*\s*:?-{1,}:?\s*\|?\s*")
_BORDER = re.compile(r"(?<!\\)\|")


def is_rule(line: str) -> bool:
    """Whether it is the line between the head of a table and its rows."""
    return _RULE.fullmatch(line) is not None


def row_cells(line: str) -> list[str]:
    """The cells of a row as written, without their borders; \\| inside one is a plain |."""
    inner = line.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.replace("\\|", "|") for cell in _BORDER.split(inner)]
