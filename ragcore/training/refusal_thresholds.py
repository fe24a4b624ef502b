"""Thresholds of refusals by script and by how many passages the asker may search."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ragcore.answerability.model import Script, script_of
from ragcore.ports import FloatArray
from ragcore.training.answer_sets import SEED, AnswerSet, Ranking, SetQuestion, half_of
from ragcore.training.refusal_training import RATES, judged, scores
from ragcore.types import Language

SIZES = (20, 100)  # passages; beside them each whole set
QUESTIONS = 200  # of each set and size
# A set that training has not seen loses more: with one set left out each time, lines drawn for 5 % of the others'
# questions refused 3 to 14 % of its own. So every line is drawn for a smaller share than it is named by.
UNSEEN = 0.8


def visible_thresholds(
    loaded: Sequence[AnswerSet], weights: Mapping[Script, FloatArray], *, half: int, limit: int
) -> dict[str, dict[str, list[float]]]:
    """language -> passages -> the score below which 1, 2, 5, 10 % of the answerable questions of a half lie.

    Of every set the curve is drawn for itself, and the mean over the sets of a language is taken.
    """
    curves: dict[str, dict[str, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
    for data in loaded:
        asked = [q for q in data.sample(len(data.answerable)) if half_of(q.about) == half]
        if not asked:
            continue
        script = script_of(asked[0].text)
        language: Language = "en" if script == "en" else "zh"
        for size in SIZES:
            if found := _judged(_shares(data, asked, size), weights[script]):
                curves[language][str(size)].append(_curve(np.concatenate(found)))
        whole = judged(data.name, ((q, False) for q in asked[:limit]), data.ranking)
        curves[language][_rounded(len(data.ranking.passages))].append(_curve(scores(whole, weights[script])))
    return {
        language: {
            size: [round(float(x), 5) for x in np.mean(found, axis=0)]
            for size, found in sorted(by_size.items(), key=lambda item: int(item[0]))
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
    return [scores(judged("part", ((q, False) for q in asked), ranking), weights) for ranking, asked in parts]


def _shares(data: AnswerSet, asked: Sequence[SetQuestion], size: int) -> Iterator[tuple[Ranking, list[SetQuestion]]]:
    """Random shares of the passages, each with the questions that it answers."""
    passages = list(data.ranking.passages)
    random.Random(SEED).shuffle(passages)
    number = 0
    for start in range(0, len(passages) - size + 1, size):
        group = passages[start : start + size]
        held = {p.external_id for p in group}
        mine = [q for q in asked if q.wanted <= held]
        if mine and number < QUESTIONS:
            number += len(mine)
            yield data.ranking.part(group), mine
