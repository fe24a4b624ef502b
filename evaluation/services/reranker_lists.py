"""What a fit of reranker weights has collected and tried so far, and how that is stored between two workers.

The questions stand with it, because cases and votes change meanwhile and the next worker goes on with the same ones.
They are people's words: everything here goes with the end of the fit. The size is bounded by the number of questions
(MOST_CASES of golden sets, and what `useful_sources` reads of use) times the candidates of each: 4000 questions with 50
candidates and 15 features are 12 MB before they are compressed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt

from knowledge.model_registry import live_model
from ragcore.ports import FloatArray
from ragcore.reranking.linear import FEATURES, LinearReranker, design
from ragcore.training.reranker_fitting import STRENGTHS, CrossFitting, RankedList


@dataclass(frozen=True, slots=True)
class FitQuestion:
    """A question, the documents that are right, and the sets that it asks; none: all that may be asked."""

    question: str
    documents: tuple[int, ...]
    sets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FeatureList:
    """The candidates of a question in fused order: float32[n, f] and which of them are relevant, bool[n]."""

    features: FloatArray
    cjk_share: float  # of the question
    relevant: npt.NDArray[np.bool_]
    wanted: int  # relevant documents that exist

    def ranked(self) -> RankedList:
        """As weights are fitted to it."""
        return RankedList("", design(self.features, self.cjk_share), self.relevant, self.wanted)


@dataclass(slots=True, kw_only=True)
class FitProgress:
    """The state of a fit. `place`: questions that are searched; `at`: of each list, which question it is of."""

    questions: Sequence[FitQuestion]
    place: int = 0
    lists: list[FeatureList] = field(default_factory=list)
    at: list[int] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    touches: npt.NDArray[np.bool_] | None = None  # bool[lists, folds], once all questions are searched
    table: npt.NDArray[np.float64] | None = None  # of `CrossFitting`
    fits: int = 0  # that are done

    def add(self, found: FeatureList | None) -> None:
        """What came of the next question; None: nothing can be learnt from it."""
        question = self.questions[self.place]
        if found is not None:
            self.lists.append(found)
            self.at.append(self.place)
        else:
            self.dropped["not_found" if question.documents else "no_document"] += 1
        self.place += 1

    def documents(self) -> list[tuple[int, ...]]:
        """Of each list, the documents that its question is about."""
        return [self.questions[at].documents for at in self.at]

    def groups(self, group_of: Mapping[int, Hashable]) -> list[list[Hashable]]:
        """The same as groups of documents that stay together."""
        return [[group_of.get(one, one) for one in documents] for documents in self.documents()]

    def counted(self) -> dict[str, Any]:
        """As the row keeps it."""
        return {"lists": len(self.lists), "dropped": dict(self.dropped)}

    def take(self, fitting: CrossFitting) -> None:
        """Keep what was tried."""
        self.touches, self.table, self.fits = fitting.touches, fitting.table, fitting.place

    def packed(self) -> bytes:
        """As a checkpoint."""
        told = {
            "made_with": _made_with(),
            "questions": [[one.question, one.documents, one.sets] for one in self.questions],
            "place": self.place,
            "dropped": dict(self.dropped),
            "fits": self.fits,
        }
        arrays: dict[str, Any] = {
            "told": np.frombuffer(json.dumps(told).encode(), np.uint8),
            "at": np.array(self.at, np.int64),
            "sizes": np.array([len(one.relevant) for one in self.lists], np.int64),
            "shares": np.array([one.cjk_share for one in self.lists], np.float64),
            "wanted": np.array([one.wanted for one in self.lists], np.int64),
            "features": np.vstack([np.zeros((0, len(FEATURES)), np.float32), *(one.features for one in self.lists)]),
            "relevant": np.concatenate([np.zeros(0, bool), *(one.relevant for one in self.lists)]),
        }
        if self.touches is not None and self.table is not None:
            arrays |= {"touches": self.touches, "table": self.table}
        stream = BytesIO()
        np.savez_compressed(stream, **arrays)
        return stream.getvalue()


def progress_unpack(checkpoint: bytes) -> FitProgress | None:
    """The state of a fit; None where another release with other features or packaged weights has stored it."""
    with np.load(BytesIO(checkpoint), allow_pickle=False) as stored:
        told = json.loads(stored["told"].tobytes())
        if told["made_with"] != _made_with():
            return None
        cuts = np.cumsum(stored["sizes"])[:-1]
        parts = zip(
            np.split(stored["features"], cuts),
            stored["shares"].tolist(),
            np.split(stored["relevant"], cuts),
            stored["wanted"].tolist(),
            strict=False,  # of no list at all there is one empty part
        )
        return FitProgress(
            questions=[FitQuestion(text, tuple(right), tuple(sets)) for text, right, sets in told["questions"]],
            place=told["place"],
            lists=[FeatureList(*part) for part in parts],
            at=stored["at"].tolist(),
            dropped=Counter(told["dropped"]),
            touches=stored.get("touches"),
            table=stored.get("table"),
            fits=told["fits"],
        )


def packaged_weights() -> FloatArray:
    """float32[2f], near to which weights are fitted: those for the embedding model in use."""
    return np.array(LinearReranker.shipped(live_model()).weights, dtype=np.float32)


def _made_with() -> list[Any]:
    """What a state can be continued with; plain values, as JSON gives them back."""
    return [list(FEATURES), [round(float(weight), 6) for weight in packaged_weights()], list(STRENGTHS)]
