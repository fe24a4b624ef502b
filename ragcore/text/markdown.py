"""Markdown of sources: rows of tables, sentences and tables without marks, passages joined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ragcore.text.code_blocks import CODE_SPAN

_RULE = re.compile(r"\s*+\|?(?:\s*+:?-++:?\s*+\|)*\s*+:?-++:?\s*+\|?\s*+")
_BORDER = re.compile(r"(?<!\\)\|")

_MARKS = re.compile(
    r"^\s*(?:[-*+>]\s+|\d{1,3}[.)]\s+)+|`{1,3}|(?<![\s*])\*{2,3}|\*{2,3}(?=[^\s*])|(?<!\w)__(?=\S)|(?<=\S)__(?!\w)"
    r"|!?\[(?=[^\]]{1,500}+\]\()|(?<=\w)\]\([^)\s]{0,2000}+\)|</?[A-Za-z!?][^<>]{0,39}>"
    r"|(?<![\w*])\*(?=[^\s*][^*]*\*(?![\w*]))|(?<=[^\s*(\[{,/])\*(?![\w*])"
)
_SIGNS = re.compile(r"[*~<>|\\$\]\[`]|(?<!\w)_|_(?!\w)")  # in code within a line, what Markdown would read
_DUNDER = re.compile(  # names of Python; other words between these signs are bold
    r"(?<![\w`])__(?:init|main|name|file|all|call|class|dict|doc|enter|exit|aenter|aexit|eq|ne|lt|le|gt|ge|hash|iter|next"
    r"|len|(?:get|set|del)(?:item|attr)|repr|str|new|del|module|version|slots|contains|bool|post_init|future|pycache)__"
    r"(?![\w`])"
)
_POWER = re.compile(r"(?<=[A-Za-z0-9)])\*\*(?=[A-Za-z0-9(])")  # 2**k, where no second one makes it emphasis
_SPAN_MARK = 0xF0000  # private use: characters that stand for code within a line while marks are taken off
_MOST_SPANS = 2048
_SPAN_PLACES = re.compile("[\U000f0000-\U000f07ff]")
_FIRST_STEP = re.compile(r"\s*(1[.)])\s+(?=[^|]*\s2[.)]\s)")
_MAY_BE_MARKED = re.compile(r"[`*_\[\]<]|^\s*(?:[-+>]|\d{1,3}[.)])")  # a character that every match of _MARKS has
_MARKER_LIKE = re.compile(r"\[(\^?\d{1,3})\]")
_CELLS = re.compile(r"(?:(?<!\s)\s+)?\|\s*")
_SPACE = re.compile(r"\s+")
_PICTURE = re.compile(
    r"!\[(?P<words>(?:[^\[\]\\\n]|\\.|\[[^\[\]\n]{0,200}\]){0,1000})\]\((?P<target>[^()\s]{0,2000})\)"
)
_LINK = re.compile(
    r"(?<!!)\[(?P<words>[^\[\]\n]{1,1000})\]\((?:https?|ftp|mailto|file):[^()\s]{1,2000}\)", re.IGNORECASE
)
_PICTURE_REST = re.compile(r"\\?\]\\?\(picture:[A-Za-z0-9._-]{0,128}\\?\)?")  # of one that was cut, or escaped
_NAMED_PICTURE = re.compile(r"picture:([A-Za-z0-9._-]{1,128})")
SHORTEST = 8  # characters that are an overlap and no chance
LONGEST = 4000
_HEAD_RULE = re.compile(r"[\s:|-]+")


def is_rule(line: str) -> bool:
    """Whether it is the line between the head of a table and its rows."""
    return _RULE.fullmatch(line) is not None


def row_cells(line: str) -> list[str]:
    """The cells of a row as written, without their borders; \\| inside one is a plain |."""
    inner = line.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.replace("\\|", "|") for cell in _BORDER.split(inner)]


def pictures_in(text: str) -> Iterator[tuple[str, str]]:
    """The document's own pictures that a passage shows, in order: name, and what it says about it."""
    for match in _PICTURE.finditer(text):
        if name := _NAMED_PICTURE.fullmatch(match["target"]):
            yield name[1], _SPACE.sub(" ", match["words"]).strip()


def without_pictures(text: str) -> str:
    """Markdown with the words of its pictures in their place; nothing of `![…](picture:NAME)` is left, cut or whole."""
    if "](" not in text and "]\\(" not in text:
        return text
    return _PICTURE_REST.sub("", _PICTURE.sub(lambda match: match["words"], text))


def without_addresses(text: str) -> str:
    """Markdown with the words of its links in their place: by the letters of an address nobody searches."""
    return _LINK.sub(lambda match: match["words"], text) if "](" in text else text


def captions_once(text: str) -> str:
    """Markdown without the pictures whose words the text says as well, as a caption below one does."""
    if "](picture:" not in text:
        return text
    plain = _SPACE.sub(" ", _PICTURE.sub(" ", text)).casefold()

    def kept(match: re.Match[str]) -> str:
        nonlocal plain
        words = _SPACE.sub(" ", match["words"]).strip().casefold()
        if not words or words in plain:
            return ""
        plain = f"{plain} {words}"
        return match[0]

    return _PICTURE.sub(kept, text)


def plain_text(markdown: str) -> str:
    """A sentence without Markdown marks; the source's own [n] becomes ［n］, so that nobody takes it for a citation.

    The cells of a row stand between dots. Code within the line keeps its characters, and its back ticks where Markdown
    would read some of them as marks: `a ** b`.
    """
    spans: list[str] = []
    text = _with_spans_hidden(markdown, spans) if "`" in markdown or "__" in markdown or "**" in markdown else markdown
    text = without_pictures(text).strip()
    if _MAY_BE_MARKED.search(text):  # most sentences are not, and looking for every mark takes long
        text = _MARKS.sub("", text)
    text = _CELLS.sub(" · ", text).strip(" ·") if "|" in text else text.strip(" ·")
    if spans:
        text = _SPAN_PLACES.sub(lambda match: spans[ord(match[0]) - _SPAN_MARK], text)
    return _SPACE.sub(" ", _MARKER_LIKE.sub(r"［\1］", text) if "[" in text else text).strip()


def _with_spans_hidden(markdown: str, spans: list[str]) -> str:
    """The text with one character in the place of each piece of code, which `spans` then holds as it is shown."""

    def hide(span: str) -> str:
        if len(spans) == _MOST_SPANS:
            return span
        spans.append(span)
        return chr(_SPAN_MARK + len(spans) - 1)

    text = _SPAN_PLACES.sub("", markdown)
    text = CODE_SPAN.sub(lambda match: hide(_shown_span(match)), text) if "`" in text else text
    text = _DUNDER.sub(lambda match: hide(f"`{match[0]}`"), text) if "__" in text else text
    return _POWER.sub(lambda match: hide(match[0]), text) if text.count("**") == 1 else text


def _shown_span(match: re.Match[str]) -> str:
    code = match["code"].strip() or match["code"]
    return f"{match['ticks']}{match['code']}{match['ticks']}" if _SIGNS.search(code) else code


@dataclass(frozen=True, slots=True)
class Table:
    """Head and rows as plain cells; all rows are as wide as the head."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def is_row(line: str) -> bool:
    """Whether a line of Markdown is a row of a table."""
    return line.lstrip().startswith("|")


def cells_of(row: str) -> tuple[str, ...]:
    """The cells of a row without Markdown marks; one that counts steps keeps the number of the first."""
    return tuple(map(_plain_cell, row_cells(row)))


def _plain_cell(cell: str) -> str:
    first = _FIRST_STEP.match(cell)
    return f"{first[1]} {plain_text(cell[first.end() :])}" if first else plain_text(cell)


def tables(lines: Iterable[str]) -> Iterator[Table]:
    """The tables with a head among these lines, each as far as its rows are as wide as its head."""
    for group in _groups(lines):
        if len(group) > 2 and is_rule(group[1]):
            head = cells_of(group[0])
            rows = []
            for line in group[2:]:
                cells = cells_of(line)
                if len(cells) != len(head):
                    break
                rows.append(cells)
            if rows:
                yield Table(head, tuple(rows))


def labelled(head: Sequence[str], cells: Sequence[str]) -> str:
    """A row that reads alone: its first cell, then every cell behind the name of its column, between dots.

    Cells that say the same as their column, and empty ones, are left out; without a head it is the cells alone.
    """
    parts = [cells[0]] if cells and cells[0] else []
    for name, value in zip(head[1:] or [""] * len(cells[1:]), cells[1:], strict=False):
        if value and value != name:
            parts.append(f"{name}{_colon(name)}{value}" if name else value)
    return " · ".join(parts)


def _colon(name: str) -> str:
    return "：" if name[-1] > "\u2e7f" else ": "


def _groups(lines: Iterable[str]) -> Iterator[list[str]]:
    """Rows that stand together."""
    group: list[str] = []
    for line in lines:
        if is_row(line):
            group.append(line)
        elif group:
            yield group
            group = []
    if group:
        yield group


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
    rule = next((at for at, line in enumerate(lines[:8]) if "-" in line and _HEAD_RULE.fullmatch(line)), None)
    if not rule or "\n".join(lines[rule - 1 : rule + 1]) not in first:
        return None
    caption = "\n".join(lines[: rule - 1]).strip()
    return "\n".join(lines[rule + 1 :]) if not caption or caption in first else None
