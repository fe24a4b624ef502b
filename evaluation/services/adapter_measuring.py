"""How good a query adapter is on documents that it has not seen, and whether that is a gain.

Judged by search with vectors alone over all passages of the set, as an exact search would find them. Every question
counts that is held out: each goes through the model of the fold that has not seen its documents. The round that is kept
is the best one on all of them; what is told as its gain is measured with the round that the other folds would choose
for each fold, so that no question takes part in the choice of the round that it is judged with.

Figures of several rounds are compared, and between two of them the worker may have ended: they hold together only on
the same `Grounds`. Passages that came since do not count; where one is gone, or a pair or a fold is another, the rounds
begin anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt

from accounts.scope import Scope
from evaluation.errors import AdapterTrainingError
from evaluation.services.trainings import difference_shown, groups_of
from knowledge.models import KnowledgeSet
from knowledge.selectors.training_vectors import passage_vectors, question_vectors, space_dimensions
from ragcore.embedding.adapter_training import AdapterTraining, TrainingPairs, blocks, plain_scale
from ragcore.embedding.query_adapter import QueryAdapter, adapter_unpack
from ragcore.metrics.comparison import PairedDifference, paired_difference
from ragcore.ports import FloatArray
from ragcore.text.question_pairs import MADE, folds_of

FOLDS = 4
K = 10
EMBEDDED_AT_ONCE = 32
LEAST_HELD_OUT = 10
EQUAL = 1e-9
WORST = -0.005  # of nDCG@10, below which the lower bound of the difference may not lie

Values = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grounds:
    """What the figures of a training are taken on."""

    pairs: bytes  # fingerprint of those that can be used, with their passages and folds
    chunks: npt.NDArray[np.int64]  # the passages to find among


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The model after some rounds: its adapter, and what each held-out question got. Higher is better."""

    round: int
    adapter: QueryAdapter
    recall: Values  # float64[h]
    ndcg: Values
    folds: npt.NDArray[np.int64]  # int64[h], the fold of each question
    unchosen: Values  # float64[2, h]: recall and ndcg with the round that the other folds choose
    worths: Values  # float64[f]: of that round, on the other folds
    point: Mapping[str, Any]  # of the curve

    @property
    def worth(self) -> float:
        """What rounds are chosen by."""
        return float(self.recall.mean() + self.ndcg.mean())

    def better_of(self, other: Judged) -> Judged:
        """The one that is worth more; of equals this one. For each fold the same by the other folds."""
        better = other.worths > self.worths + EQUAL
        return replace(
            other if other.worth > self.worth + EQUAL else self,
            unchosen=np.where(better[self.folds], other.unchosen, self.unchosen),
            worths=np.where(better, other.worths, self.worths),
        )

    def is_stale(self, round: int, most: int) -> bool:
        """Whether so many rounds brought nothing better."""
        return round - self.round >= most

    def packed(self, training: bytes, grounds: Grounds) -> bytes:
        """With the state of the training, as a checkpoint."""
        stream = BytesIO()
        np.savez(
            stream,
            training=np.frombuffer(training, np.uint8),
            pairs=np.frombuffer(grounds.pairs, np.uint8),
            chunks=grounds.chunks,
            adapter=np.frombuffer(self.adapter.pack(), np.uint8),
            dimensions=np.array([self.adapter.dimensions]),
            round=np.array([self.round]),
            recall=self.recall,
            ndcg=self.ndcg,
            folds=self.folds,
            unchosen=self.unchosen,
            worths=self.worths,
        )
        return stream.getvalue()

    @classmethod
    def unpacked(cls, checkpoint: bytes) -> tuple[Judged, bytes, Grounds]:
        """The best so far, the state of the training, and what it was judged on.

        Raises KeyError for a checkpoint of an earlier version.
        """
        with np.load(BytesIO(checkpoint), allow_pickle=False) as stored:
            adapter = adapter_unpack(stored["adapter"].tobytes(), dimensions=int(stored["dimensions"][0]))
            arrays = {name: stored[name] for name in ("recall", "ndcg", "folds", "unchosen", "worths")}
            best = cls(round=int(stored["round"][0]), adapter=adapter, point={}, **arrays)
            grounds = Grounds(pairs=stored["pairs"].tobytes(), chunks=stored["chunks"])
            return best, stored["training"].tobytes(), grounds


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterResult:
    """What a training has come to."""

    is_gain: bool
    figures: Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class AdapterJudge:
    """The pairs of a training as arrays, and all passages to find among.

    `entries`: float32[e, 768]; `starts`: int64[p], where the entries of each passage begin; `documents`: int64[p].
    """

    pairs: TrainingPairs
    stored: Sequence[Mapping[str, Any]]
    entries: FloatArray
    starts: npt.NDArray[np.int64]
    documents: npt.NDArray[np.int64]
    grounds: Grounds
    total: int  # entries of the set; there may be more than are compared

    @classmethod
    def of_training(cls, *, scope: Scope, home: KnowledgeSet, stored: Sequence[Mapping[str, Any]]) -> AdapterJudge:
        """Read vectors and embed questions. Raises AdapterTrainingError where too little is left to judge with."""
        found = passage_vectors(scope=scope, set_id=home.pk)
        if not len(found.chunks):
            raise AdapterTrainingError("empty")
        starts = np.flatnonzero(np.r_[True, found.chunks[1:] != found.chunks[:-1]])
        place = {int(chunk): at for at, chunk in enumerate(found.chunks[starts])}
        can_be_used = np.array([any(chunk in place for chunk in one["chunks"]) for one in stored], bool)
        usable = [stored[at] for at in np.flatnonzero(can_be_used).tolist()]
        groups = groups_of([document for one in usable for document in one["documents"]])
        touches = folds_of(
            [[groups.get(d, d) for d in one["documents"]] for one in usable], folds=FOLDS, seed=home.code
        )
        trained = sorted({chunk for one in usable for chunk in one["chunks"] if chunk in place})
        row = {chunk: at for at, chunk in enumerate(trained)}
        bodies = _bodies(found.vectors, found.is_body, starts)
        rows = lambda chunks: [row[chunk] for chunk in chunks if chunk in row]  # noqa: E731
        pairs = TrainingPairs(
            questions=_embedded([one["question"] for one in usable], scope),
            passages=bodies[[place[chunk] for chunk in trained]],
            right=[rows(one["chunks"]) for one in usable],
            touches=touches,
            masked=[rows(one["masked"]) for one in usable],
            hard=[rows(one["hard"]) for one in usable],
        )
        if touches.shape[1] < 2 or len(pairs.held_out) < LEAST_HELD_OUT:
            raise AdapterTrainingError("documents")
        return cls(
            pairs=pairs,
            stored=usable,
            entries=found.vectors,
            starts=starts,
            documents=found.documents[starts],
            grounds=Grounds(
                pairs=_fingerprint(can_be_used, np.array(trained, np.int64), touches), chunks=found.chunks[starts]
            ),
            total=found.total,
        )

    def on(self, grounds: Grounds) -> AdapterJudge | None:
        """The same with these passages alone; None where one of them is gone, or the pairs or folds are others."""
        mine = np.isin(self.grounds.chunks, grounds.chunks)
        if self.grounds.pairs != grounds.pairs or mine.sum() != len(grounds.chunks):
            return None
        if mine.all():
            return self
        sizes = np.diff(np.r_[self.starts, len(self.entries)])
        return replace(
            self,
            entries=self.entries[np.repeat(mine, sizes)],
            starts=np.cumsum(sizes[mine]) - sizes[mine],
            documents=self.documents[mine],
            grounds=grounds,
        )

    def judge(self, training: AdapterTraining, *, loss: float | None) -> Judged:
        """The training as it is now."""
        adapted = training.held_out()
        recall, ndcg = self.ranked(adapted)
        adapter = training.kept()
        slope, level = plain_scale(self.pairs.questions[self.pairs.held_out], adapted, self.pairs.passages)
        counts = self.decisive()
        point = {
            "round": training.round,
            "loss": None if loss is None else round(loss, 5),
            "recall": round(float(recall[counts].mean()), 5),
            "ndcg": round(float(ndcg[counts].mean()), 5),
        }
        recall, ndcg = recall[counts], ndcg[counts]
        folds = np.argmax(self.pairs.touches[self.pairs.held_out[counts]], axis=1).astype(np.int64)
        other_folds = [folds != fold for fold in range(self.pairs.touches.shape[1])]
        return Judged(
            round=training.round,
            adapter=replace(adapter, slope=slope, level=level),
            recall=recall,
            ndcg=ndcg,
            folds=folds,
            unchosen=np.stack([recall, ndcg]),
            worths=np.array([(recall[rest] + ndcg[rest]).mean() if rest.any() else 0.0 for rest in other_folds]),
            point=point,
        )

    def decisive(self) -> npt.NDArray[np.int64]:
        """Which of the held-out questions decide: those that people have asked, where there are enough."""
        origins = [self.stored[at]["origin"] for at in self.pairs.held_out.tolist()]
        typed_rows = np.flatnonzero([origin not in MADE for origin in origins])
        return typed_rows if len(typed_rows) >= LEAST_HELD_OUT else np.arange(len(origins))

    def ranked(self, adapted: FloatArray) -> tuple[Values, Values]:
        """Recall@10 and nDCG@10 by documents of each held-out question, in their order."""
        recall, ndcg = np.zeros(len(adapted)), np.zeros(len(adapted))
        for block in blocks(len(adapted)):
            scores = adapted[block] @ self.entries.T
            scores = np.maximum.reduceat(scores, self.starts, axis=1)
            k = min(K, scores.shape[1])
            best = np.argpartition(-scores, k - 1, axis=1)[:, :k]
            for at, places in enumerate(best, block.start):
                order = places[np.argsort(-scores[at - block.start, places], kind="stable")]
                document_order = list(dict.fromkeys(self.documents[order].tolist()))
                relevant = set(self.stored[int(self.pairs.held_out[at])]["documents"])
                gains = [
                    1 / np.log2(place + 2) for place, document in enumerate(document_order) if document in relevant
                ]
                recall[at] = len(gains) / len(relevant)
                ndcg[at] = sum(gains) / sum(1 / np.log2(place + 2) for place in range(min(len(relevant), K)))
        return recall, ndcg

    def result(self, best: Judged) -> AdapterResult:
        """Before and after, with intervals, and whether it is a gain: more is found, and what is found is not ranked
        significantly worse.
        """
        counts = self.decisive()
        recall, ndcg = (values[counts] for values in self.ranked(self.pairs.questions[self.pairs.held_out]))
        by_name = {
            "recall@10": paired_difference(recall.tolist(), best.unchosen[0].tolist()),
            "ndcg@10": paired_difference(ndcg.tolist(), best.unchosen[1].tolist()),
        }
        is_gain = best.round > 0 and is_better(by_name["recall@10"], by_name["ndcg@10"])
        figures = {
            "held_out": len(counts),
            "passages": len(self.starts),
            "entries": len(self.entries),
            "entries_total": self.total,
            "overall": {name: difference_shown(one) for name, one in by_name.items()},
            "dimensions": self._dimensions(counts, recall, best.unchosen[0]),
            "discrimination": self._discrimination(best.adapter),
        }
        return AdapterResult(is_gain=is_gain, figures=figures)

    def _dimensions(self, counts: npt.NDArray[np.int64], before: Values, after: Values) -> dict[str, Any]:
        """Recall@10 before and after by language and by origin of the question."""
        told: dict[str, Any] = {}
        rows = [self.stored[int(self.pairs.held_out[at])] for at in counts]
        for name in ("language", "origin"):
            for value in sorted({row[name] for row in rows}):
                mine = np.flatnonzero([row[name] == value for row in rows])
                difference = paired_difference(before[mine].tolist(), after[mine].tolist())
                told[f"{name}:{value}"] = {**difference_shown(difference), "cases": len(mine)}
        return told

    def _discrimination(self, adapter: QueryAdapter) -> dict[str, float]:
        """Mean cosine to right passages less that to others, before and after."""
        told = {}
        right, every = sum(map(len, self.pairs.right)), len(self.pairs.right) * len(self.pairs.passages)
        for name, questions in (("before", self.pairs.questions), ("after", adapter.apply(self.pairs.questions))):
            right_sum = every_sum = 0.0
            for block in blocks(len(questions)):
                cosines = questions[block] @ self.pairs.passages.T
                every_sum += float(cosines.sum(dtype=np.float64))
                for one, rows in zip(cosines, self.pairs.right[block], strict=True):
                    right_sum += float(one[list(rows)].sum(dtype=np.float64))
            others = (every_sum - right_sum) / (every - right) if every > right else 0.0
            told[name] = round(right_sum / right - others, 4)
        return told


def is_better(recall: PairedDifference, ndcg: PairedDifference) -> bool:
    """Whether more is found, and what is found is not ranked significantly worse."""
    if recall.difference < 0 or ndcg.low < WORST and ndcg.difference < 0:
        return False
    return recall.difference > 0 or ndcg.low > 0


def _fingerprint(*arrays: npt.NDArray[Any]) -> bytes:
    """Of the arrays with their shapes."""
    return sha256(b"".join(str(one.shape).encode() + one.tobytes() for one in arrays)).digest()


def _bodies(vectors: FloatArray, is_body: npt.NDArray[np.bool_], starts: npt.NDArray[np.int64]) -> FloatArray:
    """float32[p, d]: of each passage the vector of its text; the first one where it has none."""
    ends = np.r_[starts[1:], len(vectors)]
    chosen = [
        start + int(np.argmax(is_body[start:end])) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    return vectors[chosen]


def _embedded(questions: Sequence[str], scope: Scope) -> FloatArray:
    """float32[q, 768]."""
    starts = range(0, len(questions), EMBEDDED_AT_ONCE)
    parts = [question_vectors(questions[start : start + EMBEDDED_AT_ONCE], scope=scope) for start in starts]
    return np.vstack([np.zeros((0, space_dimensions(scope=scope)), np.float32), *parts])
