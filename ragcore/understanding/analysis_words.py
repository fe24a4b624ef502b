"""Word lists of the analysis: which sections a data file has, and patterns of their entries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ragcore.text.normalise import normalise_query


@dataclass(frozen=True, slots=True)
class Cues:
    """One section: its entries as they stand in the file, and a pattern that finds any of them, longest first."""

    entries: tuple[str, ...]
    pattern: re.Pattern[str]

    def found(self, text: str) -> list[str]:
        """The entries in a text, in order, each as often as it occurs without overlap."""
        return self.pattern.findall(normalise_query(text).lower())

    def __contains__(self, word: str) -> bool:
        return word in self.entries


@cache
def cue_sections(package: str, name: str) -> Mapping[str, Cues]:
    """The sections of a data file by name.

    `=name` begins a section, `#` a comment. A line of ASCII holds words or phrases separated by |, which are found as
    whole words; any other line holds words separated by spaces, which are found anywhere.
    """
    sections: dict[str, list[str]] = {}
    entries: list[str] = []
    for line in (files(package) / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("="):
            entries = sections.setdefault(line[1:], [])
        elif line and not line.startswith("#"):
            found = line.split("|") if line.isascii() else line.split()
            entries.extend(entry for part in found if (entry := part.strip().lower()))
    return {section: Cues(tuple(dict.fromkeys(found)), _pattern(found)) for section, found in sections.items()}


def cues(section: str) -> Cues:
    """A section of the word lists of the analysis."""
    return cue_sections("ragcore.understanding", "analysis_words.txt")[section]


def _pattern(entries: list[str]) -> re.Pattern[str]:
    longest = sorted(set(entries), key=lambda entry: (-len(entry), entry))
    return re.compile("|".join(rf"\b{re.escape(e)}\b" if e.isascii() else re.escape(e) for e in longest) or r"(?!)")
