"""Fenced blocks of code within Markdown, as they were written, and the text around them.

A block begins with a line of at least three ` or ~ and ends with one of at least as many; it may stand in a list or a
quotation, whose signs then belong to the fence and not to the code. A fence that never closes is none, and neither is
a line of ~ that underlines the words above it, as plain texts write headings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

LEFT_OUT = "…"  # alone in a line of shown code: lines are left out there
NEW_BLOCK = "\n\n"
_OPENING = re.compile(
    r"(?P<before>[ \t]*+(?:(?:>|[-*+](?=\s)|\d{1,3}[.)](?=\s))[ \t]*+){0,8})(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)"
)
_CLOSING = re.compile(r"[ \t>]*(?P<fence>`{3,}|~{3,})[ \t]*")
_LANGUAGE = re.compile(r"\{?\s*\.?(?P<name>[A-Za-z][\w+#.-]{0,29})")
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_QUOTED = re.compile(r"[ \t]*>[ ]?")
_RUN = re.compile(r"`{3,}")
CODE_SPAN = re.compile(  # code within a line
    r"(?<![`\\])(?P<ticks>`{1,2})(?!`)(?P<code>[^\n]{1,300}?)(?<!`)(?P=ticks)(?!`)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBlock:
    """The code of one fence without the indentation of the fence, and where it stands in its text."""

    code: str  # verbatim, without the last line break
    language: str = ""  # as the fence names it; "" where it names none
    is_item: bool = False  # it begins an item of a list: "- ```"
    is_inside: bool = False  # it is indented as a part of an item
    start: int = 0  # of the line of the opening fence
    end: int = 0  # behind the line of the closing fence

    @property
    def markdown(self) -> str:
        """The block at the margin, in a fence that its code does not hold."""
        return fence_code(self.code, self.language)


def code_blocks(text: str) -> list[CodeBlock]:
    """The blocks of a text in order; [] for most texts, which takes no time."""
    if "```" not in text and "~~~" not in text:
        return []
    lines = [(match.start(), match[0]) for match in _LINE.finditer(text)]
    blocks: list[CodeBlock] = []
    at = 0
    while at < len(lines):
        if (opening := _opening(lines, at)) and (last := _closing(lines, at, opening["fence"])) is not None:
            blocks.append(_block(lines, at, last, opening))
            at = last
        at += 1
    return blocks


def text_parts(text: str) -> Iterator[str | CodeBlock]:
    """The blocks of a text and, between them, what else it says, in order; the blank lines stay with the words."""
    at = 0
    for block in code_blocks(text):
        if text[at : block.start]:
            yield text[at : block.start]
        yield block
        at = block.end
    if text[at:]:
        yield text[at:]


def without_blocks(text: str) -> str:
    """The text with an empty line in the place of each block."""
    return "".join(part if isinstance(part, str) else "\n\n" for part in text_parts(text))


def in_words(text: str, change: Callable[[str], str]) -> str:
    """The text with its words changed and its blocks as they are."""
    blocks = code_blocks(text)
    if not blocks:
        return change(text)
    pieces, at = [], 0
    for block in blocks:
        pieces += [change(text[at : block.start]), text[block.start : block.end]]
        at = block.end
    return "".join([*pieces, change(text[at:])])


def fence_code(code: str, language: str = "") -> str:
    """Code as a block of Markdown; the fence is longer than any run of back ticks in it."""
    longest = max((len(run) for run in _RUN.findall(code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{code}\n{fence}"


def joined_texts(texts: Iterable[str]) -> str:
    """Texts in a row with a space between them; a block has lines of its own."""
    joined = ""
    for text in filter(None, texts):
        has_border = joined.endswith("```") or text.startswith("```")
        joined += f"{'' if not joined else NEW_BLOCK if has_border else ' '}{text}"
    return joined


def verbatim_parts(code: str) -> list[str]:
    """The pieces of shown code between the lines that are left out."""
    pieces: list[list[str]] = [[]]
    for line in code.split("\n"):
        if line.strip() == LEFT_OUT:
            pieces.append([])
        else:
            pieces[-1].append(line)
    return [text for piece in pieces if (text := "\n".join(piece)).strip()]


def is_block(text: str) -> bool:
    """Whether a text is one block of code and nothing else."""
    blocks = code_blocks(text)
    return len(blocks) == 1 and not text[: blocks[0].start].strip() and not text[blocks[0].end :].strip()


def _opening(lines: list[tuple[int, str]], at: int) -> re.Match[str] | None:
    line = lines[at][1].rstrip("\n")
    match = _OPENING.fullmatch(line)
    if match is None or (match["fence"][0] == "`" and "`" in match["info"]):
        return None  # code within a line
    above = lines[at - 1][1].strip() if at and not match["before"].strip() else ""
    is_underline = match["fence"][0] == "~" and not match["info"].strip() and above
    return None if is_underline else match


def _closing(lines: list[tuple[int, str]], at: int, fence: str) -> int | None:
    """The line that closes the fence; None where it stays open."""
    for number in range(at + 1, len(lines)):
        match = _CLOSING.fullmatch(lines[number][1].rstrip("\n"))
        if match is not None and match["fence"][0] == fence[0] and len(match["fence"]) >= len(fence):
            return number
    return None


def _block(lines: list[tuple[int, str]], first: int, last: int, opening: re.Match[str]) -> CodeBlock:
    start, end = lines[first][0], lines[last][0] + len(lines[last][1])
    before, language = opening["before"], _LANGUAGE.match(opening["info"].strip())
    inner = [line.rstrip("\n") for _start, line in lines[first + 1 : last]]
    for _level in range(before.count(">")):
        inner = [_QUOTED.sub("", line, count=1) for line in inner]
    margin = len(before.rpartition(">")[2].expandtabs(4))
    code = "\n".join(_outdented(line, margin) for line in inner)
    is_item = bool(before.strip(" \t>"))
    name = language["name"] if language else ""
    return CodeBlock(code=code, language=name, is_item=is_item, is_inside=margin > 0, start=start, end=end)


def _outdented(line: str, margin: int) -> str:
    """A line without the indentation of its fence, of which it may have less."""
    if not margin:
        return line
    plain = line[: len(line) - len(line.lstrip(" \t"))].expandtabs(4)
    return plain[min(margin, len(plain)) :] + line.lstrip(" \t")
