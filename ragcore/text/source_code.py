"""Source code inside Markdown: a fence that says which lines of the file it holds, and the text that is searched.

    ```python lines=12-40

The fence travels with the code through cleaning, cutting and storing, so that each passage knows its place in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_FENCE = re.compile(
    r"^(?P<fence>`{3,}|~{3,})(?P<language>[\w+#-]+) lines=(?P<first>\d+)-(?P<last>\d+)\n"
    r"(?P<code>.*?)\n?^(?P=fence)[ ]*$",
    re.DOTALL | re.MULTILINE,
)
_MARK = re.compile(r" lines=\d+-\d+\n")
_SYMBOL_HEADING = re.compile(r"^#{1,6} `(?P<name>[^`\n]+)`$\n*", re.MULTILINE)
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLines:
    """The code of one fence and where it stands in its file."""

    language: str
    first: int  # 1-based
    last: int  # inclusive
    code: str


def fence_source(code: str, *, language: str, first: int, last: int) -> str:
    """Lines of a source file as Markdown; the fence is one that the code does not hold."""
    fence = next((mark for mark in ("```", "~~~", "````", "~~~~") if mark not in code), "`" * 16)
    return f"{fence}{language} lines={first}-{last}\n{code}\n{fence}"


def source_lines(text: str) -> list[SourceLines]:
    """The source code of a Markdown text, in order; none for text and for other code."""
    if not is_source(text):
        return []
    return [
        SourceLines(language=match["language"], first=int(match["first"]), last=int(match["last"]), code=match["code"])
        for match in _FENCE.finditer(text)
    ]


def is_source(text: str) -> bool:
    """Whether a Markdown text holds lines of a source file."""
    return " lines=" in text and _MARK.search(text) is not None


def symbol_heading(name: str) -> str:
    """A symbol as the text of a heading, which Markdown shows as it is written."""
    return f"`{name}`" if "`" not in name else name


def heading_name(text: str) -> str:
    """A heading without the marks of code around all of it."""
    name = text.strip()
    return name[1:-1] if len(name) > 2 and name[0] == name[-1] == "`" and "`" not in name[1:-1] else name


def identifier_words(name: str) -> str:
    """The words of an identifier or of a path of them: "rrc setup complete" of `rrcSetup_complete`."""
    return " ".join(word if word.isupper() else word.lower() for word in _WORD.findall(name))


def searchable_source(text: str, *, symbols: Iterable[str]) -> str:
    """Source code as it is indexed: the words of its symbols, then the code without fences and headings."""
    words = " ".join(filter(None, map(identifier_words, symbols)))
    plain = _SYMBOL_HEADING.sub("", _FENCE.sub(lambda match: match["code"], text))
    return f"{words}\n{plain}" if words else plain
