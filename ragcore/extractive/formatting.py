"""The Markdown of an extractive answer in the language and script of the question (A2, A4)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from ragcore.extractive.answer_patterns import TIME
from ragcore.extractive.sections import SectionAnswer
from ragcore.extractive.sentences import Statement
from ragcore.text.question_type import wanted
from ragcore.text.scripts import is_traditional, language_of
from ragcore.types import Language

Script = Literal["zh", "zht", "en"]
_DIGITS = re.compile(r"\d+")
_FIGURE = re.compile(r"(?<![\w.])\d+(?:[.,:]\d+)*%?(?![A-Za-z])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """Everything in an answer that is not a quotation."""

    supplement: str
    aspect: str
    said: str
    gap: str  # between a sentence and its marker, and between sentences


_WORDS: dict[Script, Wording] = {
    "zh": Wording(supplement="补充要点", aspect="方面", said="资料所述", gap=""),
    "zht": Wording(supplement="補充要點", aspect="方面", said="資料所述", gap=""),
    "en": Wording(supplement="Also relevant", aspect="Aspect", said="What the sources say", gap=" "),
}


def wording_for(question: str, language: Language) -> Wording:
    """The words for a question; traditional Chinese is recognised by its characters."""
    if (language if language != "other" else language_of(question)) != "zh":
        return _WORDS["en"]
    return _WORDS["zht" if is_traditional(question) else "zh"]


def cite(text: str, number: int, words: Wording) -> str:
    """A sentence with the marker of its source."""
    return f"{text}{words.gap}[{number}]"


def join_cited(group: Iterable[Statement], words: Wording) -> str:
    """Sentences, each with its marker."""
    return words.gap.join(cite(s.text, s.source.number, words) for s in group)


def supplement(points: Sequence[Sequence[Statement]], words: Wording) -> str:
    """The block of further points under its heading; "" without any."""
    lines = "\n".join(f"- {join_cited(point, words)}" for point in points)
    return f"\n\n**{words.supplement}**\n\n{lines}" if lines else ""


def listing(items: Sequence[tuple[str, int]], words: Wording, *, numbered: bool) -> str:
    """Points (text, number of the source), each with its marker; numbered where their order matters."""
    marks = (f"{n}. " if numbered else "- " for n in range(1, len(items) + 1))
    return "\n".join(f"{mark}{cite(text, number, words)}" for mark, (text, number) in zip(marks, items, strict=True))


def section_blocks(answer: SectionAnswer, words: Wording) -> list[str]:
    """A section as blocks of Markdown: its sentences, and the points of its list or its table."""
    number = answer.source.number
    blocks = [words.gap.join(cite(text, number, words) for text in answer.sentences)]
    if answer.items:
        items = [(text, source.number) for text, source in answer.items]
        blocks.append(listing(items, words, numbered=answer.is_ordered))
    if answer.table is not None:
        blocks.append(rows_table(answer.table.head, answer.table.rows, number, words))
    return _apart([block for block in blocks if block])


def passage_block(statements: Sequence[Statement], words: Wording) -> str:
    """Sentences, each with its marker; rows of one table that stand together as a table."""
    blocks = []
    for (head, number), group in groupby(statements, key=lambda s: (s.head, s.source.number)):
        members = list(group)
        blocks.append(
            rows_table(head, [s.cells for s in members], number, words) if head else join_cited(members, words)
        )
    return "".join(_apart(blocks))


def _apart(blocks: Sequence[str]) -> list[str]:
    return [block if at == 0 else f"\n\n{block}" for at, block in enumerate(blocks)]


def rows_table(head: Sequence[str], rows: Sequence[Sequence[str]], number: int, words: Wording) -> str:
    """Rows of a source's table below its head, each with the marker in its last filled cell."""
    return table(head, [_row_marked(row, number, words) for row in rows])


def _row_marked(row: Sequence[str], number: int, words: Wording) -> list[str]:
    last = max((at for at, cell in enumerate(row) if cell), default=0)
    return [cite(cell, number, words) if at == last else cell for at, cell in enumerate(row)]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; a | inside a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def with_figure(question: str, text: str) -> str:
    """The sentence with the figure that was asked for in bold, if it holds exactly one that the question does not."""
    kind = wanted(question)
    if kind not in ("number", "time"):
        return text
    pattern = TIME if kind == "time" else _FIGURE
    known = set(_DIGITS.findall(question))
    found = [m for m in pattern.finditer(text) if (digits := set(_DIGITS.findall(m.group()))) and not digits <= known]
    if len(found) != 1:
        return text
    start, end = found[0].span()
    return f"{text[:start]}**{text[start:end]}**{text[end:]}"
