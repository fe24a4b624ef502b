"""Fits the support model: logistic regression, every class and kind of source weighted alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from bench.grounding_examples import Example
from ragcore.grounding.evidence import FEATURES, Evidence
from ragcore.grounding.source_texts import SourceTexts
from ragcore.grounding.support_model import SURE_FROM, SupportModel, design, logistic
from ragcore.ports import Embedder, Tokenizer
from ragcore.text.scripts import cjk_share
from ragcore.types import Passage, Source

Array = npt.NDArray[np.float64]
RIDGE = 3e-3  # on standardised features
STATEMENTS = 0.3  # weight of questions made into statements: they are no grammatical sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Features of examples."""

    words: Array  # float64[n, len(FEATURES)]
    meaning: Array | None  # float64[n, len(evidence.MEANING)]; None without an embedder
    cjk: Array  # float64[n]
    supported: npt.NDArray[np.bool_]
    groups: npt.NDArray[np.str_]
    kinds: npt.NDArray[np.str_]
    overlap: Array  # plain share of the words of the sentence that the sources have, for comparison

    def part(self, mask: npt.NDArray[np.bool_]) -> Table:
        return Table(
            words=self.words[mask],
            meaning=None if self.meaning is None else self.meaning[mask],
            cjk=self.cjk[mask],
            supported=self.supported[mask],
            groups=self.groups[mask],
            kinds=self.kinds[mask],
            overlap=self.overlap[mask],
        )


def table(examples: Sequence[Example], *, tokenizer: Tokenizer, embedder: Embedder | None) -> Table:
    """Features of all examples, in order."""
    words, meaning, overlap = [], [], []
    for example in examples:
        texts = SourceTexts(sources_of(example.sources), tokenizer)
        evidence = Evidence(texts, embedder)
        row = evidence.with_meaning(example.sentence, example.cited)
        words.append(row[: len(FEATURES)])
        meaning.append(row)
        mine = set(tokenizer.words(example.sentence))
        pool = set[str]().union(*(source.words for source in texts.of(example.cited)))
        overlap.append(len(mine & pool) / len(mine) if mine else 0.0)
    return Table(
        words=np.array(words),
        meaning=np.array(meaning) if embedder is not None else None,
        cjk=np.array([cjk_share(e.sentence) for e in examples]),
        supported=np.array([e.supported for e in examples]),
        groups=np.array([e.group for e in examples]),
        kinds=np.array([e.kind for e in examples]),
        overlap=np.array(overlap),
    )


def sources_of(texts: Sequence[str]) -> list[Source]:
    return [
        Source(number=n, passage=Passage(chunk=n, document=n, version=n, text=text, title=""), text=text, score=1.0)
        for n, text in enumerate(texts, start=1)
    ]


def fitted(data: Table, *, ridge: float = RIDGE) -> SupportModel:
    """Both sets of weights; without vectors the second one is empty."""
    words = _weights(data.words, data, ridge)
    meaning = _weights(data.meaning, data, ridge) if data.meaning is not None else np.zeros(0)
    return SupportModel(words=tuple(words), meaning=tuple(meaning))


def probabilities(model: SupportModel, data: Table) -> Array:
    """As `SupportModel.probability`: by words, and by meaning where words do not suffice."""
    by_words = logistic(design(data.words, data.cjk) @ np.array(model.words))
    if data.meaning is None:
        return by_words
    by_meaning = logistic(design(data.meaning, data.cjk) @ np.array(model.meaning))
    return np.where(by_words < SURE_FROM, by_meaning, by_words)


def folds(groups: npt.NDArray[np.str_], count: int = 5) -> npt.NDArray[np.int64]:
    """The fold of each row; all rows of a group are in one, and folds are about equally large."""
    names, sizes = np.unique(groups, return_counts=True)
    order = np.lexsort((names, -sizes))
    load, place = np.zeros(count), {}
    for at in order:
        fold = int(load.argmin())
        place[names[at]] = fold
        load[fold] += sizes[at]
    return np.array([place[g] for g in groups])


def cross_validated(data: Table, score: Callable[[Table, Table], Array]) -> Array:
    """`score(training part, test part)` for every fold by group, put together in order."""
    fold, out = folds(data.groups), np.zeros(len(data.supported))
    for number in range(fold.max() + 1):
        out[fold == number] = score(data.part(fold != number), data.part(fold == number))
    return out


def _weights(rows: Array, data: Table, ridge: float) -> Array:
    matrix = design(rows, data.cjk)
    scale = matrix.std(axis=0)
    scale[scale == 0] = 1.0
    scaled = matrix / scale
    target = np.where(data.supported, 1.0, -1.0)
    share = np.where(np.char.find(data.kinds, "answer") >= 0, STATEMENTS, 1.0)
    for mask in (data.supported, ~data.supported):
        share[mask] *= 0.5 / share[mask].sum()

    def loss(weights: Array) -> tuple[float, Array]:
        margin = target * (scaled @ weights)
        value = float(share @ np.logaddexp(0, -margin)) + ridge * float(weights[1:] @ weights[1:])
        slope = scaled.T @ (-share * target * logistic(-margin))
        slope[1:] += 2 * ridge * weights[1:]
        return value, slope

    found = minimize(loss, np.zeros(scaled.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 2000})
    return np.asarray(found.x / scale, np.float64)
