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
_SYMBOL_NAME = re.compile(r"^#{1,6} `(?P<name>[^`\n]+)`$", re.MULTILINE)
_SIMPLE = re.compile(r"[^\W\d][\w$]*")
_ALONE = re.compile(r"`?[\w$]+(?:(?:\.|::|->|#)[\w$~]+)*(?:\(\))?`?")
_QUOTED = re.compile(r"`([^`\n]{1,120})`")
# what only identifiers look like: snake_case, camelCase with a small beginning, and calls
_WRITTEN = re.compile(
    r"(?<![\w$])(?:(?=[\w$]*[^\W_]_+[^\W_]|__?[^\W_]|[a-z]+[A-Z]|[A-Z][a-z]+[A-Z])[\w$]+|[\w$]+(?=\(\)))(?![\w$])",
    re.ASCII,
)
SIGNATURE_CHARACTERS = 240
_DECORATION = re.compile(r"\s*(?:@|#|//|/?\*|\"\"\"|''')")
_COMPOUND = re.compile(r"(?<![\w$])(?=[\w$]*(?:[^\W_]_++[^\W_]|[a-z][A-Z]))[\w$]++")
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


def defined_names(text: str) -> set[str]:
    """The simple names of the symbols whose definitions begin in a Markdown text: of `Timer.stop` it is "stop"."""
    if not is_source(text):
        return set()
    names = (_SIMPLE.findall(match["name"]) for match in _SYMBOL_NAME.finditer(text))
    return {parts[-1] for parts in names if parts}


def asked_identifiers(question: str) -> set[str]:
    """The simple names that a question gives as they are written in code; none of ordinary text.

    All of the question may be one: "retry" and "Timer.stop()". In a sentence it is one in backticks, one that is called
    with brackets, and one of several words without a space between them.
    """
    text = question.strip().rstrip("?？。")
    candidates = [text] if _ALONE.fullmatch(text) else [*_QUOTED.findall(text), *_WRITTEN.findall(text)]
    names = (_SIMPLE.findall(name) for name in candidates)
    return {parts[-1] for parts in names if parts}


def signature_of(code: str) -> str:
    """The first line that is no comment, decorator or docstring; "" where there is none."""
    lines = (line for line in code.split("\n") if line.strip() and not _DECORATION.match(line))
    return next(lines, "")[:SIGNATURE_CHARACTERS].rstrip()


def signature_words(text: str) -> list[str]:
    """For each definition that begins in a Markdown text, the words of its name and of its signature."""
    texts: list[str] = []
    for heading in _SYMBOL_NAME.finditer(text) if is_source(text) else ():
        code = _FENCE.search(text, heading.end())
        signature = signature_of(code["code"]) if code else ""
        texts.append(f"{identifier_words(heading['name'])}\n{identifier_words(signature)}")
    return list(dict.fromkeys(texts))


def readable_source(text: str) -> str:
    """Source code as words for who compares it with a question: every identifier of several words in its words, too."""
    plain = _SYMBOL_HEADING.sub(r"\g<name>\n", _FENCE.sub(lambda match: match["code"], text))
    return _COMPOUND.sub(lambda match: f"{identifier_words(match[0])} {match[0]}", plain)


def searchable_source(text: str, *, symbols: Iterable[str]) -> str:
    """Source code as it is indexed: the words of its symbols, twice as they weigh more, and code without fences."""
    words = " ".join(filter(None, map(identifier_words, symbols)))
    plain = _SYMBOL_HEADING.sub("", _FENCE.sub(lambda match: match["code"], text))
    return f"{words}\n{words}\n{plain}" if words else plain
