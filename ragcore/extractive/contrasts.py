"""What a document says of the other side of a thing than the one that is asked about is no answer.

"What was the ratio before the repair?": the sentence with the ratio after the repair shares every other word with the
question, and stands behind any sentence that tells of the ratio and says nothing of the repair. Where nothing but the
other side is told, the answer says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from ragcore.extractive.answer_patterns import PATTERNS
from ragcore.extractive.choice import is_of_use
from ragcore.extractive.named import SIBLING
from ragcore.extractive.sentence_meaning import sentence_scores
from ragcore.extractive.sentences import Statement
from ragcore.ports import Embedder, FloatArray, Tokenizer
from ragcore.text.matching import keywords
from ragcore.text.opposites import NamedSide, Standing, named_sides
from ragcore.text.question_type import wanted

Told = Literal["", "same", "unsaid", "other"]


@dataclass(frozen=True, slots=True)
class SideScores:
    """Log-odds of sentences by the side that a question names."""

    scores: FloatArray  # float32[n]
    side: Told = ""  # by the likeliest sentence, "unsaid": not which side; "": no sentence is about the other one
    asked_word: str = ""  # the word of the question for its side, where `side` is "other"
    other_word: str = ""  # and that of the sentence


@dataclass(frozen=True, slots=True)
class _Standings:
    """How each sentence stands to the sides that a question names."""

    by_place: list[Standing]
    asked_words: dict[int, str] = field(
        default_factory=dict
    )  # place of a sentence about the other side -> the asked word
    other_words: dict[int, str] = field(default_factory=dict)  # and its own


def by_side(question: str, statements: Sequence[Statement], scores: FloatArray, tokenizer: Tokenizer) -> SideScores:
    """The scores, far less for sentences about the other side, unless nothing else is told of the thing.

    `scores`: float32[n], log-odds of the sentences. Where a sentence about the other side was the likeliest one, of the
    others only those count that name the asked side and say something of the thing, or say as much of it.
    """
    sides = named_sides(question, tokenizer)
    if not sides or not statements:
        return SideScores(scores)
    standings = _standings(sides, statements, tokenizer)
    usable = [at for at in range(len(statements)) if is_of_use(statements[at], question)] or [int(scores.argmax())]
    other_places = [at for at in usable if standings.by_place[at] == "other"]
    if not other_places:
        return SideScores(scores)
    is_other = np.array([standing == "other" for standing in standings.by_place])
    best, best_other = (max(places, key=lambda at: float(scores[at])) for places in (usable, other_places))
    if best != best_other:
        return SideScores(_less(scores, is_other, best), _told(standings.by_place[best]))
    rest = _rest(question, sides, tokenizer)
    least = len(rest & _words(statements[best], tokenizer))
    needs = {"same": min(least, 1), "none": max(least, 1), "other": len(rest) + 1}
    fits = [
        at
        for at in usable
        if len(rest & _words(statements[at], tokenizer)) >= needs[standings.by_place[at]]
        and _has_kind(question, statements[at])
    ]
    same = (at for at in usable if standings.by_place[at] == "same" and at not in fits)
    fits += [at for at in same if _is_beside(at, fits, statements)]
    fits = _on_its_side(sides, fits, standings, statements, best) or fits
    if not fits:
        return SideScores(scores, "other", standings.asked_words[best], standings.other_words[best])
    chosen = max(fits, key=lambda at: float(scores[at]))
    fits_mask = np.isin(np.arange(len(statements)), fits)
    return SideScores(_less(scores, ~fits_mask, chosen), _told(standings.by_place[chosen]))


def told_side(question: str, statements: Sequence[Statement], embedder: Embedder | None, tokenizer: Tokenizer) -> Told:
    """Which side the likeliest sentence tells of; "" where the question names none, or no sentence the other one."""
    sides = named_sides(question, tokenizer)
    if not sides or "other" not in _standings(sides, statements, tokenizer).by_place:
        return ""
    return by_side(question, statements, sentence_scores(question, statements, embedder, tokenizer), tokenizer).side


def _standings(sides: Sequence[NamedSide], statements: Sequence[Statement], tokenizer: Tokenizer) -> _Standings:
    standings = _Standings(["none"] * len(statements))
    for at, statement in enumerate(statements):
        for side in sides:
            standing, word = _standing(side, statement, tokenizer)
            if standing == "other":
                standings.asked_words[at], standings.other_words[at] = side.word, word
            if standing == "other" or standings.by_place[at] == "none":
                standings.by_place[at] = standing
    return standings


def _standing(side: NamedSide, statement: Statement, tokenizer: Tokenizer) -> tuple[Standing, str]:
    """The side that a sentence tells of: by its words, else together with the nearest heading that names one."""
    if side.has_word(statement.text):
        return side.mention_in(statement.text, tokenizer)
    passage = statement.source.passage
    headings = (statement.heading, *reversed(passage.heading_path))  # a title names more than one side's matters
    heading = next((text for text in headings if text not in ("", passage.title) and side.has_word(text)), "")
    return side.mention_in(f"{heading} {statement.text}", tokenizer) if heading else ("none", "")


def _on_its_side(
    sides: Sequence[NamedSide],
    places: Sequence[int],
    standings: _Standings,
    statements: Sequence[Statement],
    other: int,
) -> list[int]:
    """Of sentences those that name the side, and those that its text tells where it would tell of that side.

    What was before a repair stands in front of what was after it. `other`: the place of what is told of the other side.
    """
    direction = sum(side.direction for side in sides)
    if not direction:
        return []
    document, line = statements[other].source.passage.document, _line(statements[other])
    return [
        at
        for at in places
        if standings.by_place[at] == "same"
        or (
            statements[at].source.passage.document == document
            and (_line(statements[at]) > line) - (_line(statements[at]) < line) == direction
        )
    ]


def _line(statement: Statement) -> tuple[int, int]:
    """Where a sentence stands in its document."""
    return statement.source.passage.ordinal, statement.position


def _less(scores: FloatArray, is_less: npt.NDArray[np.bool_], chosen: int) -> FloatArray:
    """The same scores, some of them far below that of the chosen sentence."""
    return np.asarray(np.where(is_less, np.minimum(scores, scores[chosen]) - SIBLING, scores), np.float32)


def _told(standing: Standing) -> Told:
    return "same" if standing == "same" else "unsaid"


def _rest(question: str, sides: Sequence[NamedSide], tokenizer: Tokenizer) -> frozenset[str]:
    """The question's words for the thing itself, without those for its side: the ratio, not the repair."""
    bound = frozenset[str]().union(*(side.terms for side in sides if side.is_bound))
    side_words = frozenset(word for side in sides for word in tokenizer.words(side.word))
    things = frozenset(keywords(question, tokenizer)) - bound - side_words
    chinese = [side.word for side in sides if not side.word.isascii()]
    return frozenset(thing for thing in things if not any(word in thing for word in chinese))  # 第二阶段 is one word


def _words(statement: Statement, tokenizer: Tokenizer) -> frozenset[str]:
    return frozenset(statement.terms).union(tokenizer.words(statement.heading))


def _has_kind(question: str, statement: Statement) -> bool:
    """Whether a sentence has a figure, time or name where the question asks for one."""
    pattern = PATTERNS.get(wanted(question))
    return pattern is None or pattern.search(statement.text) is not None


def _is_beside(at: int, places: Sequence[int], statements: Sequence[Statement]) -> bool:
    return any(
        statements[place].source is statements[at].source
        and abs(statements[place].position - statements[at].position) == 1
        for place in places
    )
