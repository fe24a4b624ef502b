"""Index texts from a chunk's own tables and pictures.

A table row becomes a sentence, so that a question about one cell matches its row and column in words. The caption of a
picture holds its description, its figure line, recognised text and the sentences around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ragcore.chunking.atoms import caption_kind
from ragcore.ports import TokenCounter
from ragcore.text.markdown import is_rule, plain_text, row_cells
from ragcore.text.scripts import language_of
from ragcore.text.sentences import split_sentences
from ragcore.types import Block, BlockKind, ChunkDraft, Language

MAX_COLUMNS = 12  # of one sentence; the row of a wider table becomes several, each with the first column
ENTRY_TOKENS = 400  # of the sentences that share an index entry

_BREAK = re.compile(r"\s*<br\s*/?>\s*|\s+", re.IGNORECASE)
_NAMED = re.compile(r"(?:table|tab\.)\s|[表錶]", re.IGNORECASE)  # a title that says itself that it is a table's
_IMAGE = re.compile(r"!\[(?P<alt>(?:[^\]!]|!(?!\[))*+)\]\((?P<target>(?:[^)\s!]|!(?!\[))*+)(?:[^)!]|!(?!\[))*+\)")
_FILE_NAME = re.compile(r"[\w .()-]+\.(?:png|jpe?g|gif|bmp|webp|svg|tiff?|emf|wmf)", re.IGNORECASE)
# What programs write where nobody described the picture
_MEANINGLESS = re.compile(r"(?:image|img|picture|photo|figure|graphic|图片|图像|圖片|插图)?[\s_-]*\d*", re.IGNORECASE)
_TEXT = frozenset({"paragraph", "list"})
_HEADING = re.compile(r"(#{1,6})\s+(\S[^\n]*)")
_IMAGE_BLOCK = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_ITEM = re.compile(r"\s*(?:[-*+•]\s|\d{1,3}[.)、])")
_FENCES = ("```", "~~~", "$$")


class TableReader:
    """Reads the tables of a document's chunks in order: rows are counted on where a table goes on in the next chunk."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._open: tuple[str, int] | None = None  # head and rows so far of the table at the end of the last chunk

    def read(self, draft: ChunkDraft, blocks: Sequence[Block]) -> list[str]:
        """Texts of at most ENTRY_TOKENS, unless a sentence is longer; none for a chunk without tables."""
        texts: list[str] = []
        heading = draft.heading_path[-1] if draft.heading_path else ""
        for index, block in enumerate(blocks):
            before = blocks[index - 1].text if index else ""
            caption = before if caption_kind(before) == "table" else ""
            if block.kind == "heading":
                heading = block.text
            if block.kind != "table":
                continue
            first = self._first_row(block.text, is_first=index == (1 if caption else 0), draft=draft)
            sentences = table_sentences(block.text, title=caption.strip("*_ ") or heading, first_row=first)
            texts += self._joined(sentences)
            self._open = (_head(block.text), first + len(read_table(block.text)[1]))
        if not blocks or blocks[-1].kind != "table":
            self._open = None
        return texts

    def _first_row(self, markdown: str, *, is_first: bool, draft: ChunkDraft) -> int:
        goes_on = is_first and draft.is_continuation and self._open is not None and self._open[0] == _head(markdown)
        return self._open[1] if goes_on and self._open else 1

    def _joined(self, sentences: Sequence[str]) -> list[str]:
        """Neighbouring sentences together, as many as an embedder reads whole."""
        texts: list[str] = []
        size = 0
        for sentence in sentences:
            tokens = self._counter.count(sentence) + 1
            if texts and size + tokens <= ENTRY_TOKENS:
                texts[-1] += f"\n{sentence}"
                size += tokens
            else:
                texts.append(sentence)
                size = tokens
        return texts


def table_sentences(markdown: str, *, title: str = "", first_row: int = 1) -> list[str]:
    """One sentence a row ("In table T, row 2: column = value; …"), in the language of the table.

    `title`: its caption, or the nearest heading; `first_row`: the number of its first row below the head. Empty cells
    are left out, except that an empty first cell takes the value above it, as merged cells mean it.
    """
    head, rows = read_table(markdown)
    language = language_of(" ".join([title, *head, *(cell for row in rows for cell in row)]))
    sentences: list[str] = []
    above = ""
    for number, row in enumerate(rows, first_row):
        above = row[0] or above
        filled = [above, *row[1:]] if any(row[1:]) else row
        sentences.extend(_row_sentence(part, title, number, language) for part in _column_groups(_pairs(head, filled)))
    return sentences


def read_table(markdown: str) -> tuple[list[str], list[list[str]]]:
    """Head and rows as plain cells; the head is empty where no rule separates one from the rows."""
    lines = [line for line in markdown.strip().split("\n") if line.strip()]
    has_head = len(lines) > 1 and is_rule(lines[1])
    body = [_cells(line) for line in lines[2 if has_head else 0 :] if not is_rule(line)]
    return (_cells(lines[0]) if has_head else []), body


def _head(markdown: str) -> str:
    return "\n".join(markdown.strip().split("\n")[:2])


def _cells(line: str) -> list[str]:
    return [_BREAK.sub(" ", cell).strip().strip("*") for cell in row_cells(line)]


def _pairs(head: Sequence[str], row: Sequence[str]) -> list[str]:
    """`column = value` of the cells with a value; a cell merged over several columns is said once."""
    pairs: list[str] = []
    for index, value in enumerate(row):
        name = head[index] if index < len(head) else ""
        pair = f"{name} = {value}" if name and name != value else value
        if value and (not pairs or pairs[-1] != pair):
            pairs.append(pair)
    return pairs


def _column_groups(pairs: Sequence[str]) -> Iterator[Sequence[str]]:
    """All pairs, or several groups that each begin with the first column."""
    if not pairs:
        return
    yield pairs[:MAX_COLUMNS]
    for start in range(MAX_COLUMNS, len(pairs), MAX_COLUMNS - 1):
        yield [pairs[0], *pairs[start : start + MAX_COLUMNS - 1]]


def _row_sentence(pairs: Sequence[str], title: str, row: int, language: Language) -> str:
    if language == "zh":
        name = f"{title} " if _NAMED.match(title) else f"表 {title} " if title else "表"
        return f"{name}第 {row} 行：{'；'.join(pairs)}。"
    name = title if _NAMED.match(title) else f"table {title}" if title else "the table"
    return f"In {name}, row {row}: {'; '.join(pairs)}."


def image_captions(blocks: Sequence[Block]) -> list[str]:
    """One caption for each image block about which the text says something.

    Lines: its own description, the line "Figure 2 …" or "图 2 …" beside it, text read from it, and the sentences
    right before and after.
    """
    captions = (_caption(blocks, index) for index, block in enumerate(blocks) if block.kind == "image")
    return [caption for caption in captions if caption]


def without_picture_links(text: str) -> str:
    """The text as it is searched: of a picture only its description, neither its address nor its file name."""
    return _IMAGE.sub(lambda match: _description(match[0]), text) if "![" in text else text


def _caption(blocks: Sequence[Block], index: int) -> str:
    lines = [_description(blocks[index].text), _figure_line(blocks, index), _recognised(blocks[index].text)]
    lines += [_nearest_sentence(blocks, index, step=-1), _nearest_sentence(blocks, index, step=+1)]
    return "\n".join(dict.fromkeys(line for line in lines if line))


def _description(text: str) -> str:
    match = _IMAGE.search(text)
    alt = " ".join(match["alt"].split()) if match else ""
    return "" if _FILE_NAME.fullmatch(alt) or _MEANINGLESS.fullmatch(alt) else alt


def _recognised(text: str) -> str:
    """What character recognition wrote into the block, below the link."""
    return " ".join(_IMAGE.sub(" ", text).split())


def _figure_line(blocks: Sequence[Block], index: int) -> str:
    """The figure's caption: below it if there is one, else above."""
    for beside in (index + 1, index - 1):
        if 0 <= beside < len(blocks) and _is_figure_line(blocks[beside]):
            return plain_text(blocks[beside].text)
    return ""


def _nearest_sentence(blocks: Sequence[Block], index: int, *, step: int) -> str:
    """The nearest sentence on one side; other pictures and captions are passed over, a heading ends the search."""
    at = index + step
    while 0 <= at < len(blocks) and blocks[at].kind != "heading":
        if blocks[at].kind in _TEXT and not _is_figure_line(blocks[at]):
            sentences = [plain for raw in split_sentences(blocks[at].text) if (plain := plain_text(raw))]
            return sentences[0 if step > 0 else -1] if sentences else ""
        if blocks[at].kind not in _TEXT and blocks[at].kind != "image":
            return ""
        at += step
    return ""


def _is_figure_line(block: Block) -> bool:
    return block.kind == "paragraph" and caption_kind(block.text) == "figure"


def markdown_blocks(text: str) -> list[Block]:
    """Blocks in order, as chunking joined them: separated by blank lines, code and formulas whole."""
    return [_block(part) for part in _split_blocks(text)]


def _split_blocks(text: str) -> Iterator[str]:
    """Runs of lines without a blank one, except inside fences."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = next((fence for fence in _FENCES if line.lstrip().startswith(fence)), "")
        if not fence and not line.strip():
            if lines:
                yield "\n".join(lines)
            lines = []
            continue
        if fence:
            fence = "" if mark == fence or line.rstrip().endswith(fence) else fence
        elif mark and not (mark == "$$" and line.strip().endswith("$$") and len(line.strip()) > 2):
            fence = mark
        lines.append(line)
    if lines:
        yield "\n".join(lines)


def _block(part: str) -> Block:
    heading = _HEADING.fullmatch(part)
    return (
        Block(kind="heading", text=heading[2], level=len(heading[1])) if heading else Block(kind=_kind(part), text=part)
    )


def _kind(part: str) -> BlockKind:
    begun = part.lstrip()
    if begun.startswith(("```", "~~~")):
        return "code"
    if begun.startswith("$$"):
        return "formula"
    if begun.startswith("|") and "\n" in begun:
        return "table"
    if _IMAGE_BLOCK.match(begun):
        return "image"
    return "list" if _ITEM.match(part) else "paragraph"
