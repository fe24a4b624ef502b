"""Questions as people type them, with what a useful answer says; and the verdict on an answer.

questions.jsonl holds {id, kind, lang, turns}; a turn is {q, expect, must, must_not, max_characters}. `must`: texts that
the answer holds, or lists of which it holds one. `must_not`: texts that make it wrong.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ragcore.training.answer_sets import rows

Expected = Literal["answer", "refuse", "talk"]
Verdict = Literal["useful", "wrong", "wrongly_refused"]
REFUSED = ("refused", "search_results")
CONVERSATION = "conversation"
SAMPLE_SEED = 35
MOST_CHARACTERS = 900  # of an answer where the turn says nothing
_MARK = re.compile(r"\[\d+\]")
_IGNORED = re.compile(r"[\s*`#|\\_]+")  # white space and Markdown


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One question of a conversation."""

    text: str
    expect: Expected = "answer"
    must: tuple[tuple[str, ...], ...] = ()  # one text of each
    must_not: tuple[str, ...] = ()
    most_characters: int = MOST_CHARACTERS


@dataclass(frozen=True, slots=True, kw_only=True)
class EverydayQuestion:
    """A conversation of one or several turns; it is useful if every turn is."""

    id: str
    kind: str
    language: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was answered: Markdown with markers, the kind of answer, and the texts of its sources in their order."""

    text: str
    status: str
    has_citations: bool
    sources: tuple[str, ...] = ()
    confidence: float | None = None
    evidence: Mapping[str, float] = field(default_factory=dict)  # that the confidence was computed from


def questions_read(path: Path) -> list[EverydayQuestion]:
    """All questions of a file. Raises KeyError or ValueError for a line that is none."""
    return list(map(_question, rows(path)))


def questions_sample(questions: Sequence[EverydayQuestion], size: int) -> list[EverydayQuestion]:
    """At most `size` of them, always the same ones; each kind and language has about its share of all."""
    mixed = sorted(questions, key=lambda question: question.id)
    random.Random(SAMPLE_SEED).shuffle(mixed)
    mixed.sort(key=lambda question: (question.kind, question.language))
    size = min(size, len(mixed))
    return [mixed[place * len(mixed) // size] for place in range(size)]


def verdict_of(turn: Turn, answer: Answer) -> Verdict:
    """What an answer is worth to somebody who asked this."""
    is_refused = answer.status in REFUSED
    if turn.expect == "refuse":
        return "useful" if is_refused else "wrong"
    if turn.expect == "talk":
        is_talk = answer.status == CONVERSATION or (not answer.has_citations and not is_refused)
        return "useful" if is_talk else "wrong"
    if is_refused:
        return "wrongly_refused"
    shown = _MARK.sub("", answer.text)
    folded = fold(shown)
    is_wrong = any(fold(text) in folded for text in turn.must_not)
    is_complete = holds_all(turn, folded)
    return "useful" if is_complete and not is_wrong and len(shown) <= turn.most_characters else "wrong"


def holds_all(turn: Turn, folded: str) -> bool:
    """Whether a folded text holds one text of each that the turn asks for."""
    return all(any(fold(text) in folded for text in texts) for texts in turn.must)


def reach_of(turn: Turn, answer: Answer) -> str:
    """Where all that was asked for stood: "answer", the first "source N", "sources" together, or "no"."""
    if holds_all(turn, fold(_MARK.sub("", answer.text))):
        return "answer"
    folded = [fold(text) for text in answer.sources]
    first = next((number for number, text in enumerate(folded, 1) if holds_all(turn, text)), None)
    if first is not None:
        return f"source {first}"
    return "sources" if holds_all(turn, "\n".join(folded)) else "no"


def fold(text: str) -> str:
    """A text without case, width, white space and Markdown."""
    return _IGNORED.sub("", unicodedata.normalize("NFKC", text).lower())


def _question(row: Mapping[str, Any]) -> EverydayQuestion:
    return EverydayQuestion(
        id=str(row["id"]), kind=row["kind"], language=row["lang"], turns=tuple(map(_turn, row["turns"]))
    )


def _turn(row: Mapping[str, Any]) -> Turn:
    return Turn(
        text=row["q"],
        expect=row.get("expect", "answer"),
        must=tuple(_alternatives(row.get("must", ()))),
        must_not=tuple(map(str, row.get("must_not", ()))),
        most_characters=row.get("max_characters", MOST_CHARACTERS),
    )


def _alternatives(texts: Sequence[str | Sequence[str]]) -> Iterator[tuple[str, ...]]:
    for one in texts:
        yield (str(one),) if isinstance(one, (str, int, float)) else tuple(map(str, one))
