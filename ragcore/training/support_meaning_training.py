"""Weights of the support model that read cosines, of one embedding model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from ragcore.grounding.source_texts import SourceTexts
from ragcore.grounding.support_model import ACROSS, SupportFeatures, SupportModel, design
from ragcore.ports import Embedder, Tokenizer
from ragcore.text.sentences import split_sentences
from ragcore.training.answer_sets import half_of, rows
from ragcore.training.reranker_data import ARTICLE, LANGUAGES
from ragcore.training.support_training import Array, Table, constants_fit, joined, sources_of

SLOPE = 3.0  # log odds for a cosine of 1 in a script that the embedder reads
HARDLY = 0.9  # the same in a script that it hardly reads
READS = 0.5  # trust from which it reads a script
LEAST_CHARACTERS = 12  # of a sentence
_FIGURE = re.compile(r"\d+")


def meaning_fit(data: Table, *, words: Sequence[float], embedder: Embedder) -> tuple[float, ...]:
    """Weights of `design` over log odds by words and cosine. Constants are fitted; how much a cosine counts is set.

    Fitted, it would count too much: edited sentences of the training are as near to their sources as the others.
    """
    assert data.cosine is not None
    latin, cjk = (_slope(embedder.trust(share)) for share in (0.0, 1.0))
    model = SupportModel(words=tuple(words), meaning=())
    offsets = design(joined(model, data, data.cosine), data.cjk) @ np.array([0, 1, latin, 0, 0, cjk - latin])
    constant, constant_cjk = constants_fit(offsets, data)
    return (constant, 1.0, latin, constant_cjk, 0.0, cjk - latin)


def _slope(trust: float) -> float:
    """The cosine that it multiplies is limited by the trust already."""
    return (SLOPE if trust >= READS else HARDLY) / trust


@dataclass(frozen=True, slots=True)
class AcrossTable:
    """Sentences beside passages of the other language: float64[n, len(ACROSS)], and which are supported, bool[n]."""

    rows: Array
    supported: np.ndarray


def across_table(folders: Sequence[Path], *, tokenizer: Tokenizer, embedder: Embedder, half: int) -> AcrossTable:
    """Of a parallel set in two folders: sentences beside their translation, its neighbour, and with another figure."""
    first, second = (_passages(folder) for folder in folders)
    labelled_rows = [
        (SupportFeatures(SourceTexts(sources_of([text]), tokenizer), embedder).across(sentence), is_supported)
        for base, translation in ((first, second), (second, first))
        for sentence, text, is_supported in _examples(base, translation, half)
    ]
    return AcrossTable(
        np.array([row for row, _ in labelled_rows]).reshape(-1, len(ACROSS)), np.array([s for _, s in labelled_rows])
    )


def across_fit(data: AcrossTable) -> tuple[float, ...]:
    """A constant and weights of ACROSS by logistic regression; both classes count the same."""
    matrix = np.hstack([np.ones((len(data.rows), 1)), data.rows])
    target = np.where(data.supported, 1.0, -1.0)
    share = np.where(data.supported, 0.5 / data.supported.sum(), 0.5 / (~data.supported).sum())
    solution = minimize(lambda weights: float(share @ np.logaddexp(0, -target * (matrix @ weights))), np.zeros(3))
    return tuple(map(float, solution.x))


def balanced_accuracy(data: AcrossTable, weights: Sequence[float]) -> float:
    """At probability 0.5."""
    supported = weights[0] + data.rows @ np.array(weights[1:]) >= 0
    return float((supported[data.supported].mean() + (~supported[~data.supported]).mean()) / 2)


def _passages(folder: Path) -> dict[str, tuple[str, str]]:
    """Place in the set -> article and text, in order."""
    passages = {}
    for row in rows(folder / "corpus.jsonl"):
        article = ARTICLE.search(row["id"])
        passages[LANGUAGES.sub("-", row["id"], count=1)] = (article.group(1) if article else row["id"], row["text"])
    return passages


def _examples(
    base: dict[str, tuple[str, str]], translation: dict[str, tuple[str, str]], half: int
) -> Iterator[tuple[str, str, bool]]:
    """Sentence, passage in the other language, and whether that supports it."""
    for (place, (article, text)), (beside, (next_article, _)) in pairwise(base.items()):
        if half_of(article) != half or place not in translation or beside not in translation:
            continue
        for number, sentence in enumerate(split_sentences(text)):
            if len(sentence) < LEAST_CHARACTERS:
                continue
            yield sentence, translation[place][1], True
            if article == next_article and number % 2:
                yield sentence, translation[beside][1], False
            elif _FIGURE.search(sentence):
                yield _FIGURE.sub(lambda match: str(int(match[0]) + 7), sentence, count=1), translation[place][1], False
