"""Paths like a pattern."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase


def glob_matches(path: str, globs: Sequence[str]) -> bool:
    """Whether a path is like any of the globs; `*` also stands for slashes, case does not count."""
    lowered = path.casefold()
    return any(fnmatchcase(lowered, one.casefold()) for one in globs)
