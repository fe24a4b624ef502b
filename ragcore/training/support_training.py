"""Fits the support model by logistic regression, and measures it: balanced accuracy and AUC, beside word overlap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from ragcore.grounding.source_texts import SourceTexts
from ragcore.grounding.support import claims
from ragcore.grounding.support_model import SURE_FROM, SupportFeatures, SupportModel, design, logistic
from ragcore.ports import Embedder, Tokenizer
from ragcore.text.scripts import cjk_share
from ragcore.training.support_examples import Example, rows
from ragcore.types import Passage, Source

Flags = npt.NDArray[np.bool_]

HEAD = "| | balanced accuracy | unsupported found | supported kept | AUC |\n|---|---|---|---|---|"
Array = npt.NDArray[np.float64]
RIDGE = 3e-3  # on standardised features
STATEMENTS = 0.3  # weight of questions made into statements: they are no grammatical sentences
# Log odds that a cosine of 1 adds, and what a sentence in CJK loses of them. Fixed, not fitted: most errors of our own
# making are far from their source in meaning, which real ones are not, so a fit forgets the words for the cosine.
COSINE, COSINE_CJK = 6.0, -3.0
SUMMARIES = 0.2  # of condensed sentences: three of each class a passage


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodScore:
    """Of one method on one set."""

    name: str
    balanced_accuracy: float  # mean of the shares of supported and of unsupported sentences that are recognised
    supported: float  # share of supported sentences that are recognised as such
    unsupported: float
    auc: float  # probability that a supported sentence scores higher than an unsupported one

    def row(self) -> str:
        figures = (self.balanced_accuracy, self.unsupported, self.supported, self.auc)
        return f"| {self.name} | " + " | ".join(f"{figure:.3f}" for figure in figures) + " |"


def annotated(path: Path) -> list[Example]:
    """FaithBench: summaries of passages by models, with spans that people found unsupported.

    A sentence is unsupported if an annotator marked a part of it as unwanted; a sentence that is only questionable is
    left out, a benign addition counts as supported.
    """
    sentences = []
    for row in rows(path):
        response, at = row["response"], 0
        for sentence in claims(response):
            start = response.find(sentence, at)
            at = start + len(sentence) if start >= 0 else at
            labels = {
                label.split(".")[0]
                for mark in row["annotations"]
                if start >= 0 and mark["start"] < at and mark["end"] > start
                for label in mark["label"]
            }
            if start < 0 or (labels and "Unwanted" not in labels and "Questionable" in labels):
                continue
            sentences.append(
                Example(
                    sentence=sentence,
                    sources=(row["source"],),
                    cited=(),
                    supported="Unwanted" not in labels,
                    group=row["source"][:200],
                    kind=row["model"],
                )
            )
    return sentences


def findings(data: Table, *, shipped: SupportModel | None, overlap_from: float | None = None) -> list[MethodScore]:
    """Plain overlap, the shipped weights, and weights fitted to this set; fitting is cross-validated by group.

    `overlap_from`: threshold of overlap that was best on the training sentences, where the shipped weights have theirs.
    """
    methods = [
        score_method("plain word overlap, threshold of the other folds", data.supported, _tuned(data, data.overlap))
    ]
    if overlap_from is not None:
        name = f"plain word overlap, threshold {overlap_from:.3f} of the training sentences"
        methods.insert(0, score_method(name, data.supported, data.overlap >= overlap_from, data.overlap))
    if shipped is not None:
        scores = probabilities(shipped, data)
        methods.append(score_method("shipped weights, threshold 0.5", data.supported, scores >= 0.5, scores))
        methods.append(
            score_method("shipped weights, threshold of the other folds", data.supported, _tuned(data, scores))
        )
    scores = cross_validated(data, lambda train, test: probabilities(fitted(train, ridge=3e-2), test))
    methods.append(score_method("weights of the other folds, threshold 0.5", data.supported, scores >= 0.5, scores))
    return methods


def score_method(
    name: str, truth: Flags, supported: Flags | tuple[Flags, Array], scores: Array | None = None
) -> MethodScore:
    if isinstance(supported, tuple):
        supported, scores = supported
    true_positive_rate, true_negative_rate = float(supported[truth].mean()), float((~supported)[~truth].mean())
    return MethodScore(
        name=name,
        balanced_accuracy=(true_positive_rate + true_negative_rate) / 2,
        supported=true_positive_rate,
        unsupported=true_negative_rate,
        auc=auc(truth, scores),
    )


def auc(truth: Flags, scores: Array | None) -> float:
    """Area under the ROC curve (Mann-Whitney), ties count half; nan without both classes."""
    if scores is None or truth.all() or not truth.any():
        return float("nan")
    order = np.argsort(scores, kind="stable")
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    for value in np.unique(scores):
        same = scores == value
        ranks[same] = ranks[same].mean()
    positive = int(truth.sum())
    return float((ranks[truth].sum() - positive * (positive + 1) / 2) / (positive * (len(truth) - positive)))


def best_threshold(truth: Flags, scores: Array) -> float:
    """Where balanced accuracy is highest; between two scores."""
    values = np.unique(scores)
    cuts = np.concatenate([[values[0] - 1e-9], (values[1:] + values[:-1]) / 2])
    true_positive_rates = (scores[truth][None, :] >= cuts[:, None]).mean(axis=1)
    true_negative_rates = (scores[~truth][None, :] < cuts[:, None]).mean(axis=1)
    return float(cuts[int((true_positive_rates + true_negative_rates).argmax())])


def _tuned(data: Table, scores: Array) -> tuple[Flags, Array]:
    """Said to be supported from the threshold that is best on the other folds; and the scores."""
    fold, supported = folds(data.groups), np.zeros(len(scores), np.bool_)
    for number in range(fold.max() + 1):
        there = fold == number
        supported[there] = scores[there] >= best_threshold(data.supported[~there], scores[~there])
    return supported, scores


def by_kind(data: Table, scores: Array) -> list[str]:
    """Share of examples of each kind that are judged rightly, for the training record."""
    right = (scores >= 0.5) == data.supported
    masks = {kind: data.kinds == kind for kind in sorted(set(data.kinds.tolist()))}
    return [f"| {kind} | {int(mask.sum())} | {right[mask].mean():.3f} |" for kind, mask in masks.items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Features of examples."""

    words: Array  # float64[n, len(FEATURES)]
    cosine: Array | None  # float64[n]; None without an embedder
    cjk: Array  # float64[n]
    supported: npt.NDArray[np.bool_]
    groups: npt.NDArray[np.str_]
    kinds: npt.NDArray[np.str_]
    overlap: Array  # plain share of the words of the sentence that the sources have, for comparison

    def part(self, mask: npt.NDArray[np.bool_]) -> Table:
        return Table(
            words=self.words[mask],
            cosine=None if self.cosine is None else self.cosine[mask],
            cjk=self.cjk[mask],
            supported=self.supported[mask],
            groups=self.groups[mask],
            kinds=self.kinds[mask],
            overlap=self.overlap[mask],
        )


def table(examples: Sequence[Example], *, tokenizer: Tokenizer, embedder: Embedder | None) -> Table:
    """Features of all examples, in order."""
    words, cosine, overlap = [], [], []
    for example in examples:
        texts = SourceTexts(sources_of(example.sources), tokenizer)
        evidence = SupportFeatures(texts, embedder)
        words.append(evidence.features(example.sentence, example.cited))
        cosine.append(evidence.cosine(example.sentence, example.cited))
        sentence_words = set(tokenizer.words(example.sentence))
        pool = set[str]().union(*(source.words for source in texts.of(example.cited)))
        overlap.append(len(sentence_words & pool) / len(sentence_words) if sentence_words else 0.0)
    return Table(
        words=np.array(words),
        cosine=np.array(cosine) if embedder is not None else None,
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
    """The weights of words."""
    return SupportModel(words=tuple(_weights(data.words, data, ridge)), meaning=())


def probabilities(model: SupportModel, data: Table) -> Array:
    """As `SupportModel.probability`: by words, and by meaning where words do not suffice."""
    by_words = logistic(_log_odds(model, data))
    if data.cosine is None or not model.meaning:
        return by_words
    by_meaning = logistic(design(joined(model, data, data.cosine), data.cjk) @ np.array(model.meaning))
    return np.where(by_words < SURE_FROM, by_meaning, by_words)


def _log_odds(model: SupportModel, data: Table) -> Array:
    return np.asarray(design(data.words, data.cjk) @ np.array(model.words))


def joined(model: SupportModel, data: Table, cosine: Array) -> Array:
    """float64[n, len(evidence.MEANING)]."""
    return np.column_stack([_log_odds(model, data), cosine])


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
    target, share = _targets(data)

    def loss(weights: Array) -> tuple[float, Array]:
        margin = target * (scaled @ weights)
        value = float(share @ np.logaddexp(0, -margin)) + ridge * float(weights[1:] @ weights[1:])
        slope = scaled.T @ (-share * target * logistic(-margin))
        slope[1:] += 2 * ridge * weights[1:]
        return value, slope

    solution = minimize(loss, np.zeros(scaled.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 2000})
    return np.asarray(solution.x / scale, np.float64)


def constants_fit(offsets: Array, data: Table) -> tuple[float, float]:
    """Constant of the weights with vectors and its change for CJK; `offsets`: float64[n], log-odds by the others."""
    target, share = _targets(data)

    def loss(constants: Array) -> float:
        return float(share @ np.logaddexp(0, -target * (offsets + constants[0] + constants[1] * data.cjk)))

    solution = minimize(loss, np.zeros(2), method="L-BFGS-B")
    return float(solution.x[0]), float(solution.x[1])


def _targets(data: Table) -> tuple[Array, Array]:
    """1 or -1, and how much each example counts; both classes count the same."""
    share = np.where(np.char.find(data.kinds, "answer") >= 0, STATEMENTS, 1.0)
    share[np.char.startswith(data.kinds, "summary")] = SUMMARIES
    for mask in (data.supported, ~data.supported):
        share[mask] *= 0.5 / share[mask].sum()
    return np.where(data.supported, 1.0, -1.0), share
