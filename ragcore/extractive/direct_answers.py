"""What is answered by its place or its name, whatever the sentences score.

A step by its number, the handling of a thing by its name, and all things of a kind with a property of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ragcore.extractive.formatting import Wording, cite_sentences, join_cited
from ragcore.extractive.handling import Handling, find_handling
from ragcore.extractive.lookup_table import LookupTable, tables_of
from ragcore.extractive.property_lists import find_property_lists
from ragcore.extractive.row_blocks import found_rows_block
from ragcore.extractive.row_question import RowQuestion, plain
from ragcore.extractive.row_selection import asks_target
from ragcore.extractive.sections import statement_units
from ragcore.extractive.sentences import Statement
from ragcore.extractive.step_lookup import StepAnswer, find_step, without_number
from ragcore.extractive.steps import is_numbered
from ragcore.extractive.targets import lacks_target
from ragcore.ports import Tokenizer


@dataclass(frozen=True, slots=True)
class Missing:
    """What a question asks for and no source has."""

    kind: Literal["step", "handling", "target"]
    name: str = ""  # of the procedure or of the thing to be handled
    total: int = 0  # steps of the procedure


def direct_block(question: str, statements: Sequence[Statement], tokenizer: Tokenizer, words: Wording) -> str:
    """The step, the handling or the list that is asked for, as Markdown; "" where none is asked for or told."""
    if (step := find_step(question, statements, tokenizer)) is not None:
        return "" if step.is_beyond else _step_block(step, words)
    handling = find_handling(question, statements, tokenizer)
    if handling is not None:
        return "" if handling.is_missing else _handling_block(handling, words)
    lists = find_property_lists(question, statements, tokenizer)
    return "\n\n".join(found_rows_block(rows, words) for rows in lists)


def is_told(question: str, statements: Sequence[Statement], tokenizer: Tokenizer) -> bool:
    """Whether a step, a handling or a list surely answers."""
    step = find_step(question, statements, tokenizer)
    if step is not None:
        return not step.is_beyond
    handling = find_handling(question, statements, tokenizer)
    if handling is not None:
        return not handling.is_missing
    return bool(find_property_lists(question, statements, tokenizer))


def find_missing(question: str, statements: Sequence[Statement], tokenizer: Tokenizer) -> Missing | None:
    """What is asked for and is not there, so that its neighbours are no answer; None where nothing is missing."""
    step = find_step(question, statements, tokenizer)
    if step is not None:
        return Missing("step", step.title, step.total) if step.is_beyond else None
    handling = find_handling(question, statements, tokenizer)
    if handling is not None and handling.is_missing:
        return Missing("handling", handling.names[0].upper())
    if not asks_target(plain(question)):
        return None
    tables = [LookupTable(members, tokenizer) for members in tables_of(statements)]
    return Missing("target") if lacks_target(RowQuestion.of(question, tokenizer), tables, statements) else None


def _step_block(answer: StepAnswer, words: Wording) -> str:
    numbers = [answer.number] if answer.number else list(range(1, len(answer.steps) + 1))
    lead = "" if answer.number else f"**{words.steps.format(number=answer.total)}**\n\n"
    return lead + _numbered(zip(numbers, answer.steps, strict=True), words)


def _handling_block(handling: Handling, words: Wording) -> str:
    """Rows as rows, numbered points as a list, other sentences one behind the other."""
    if handling.rows is not None:
        return found_rows_block(handling.rows, words)
    units = statement_units(handling.sentences)
    points = [unit for unit in units if is_numbered(unit[0])]
    if len(points) < len(units) or len(points) == 1:
        return join_cited(handling.sentences, words)
    return _numbered(enumerate(points, start=1), words)


def _numbered(points: Iterable[tuple[int, Sequence[Statement]]], words: Wording) -> str:
    lines = []
    for number, point in points:
        text = " ".join(sentence.text.removeprefix(sentence.announced).strip() for sentence in point)
        lines.append(f"{number}. {cite_sentences(without_number(text), point[0].source.number, words)}")
    return "\n".join(lines)
