"""What people did with the sources of answers, as evidence for passages and kinds of questions.

For a passage and the questions near to each other for which it was shown: how much more often people opened or copied
it than the average source, each opening by the inverse of how often its place is looked at (inverse propensity
scoring: Joachims, Swaminathan, Schnabel, WSDM 2017), and what they judged. Answers of which a person opened no source
say nothing about sources: with them every source of a question that few people check would look bad.

No single person makes a ranking: each has one voice for a passage and a kind of question, several people must point the
same way, and of all values that are found with one of them left out, the one nearest to 0 counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragcore.metrics.examination import Showings, examination_fit, examined, opening_weight
from ragcore.ports import FloatArray

LEAST_PEOPLE = 3  # who point the same way
SURE_AT = 3.0  # people whose look at a passage is worth as much as the assumption that it is like any other
MOST_KINDS = 20  # kinds of questions of one passage; those of most people are kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """A source of an answer as one person met it.

    `question`: row of the vectors; `place`: 1-based among the sources, None where it was not shown in a list or nobody
    recorded what was opened; `judgement`: what the person said of it, -1 to 1, None for nothing.
    """

    person: int
    passage: int
    question: int
    place: int | None = None
    opened: bool = False
    judgement: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UseEvidence:
    """What use says of a passage for one kind of question. `value`: -1 to 1, above 0 it helps more than others."""

    passage: int
    vector: FloatArray  # of the questions, unit length
    value: float
    people: int  # whose acts count
    shown: int
    opened: int
    helpful: int  # judgements above 0
    unhelpful: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LearntFromUse:
    """Evidence, with what it was measured against. `average`: the mean weighted opening of a source that was shown."""

    evidence: tuple[UseEvidence, ...]
    examination: tuple[float, ...]
    average: float


def learn_from_use(showings: Sequence[Showing], vectors: FloatArray, *, floor: float) -> LearntFromUse:
    """Evidence of a set; `vectors`: float32[q, d], unit length; `floor`: least cosine of similar questions."""
    by_passage: dict[int, list[Showing]] = defaultdict(list)
    for showing in showings:
        by_passage[showing.passage].append(showing)
    kinds = [
        kind for passage in sorted(by_passage) for kind in _kinds_of_question(by_passage[passage], vectors, floor=floor)
    ]
    placed = [
        (number, showing) for number, kind in enumerate(kinds) for showing in kind.showings if showing.place is not None
    ]
    looked = examination_fit(
        Showings(
            items=[number for number, _one in placed],
            places=[showing.place or 1 for _number, showing in placed],
            opened=[showing.opened for _number, showing in placed],
        )
    )
    weights = [opening_weight(looked, showing.place or 1) if showing.opened else 0.0 for _number, showing in placed]
    average = sum(weights) / len(weights) if weights else 0.0
    evidence = (_evidence(kind, looked.tolist(), average) for kind in kinds)
    return LearntFromUse(
        evidence=tuple(item for item in evidence if item is not None),
        examination=tuple(looked.tolist()),
        average=average,
    )


# ── kinds of questions ────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Kind:
    """Showings of one passage for questions near to each other, whose mean direction is the centre."""

    centre: FloatArray
    showings: Sequence[Showing]


def _kinds_of_question(showings: Sequence[Showing], vectors: FloatArray, *, floor: float) -> list[_Kind]:
    """Leader clustering in the order of the showings: a question joins the nearest centre above the floor."""
    by_question: dict[int, list[Showing]] = defaultdict(list)
    for showing in showings:
        by_question[showing.question].append(showing)
    sums = np.zeros((len(by_question), vectors.shape[1]), np.float32)
    centres = np.zeros_like(sums)
    joined: list[list[Showing]] = []
    for question, of_question in by_question.items():
        near = centres[: len(joined)] @ vectors[question]
        place = int(np.argmax(near)) if len(near) else 0
        if len(near) and near[place] >= floor:
            joined[place] += of_question
        else:
            place = len(joined)
            joined.append(list(of_question))
        sums[place] += vectors[question]
        centres[place] = sums[place] / max(float(np.linalg.norm(sums[place])), 1e-6)
    kinds = [_Kind(centre, each) for centre, each in zip(centres, joined, strict=False)]
    return sorted(kinds, key=lambda kind: -len({showing.person for showing in kind.showings}))[:MOST_KINDS]


# ── evidence ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Voice:
    """One person's part: what it says, and how much of the passage the person can have seen, 0 to 1."""

    value: float
    examined_share: float


def _evidence(kind: _Kind, looked: Sequence[float], average: float) -> UseEvidence | None:
    """None where too few people point the same way, or one of them alone makes the difference."""
    voices = {person: _voice(of_person, looked, average) for person, of_person in _by_person(kind.showings).items()}
    value = value_without_any_one(voices.values())
    same_way = sum(voice.value * value > 0 for voice in voices.values())
    if not value or same_way < LEAST_PEOPLE:
        return None
    judged = [showing.judgement for showing in kind.showings if showing.judgement is not None]
    return UseEvidence(
        passage=kind.showings[0].passage,
        vector=kind.centre,
        value=value,
        people=len(voices),
        shown=sum(showing.place is not None for showing in kind.showings),
        opened=sum(showing.opened for showing in kind.showings),
        helpful=sum(judgement > 0 for judgement in judged),
        unhelpful=sum(judgement < 0 for judgement in judged),
    )


def _by_person(showings: Iterable[Showing]) -> Mapping[int, list[Showing]]:
    by_person: dict[int, list[Showing]] = defaultdict(list)
    for showing in showings:
        by_person[showing.person].append(showing)
    return by_person


def _voice(of_person: Sequence[Showing], looked: Sequence[float], average: float) -> _Voice:
    """Means over what one person was shown and has judged: more of it is no louder."""
    placed = [showing for showing in of_person if showing.place is not None]
    judged = [showing.judgement for showing in of_person if showing.judgement is not None]
    value = 0.0
    if placed:
        weights = [opening_weight(looked, showing.place or 1) if showing.opened else 0.0 for showing in placed]
        value += sum(weights) / len(weights) - average
    if judged:
        value += sum(judged) / len(judged)
    examined_share = 1.0 if judged else min(1.0, sum(examined(looked, showing.place or 1) for showing in placed))
    return _Voice(value, examined_share)


def value_without_any_one(voices: Iterable[_Voice]) -> float:
    """-1 to 1: the mean voice, drawn to 0 as far as few have seen the passage; of all with one person left out the
    value nearest to 0, and 0 where these do not agree on the direction.
    """
    every = list(voices)
    if len(every) < LEAST_PEOPLE:
        return 0.0
    total, total_seen = sum(voice.value for voice in every), sum(voice.examined_share for voice in every)
    values = [_value((total - voice.value) / (len(every) - 1), total_seen - voice.examined_share) for voice in every]
    if min(values) > 0:
        return min(values)
    return max(values) if max(values) < 0 else 0.0


def _value(mean: float, share: float) -> float:
    return min(max(mean * share / (share + SURE_AT), -1.0), 1.0)
