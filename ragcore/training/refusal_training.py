"""How many questions without an answer are refused at given shares of wrongly refused ones; thresholds."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import minimize

from ragcore.answerability.features import FALLING, FEATURES, MEANING, RISING, compute_features
from ragcore.answerability.model import Script, design, script_of
from ragcore.ports import Embedder, FloatArray
from ragcore.training.answer_sets import SEED, AnswerSet, Ranking, SetQuestion, half_of
from ragcore.training.unanswerable import QuestionSources, gapped, grafted, vague
from ragcore.types import Language

RATES = (0.01, 0.02, 0.05, 0.1)
L2 = 0.01  # on weights of signs scaled to a spread of 1
LEAST_SPREAD = 0.05  # a sign that hardly ever differs is not blown up
ALIGNED = (0.05, 0.5)
FAMILIES: tuple[tuple[Script, ...], ...] = (("en",), ("zh", "zht"))  # what is learnt together
# Of the kinds of unanswerable questions in training. People's own count most; the made ones widen what is learnt.
KINDS: Mapping[str, float] = {"written": 1.0, "robbed": 0.1, "gapped": 0.1, "grafted": 0.2, "vague": 0.15}
# Weights, before scaling, that a sign may at most have or must at least have. Questions for the meaning of a term are
# rare in the sets that may be learnt from: that nothing defines the term weighs as much as that a name is nowhere. A
# third of SQuAD's unanswerable questions are negated because people were asked to change answerable ones, and where a
# passage is part of a longer document, it need not repeat the name that the question has. Broad questions and those for
# a process are too rare there to be held against anybody.
LIMITS: Mapping[str, tuple[float | None, float | None]] = {
    "lacks_definition": (None, -1.0),
    "negated": (-2.0, 0.0),
    "names_passage": (0.0, 1.0),
    "broad": (0.0, None),
    "process": (0.0, None),
}

SIZES = (20, 100)  # passages; beside them each whole set
QUESTIONS = 200  # of each set and size
# A set that training has not seen loses more: with one set left out each time, lines drawn for 5 % of the others'
# questions refused 3 to 14 % of its own. So every line is drawn for a smaller share than it is named by.
UNSEEN = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The signs of many questions of one kind: float32[n, f]."""

    group: str
    matrix: FloatArray
    weight: float = 1.0  # of the group in training
    empty: int = 0  # questions beside them for which nothing was found: they are refused in any case


def judged(
    group: str, questions: Iterable[tuple[SetQuestion, bool]], ranking: Ranking, *, embedder: Embedder | None = None
) -> Judged:
    """Signs of questions over a ranking; the flag takes the documents with the answer away."""
    return judged_made(
        group,
        (
            QuestionSources(
                text=question.text,
                sources=ranking.sources(question.text, without=question.relevant if is_robbed else frozenset()),
                idf=ranking.query(question.text).weights,
            )
            for question, is_robbed in questions
        ),
        ranking,
        embedder=embedder,
    )


def judged_made(
    group: str, questions: Iterable[QuestionSources], ranking: Ranking, *, embedder: Embedder | None = None
) -> Judged:
    """Signs of questions with their sources."""
    features = [
        compute_features(
            m.text, ranking.with_sentences(m.sources), tokenizer=ranking.tokenizer, embedder=embedder, idf=m.idf
        )
        for m in questions
    ]
    rows = [[values[name] for name in FEATURES] for values in features if values is not None]
    matrix = np.array(rows, np.float32).reshape(len(rows), len(FEATURES))
    return Judged(group=group, matrix=matrix, empty=len(features) - len(rows))


def parts(data: AnswerSet, *, half: int | None, limit: int) -> tuple[list[SetQuestion], list[SetQuestion]]:
    """Answerable and unanswerable questions of one half of the titles, or of all."""
    answerable = [q for q in data.sample(len(data.answerable)) if half is None or half_of(q.about) == half]
    unanswerable = [q for q in data.unanswerable if half is None or half_of(q.about) == half]
    return answerable[:limit], unanswerable[:limit]


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The questions of one set."""

    script: Script
    answered: Judged
    lost: Mapping[str, Judged] = field(default_factory=dict)  # by KINDS


def groups_of(data: AnswerSet, *, half: int, limit: int, embedder: Embedder | None = None) -> Groups:
    """Of one half of the titles. Of each kind that is made there are half as many."""
    can, cannot = parts(data, half=half, limit=limit)
    ranking, some, other_half = data.ranking, can[::2], can[1::2]
    return Groups(
        script=script_of(data.answerable[0].text),
        answered=judged(data.name, ((q, False) for q in can), ranking, embedder=embedder),
        lost={
            "written": judged(data.name, ((q, False) for q in cannot), ranking, embedder=embedder),
            "robbed": judged(data.name, ((q, True) for q in some), ranking, embedder=embedder),
            "gapped": judged_made(data.name, gapped(some, ranking), ranking, embedder=embedder),
            "grafted": judged_made(data.name, grafted(other_half, ranking), ranking, embedder=embedder),
            "vague": judged_made(data.name, vague(other_half, ranking), ranking, embedder=embedder),
        },
    )


def scripts_fit(groups: Sequence[Groups], *, meaning: bool = False) -> dict[Script, FloatArray]:
    """Weights for each script. `meaning`: the cosine counts, too.

    Both ways of writing Chinese are learnt together. The words of traditional Chinese are cut less well, so that it
    scores lower throughout; its scores are moved to where those of simplified Chinese are.
    """
    weights: dict[Script, FloatArray] = {}
    for family in FAMILIES:
        of_family = [group for group in groups if group.script in family]
        if not of_family:
            continue
        lost = [
            replace(judged_lost, weight=KINDS[kind])
            for group in of_family
            for kind, judged_lost in group.lost.items()
            if len(judged_lost.matrix)
        ]
        fitted = refusals_fit(
            [group.answered for group in of_family if len(group.answered.matrix)], lost, meaning=meaning
        )
        weights |= dict.fromkeys((group.script for group in of_family), fitted)
        if {"zh", "zht"} <= weights.keys():
            traditional, simplified = (
                _odds([group for group in of_family if group.script == script], fitted) for script in ("zht", "zh")
            )
            weights["zht"] = aligned(fitted, traditional, simplified)
    return weights


def _odds(groups: Sequence[Groups], weights: FloatArray) -> FloatArray:
    return np.concatenate([design(group.answered.matrix) @ weights for group in groups])


def left_out(groups: Sequence[Groups]) -> Iterator[tuple[Groups, FloatArray]]:
    """Each set with the weights that the other ones give for its script, or else for another one."""
    for one in groups:
        weights = scripts_fit([other for other in groups if other is not one])
        if weights:
            yield one, weights.get(one.script, next(iter(weights.values())))


def refusals_fit(answered: Sequence[Judged], unanswered: Sequence[Judged], *, meaning: bool = False) -> FloatArray:
    """Logistic regression: float64[f + 1]. Both sides weigh the same, and within a side each group by its weight.

    The direction of a sign is known beforehand, and a weight against it is chance: it becomes 0.
    """
    inputs, labels, weight = [], [], []
    for side, label in ((answered, 1.0), (unanswered, 0.0)):
        total = sum(group.weight for group in side if len(group.matrix))
        for group in side:
            inputs.append(group.matrix)
            labels.append(np.full(len(group.matrix), label))
            weight.append(np.full(len(group.matrix), 0.5 * group.weight / (total * max(len(group.matrix), 1))))
    matrix, truth, share = np.vstack(inputs).astype(np.float64), np.concatenate(labels), np.concatenate(weight)
    middle, spread = matrix.mean(axis=0), np.maximum(matrix.std(axis=0), LEAST_SPREAD)
    rows = design((matrix - middle) / spread)

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        margin = rows @ weights
        value = float(share @ (np.logaddexp(0, margin) - truth * margin)) + L2 * float(weights[:-1] @ weights[:-1])
        gradient = rows.T @ (share * (1 / (1 + np.exp(-margin)) - truth)) + 2 * L2 * np.append(weights[:-1], 0.0)
        return value, gradient

    limits = [(0.0, 0.0) if name in MEANING and not meaning else _bounds(name) for name in FEATURES]
    bounds = [*(_scaled(limit, float(size)) for limit, size in zip(limits, spread, strict=True)), (None, None)]
    start = np.array([min(0.0, high if high is not None else 0.0) for _, high in bounds])
    solution = np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x)
    plain = solution[:-1] / spread
    return np.append(plain, solution[-1] - plain @ middle)


def aligned(weights: FloatArray, odds: FloatArray, like: FloatArray, *, low: float = ALIGNED[0]) -> FloatArray:
    """Weights whose log-odds are moved and stretched until two quantiles of `odds` are those of `like`.

    `odds`: log-odds of answered questions by these weights. The quantiles are the one of the usual line, or `low` of
    `odds`, and the median.
    """
    own_low, middle = (float(np.quantile(odds, q)) for q in (low, ALIGNED[1]))
    target_low, target_middle = (float(np.quantile(like, q)) for q in ALIGNED)
    stretch = (target_middle - target_low) / max(middle - own_low, 1e-6)
    moved = weights * stretch
    moved[-1] += target_low - stretch * own_low
    return np.asarray(moved)


def _bounds(sign: str) -> tuple[float | None, float | None]:
    if sign in LIMITS:
        return LIMITS[sign]
    return (0.0, None) if sign in RISING else (None, 0.0) if sign in FALLING else (None, None)


def _scaled(bounds: tuple[float | None, float | None], spread: float) -> tuple[float | None, float | None]:
    low, high = bounds
    return None if low is None else low * spread, None if high is None else high * spread


def scores(group: Judged, weights: FloatArray) -> FloatArray:
    """float64[n + empty]: the probability that each question is answered."""
    return np.append(1 / (1 + np.exp(-(design(group.matrix) @ weights))), np.zeros(group.empty))


def threshold_curve(answered: FloatArray) -> list[float]:
    """The score below which each of RATES of the answerable questions lies."""
    return [float(np.quantile(answered, rate)) for rate in RATES]


def refused(answered: FloatArray, unanswered: FloatArray) -> Mapping[float, float]:
    """Share of the unanswerable questions below the threshold of each rate."""
    return {r: float(np.mean(unanswered < t)) for r, t in zip(RATES, threshold_curve(answered), strict=True)}


def visible_thresholds(
    loaded: Sequence[AnswerSet], weights: Mapping[Script, FloatArray], *, half: int, limit: int
) -> dict[str, dict[str, list[float]]]:
    """language -> passages -> the score below which 1, 2, 5, 10 % of the answerable questions of a half lie.

    Of every set the curve is drawn for itself, and the mean over the sets of a language is taken.
    """
    curves: dict[str, dict[str, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
    for data in loaded:
        questions = [q for q in data.sample(len(data.answerable)) if half_of(q.about) == half]
        if not questions:
            continue
        script = script_of(questions[0].text)
        language: Language = "en" if script == "en" else "zh"
        for size in SIZES:
            if judged_parts := _judged(_shares(data, questions, size), weights[script]):
                curves[language][str(size)].append(_curve(np.concatenate(judged_parts)))
        whole = judged(data.name, ((q, False) for q in questions[:limit]), data.ranking)
        curves[language][_rounded(len(data.ranking.passages))].append(_curve(scores(whole, weights[script])))
    return {
        language: {
            size: [round(float(x), 5) for x in np.mean(size_curves, axis=0)]
            for size, size_curves in sorted(by_size.items(), key=lambda item: int(item[0]))
        }
        for language, by_size in curves.items()
    }


def _curve(answered: FloatArray) -> list[float]:
    return [float(np.quantile(answered, UNSEEN * rate)) for rate in RATES]


def _rounded(number: int) -> str:
    """Sets of about one size share a curve."""
    return str(round(number, -3) or 1000)


def _judged(parts: Iterator[tuple[Ranking, list[SetQuestion]]], weights: FloatArray) -> list[FloatArray]:
    """The scores of each part's questions."""
    return [scores(judged("part", ((q, False) for q in questions), ranking), weights) for ranking, questions in parts]


def _shares(
    data: AnswerSet, questions: Sequence[SetQuestion], size: int
) -> Iterator[tuple[Ranking, list[SetQuestion]]]:
    """Random shares of the passages, each with the questions that it answers."""
    passages = list(data.ranking.passages)
    random.Random(SEED).shuffle(passages)
    number = 0
    for start in range(0, len(passages) - size + 1, size):
        group = passages[start : start + size]
        documents = {p.external_id for p in group}
        answerable = [q for q in questions if q.relevant <= documents]
        if answerable and number < QUESTIONS:
            number += len(answerable)
            yield data.ranking.part(group), answerable
