"""Tables as sentences, so that a question about one cell meets its row and column in words (D24)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ragcore.chunking.captions import caption_kind
from ragcore.ports import TokenCounter
from ragcore.text.scripts import language_of
from ragcore.text.table_rows import is_rule, row_cells
from ragcore.types import Block, ChunkDraft, Language

MAX_COLUMNS = 12  # of one sentence; the row of a wider table becomes several, each with the first column
ENTRY_TOKENS = 400  # of the sentences that share an index entry

_BREAK = re.compile(r"\s*<br\s*/?>\s*|\s+", re.IGNORECASE)
_NAMED = re.compile(r"(?:table|tab\.)\s|[表錶]", re.IGNORECASE)  # a title that says itself that it is a table's


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
        sentences.extend(_sentence(part, title, number, language) for part in _parts(_pairs(head, filled)))
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


def _parts(pairs: Sequence[str]) -> Iterator[Sequence[str]]:
    """All pairs, or several groups that each begin with the first column."""
    if not pairs:
        return
    yield pairs[:MAX_COLUMNS]
    for start in range(MAX_COLUMNS, len(pairs), MAX_COLUMNS - 1):
        yield [pairs[0], *pairs[start : start + MAX_COLUMNS - 1]]


def _sentence(pairs: Sequence[str], title: str, row: int, language: Language) -> str:
    if language == "zh":
        name = f"{title} " if _NAMED.match(title) else f"表 {title} " if title else "表"
        return f"{name}第 {row} 行：{'；'.join(pairs)}。"
    name = title if _NAMED.match(title) else f"table {title}" if title else "the table"
    return f"In {name}, row {row}: {'; '.join(pairs)}."
