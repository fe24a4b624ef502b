"""Word lists from data files: one format and one loader for every package.

A list is a text file beside the code that uses it, so that it can be read and changed without code:

- `#` at the start of a line begins a comment; empty lines are ignored.
- `=NAME` begins the section NAME. Entries above the first such line are in the section "".
- A line with `|`, or with ASCII characters only, holds entries between `|`. They may contain spaces.
- Any other line (Chinese) holds entries between spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ragcore.text.normalise import normalise_query


@cache
def read_lines(package: str, file: str) -> tuple[str, ...]:
    """Lines of a data file of a package, stripped, without comments and empty lines. Section heads are included."""
    text = files(package).joinpath(file).read_text(encoding="utf-8")
    return tuple(line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#"))


@cache
def read_section_lines(package: str, file: str) -> Mapping[str, tuple[str, ...]]:
    """The lines of a data file by section, in the order of the file; a section that stands twice is joined."""
    sections: dict[str, list[str]] = {}
    name = ""
    for line in read_lines(package, file):
        if line.startswith("="):
            name = line[1:].strip()
            sections.setdefault(name, [])
        else:
            sections.setdefault(name, []).append(line)
    return {name: tuple(lines) for name, lines in sections.items()}


@cache
def read_sections(package: str, file: str) -> Mapping[str, tuple[str, ...]]:
    """The entries of a data file by section, in the order of the file, each once."""
    return {
        name: tuple(dict.fromkeys(entry for line in lines for entry in split_entries(line)))
        for name, lines in read_section_lines(package, file).items()
    }


def read_section(package: str, file: str, section: str = "") -> tuple[str, ...]:
    """The entries of one section. Raises KeyError for an unknown section."""
    return read_sections(package, file)[section]


@cache
def read_spaced_words(package: str, file: str) -> tuple[str, ...]:
    """The words of a file in which every line, English too, holds words between spaces; sections are ignored."""
    lines = (line for line in read_lines(package, file) if not line.startswith("="))
    return tuple(dict.fromkeys(word for line in lines for word in line.split()))


def split_entries(line: str) -> list[str]:
    """The entries of one line: between `|` where it has one or is ASCII, else between spaces."""
    parts = line.split("|") if "|" in line or line.isascii() else line.split()
    return [entry for part in parts if (entry := part.strip())]


def bounded(entry: str) -> str:
    """A pattern for one entry: ASCII entries match as whole words, others (Chinese) anywhere."""
    return rf"\b{re.escape(entry)}\b" if entry.isascii() else re.escape(entry)


def longest_first(entries: Iterable[str]) -> list[str]:
    """Each entry once, longer ones first, so that an alternation of them finds the longest match."""
    return sorted(set(entries), key=lambda entry: (-len(entry), entry))


def cue_pattern(entries: Iterable[str], flags: int = 0) -> re.Pattern[str]:
    """A pattern that finds any of the entries, the longest one first; without entries it finds nothing."""
    return re.compile("|".join(map(bounded, longest_first(entries))) or r"(?!)", flags)


@dataclass(frozen=True, slots=True)
class Cues:
    """One section of a word list, lower case, with a pattern that finds any of its entries, the longest one first."""

    entries: tuple[str, ...]
    pattern: re.Pattern[str]

    def matches(self, text: str) -> list[str]:
        """The entries in a text, in order, each as often as it occurs without overlap."""
        return self.pattern.findall(normalise_query(text).lower())

    def __contains__(self, word: str) -> bool:
        return word in self.entries


@cache
def read_cues(package: str, file: str) -> Mapping[str, Cues]:
    """The sections of a data file by name, each with its pattern."""
    sections = {
        name: tuple(dict.fromkeys(entry.lower() for entry in entries))
        for name, entries in read_sections(package, file).items()
    }
    return {name: Cues(entries, cue_pattern(entries)) for name, entries in sections.items()}


def beginnings(words: str) -> re.Pattern[str]:
    """Finds words between commas: Latin ones where a word begins so, Chinese ones anywhere."""
    listed = (word.strip() for word in words.split(","))
    return re.compile("|".join(rf"\b{re.escape(w)}" if w.isascii() else re.escape(w) for w in listed))
