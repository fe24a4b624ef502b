"""How well unsupported sentences are found: balanced accuracy and AUC, beside plain word overlap."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ragcore.grounding.support import claims
from ragcore.grounding.support_model import SupportModel
from ragcore.training.support_examples import Example, rows
from ragcore.training.support_training import Array, Table, cross_validated, fitted, folds, probabilities

Flags = npt.NDArray[np.bool_]


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


HEAD = "| | balanced accuracy | unsupported found | supported kept | AUC |\n|---|---|---|---|---|"


def annotated(path: Path) -> list[Example]:
    """FaithBench: summaries of passages by models, with spans that people found unsupported.

    A sentence is unsupported if an annotator marked a part of it as unwanted; a sentence that is only questionable is
    left out, a benign addition counts as supported.
    """
    found = []
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
            found.append(
                Example(
                    sentence=sentence,
                    sources=(row["source"],),
                    cited=(),
                    supported="Unwanted" not in labels,
                    group=row["source"][:200],
                    kind=row["model"],
                )
            )
    return found


def findings(data: Table, *, shipped: SupportModel | None, overlap_from: float | None = None) -> list[MethodScore]:
    """Plain overlap, the shipped weights, and weights fitted to this set; fitting is cross-validated by group.

    `overlap_from`: threshold of overlap that was best on the training sentences, where the shipped weights have theirs.
    """
    found = [
        score_method("plain word overlap, threshold of the other folds", data.supported, _tuned(data, data.overlap))
    ]
    if overlap_from is not None:
        name = f"plain word overlap, threshold {overlap_from:.3f} of the training sentences"
        found.insert(0, score_method(name, data.supported, data.overlap >= overlap_from, data.overlap))
    if shipped is not None:
        scores = probabilities(shipped, data)
        found.append(score_method("shipped weights, threshold 0.5", data.supported, scores >= 0.5, scores))
        found.append(
            score_method("shipped weights, threshold of the other folds", data.supported, _tuned(data, scores))
        )
    scores = cross_validated(data, lambda train, test: probabilities(fitted(train, ridge=3e-2), test))
    found.append(score_method("weights of the other folds, threshold 0.5", data.supported, scores >= 0.5, scores))
    return found


def score_method(
    name: str, truth: Flags, said: Flags | tuple[Flags, Array], scores: Array | None = None
) -> MethodScore:
    if isinstance(said, tuple):
        said, scores = said
    kept, found = float(said[truth].mean()), float((~said)[~truth].mean())
    return MethodScore(
        name=name, balanced_accuracy=(kept + found) / 2, supported=kept, unsupported=found, auc=auc(truth, scores)
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
    kept = (scores[truth][None, :] >= cuts[:, None]).mean(axis=1)
    found = (scores[~truth][None, :] < cuts[:, None]).mean(axis=1)
    return float(cuts[int((kept + found).argmax())])


def _tuned(data: Table, scores: Array) -> tuple[Flags, Array]:
    """Said to be supported from the threshold that is best on the other folds; and the scores."""
    fold, said = folds(data.groups), np.zeros(len(scores), np.bool_)
    for number in range(fold.max() + 1):
        there = fold == number
        said[there] = scores[there] >= best_threshold(data.supported[~there], scores[~there])
    return said, scores


def by_kind(data: Table, scores: Array) -> list[str]:
    """Share of examples of each kind that are judged rightly, for the training record."""
    right = (scores >= 0.5) == data.supported
    masks = {kind: data.kinds == kind for kind in sorted(set(data.kinds.tolist()))}
    return [f"| {kind} | {int(mask.sum())} | {right[mask].mean():.3f} |" for kind, mask in masks.items()]
