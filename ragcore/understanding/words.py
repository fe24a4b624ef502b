"""Word lists of this package: data files with sections, so that a list can be read and changed without code."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files


@cache
def section(file: str, name: str) -> tuple[str, ...]:
    """The entries of one section of `FILE.txt`, in order, lower case.

    A line `=NAME` begins a section. A line with `|` or only ASCII holds entries between `|`, any other line entries
    between spaces; `#` begins a comment. Raises KeyError for an unknown section.
    """
    return _sections(file)[name]


@cache
def entries(file: str, name: str) -> frozenset[str]:
    """The same as a set."""
    return frozenset(section(file, name))


@cache
def alternatives(file: str, *names: str) -> str:
    """The entries of sections as one group for a pattern, longest first."""
    words = {word for name in names for word in section(file, name)}
    return "(?:" + "|".join(re.escape(word) for word in sorted(words, key=lambda w: (-len(w), w))) + ")"


@cache
def _sections(file: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in (files("ragcore.understanding") / f"{file}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("="):
            current = found.setdefault(line[1:].strip(), [])
        elif line.strip() and not line.startswith("#"):
            current.extend(_entries(line))
    return {name: tuple(dict.fromkeys(words)) for name, words in found.items()}


def _entries(line: str) -> list[str]:
    parts = line.split("|") if "|" in line or line.isascii() else line.split()
    return [part.strip().lower() for part in parts if part.strip()]
