"""Trainings that learn from pairs of a set: the pairs are collected, then what a search confuses with each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, TypeVar

from evaluation.services.adapter_negatives import NegativesSearch
from evaluation.services.adapter_pairs import ORIGINS, PairCollection
from evaluation.services.adapter_passages import SetPassages
from evaluation.services.trainings import TrainingWork
from knowledge.models.trainings import PairTraining
from ragcore.errors import PermanentError
from work.kinds import Checkpoint
from work.models import Job

RowT = TypeVar("RowT", bound=PairTraining)
LEAST_PAIRS = 20
COLLECTING, SEARCHING = b"c", b"s"  # beginnings of stored states, until the version has its pairs


class PairWork(TrainingWork[RowT]):
    """One slice's part of a training whose version has a set, origins and pairs."""

    error: ClassVar[type[PermanentError]]  # with the reasons "empty" and "few"

    def __init__(self, job: Job, row: RowT) -> None:
        super().__init__(job, row)
        self.home = row.knowledge_set

    def pairs(self) -> Iterator[Checkpoint]:
        """Pairs, then what a search confuses with each of them. Raises the error of its kind where they are too few."""
        passages = SetPassages(scope=self.scope, set_id=self.home.pk)
        if not passages.rows().exists():
            raise self.error("empty")
        state = bytes(self.row.checkpoint) if self.row.checkpoint is not None else b""
        if state.startswith(SEARCHING):
            search = NegativesSearch.unpacked(state.removeprefix(SEARCHING))
        else:
            collection = self._collection(state.removeprefix(COLLECTING) or None)
            yield from self._collecting(collection)
            result = collection.result()
            search = NegativesSearch(result.pairs, result.dropped)
            yield self._searched(search)
        while not search.is_over:
            search.advance(passages)
            if self.is_due():
                yield self._searched(search)
        if len(search.stored) < LEAST_PAIRS:
            raise self.error("few", found=len(search.stored), least=LEAST_PAIRS)
        self.row.pairs, self.row.checkpoint = search.stored, None
        self.row.figures = {"pairs": _counts(search.stored), "dropped": dict(search.dropped)}
        values = {"pairs": search.stored, "figures": self.row.figures, "checkpoint": None}
        yield self.checkpoint({"pairs": len(search.stored)}, values=values)

    def _collection(self, stored: bytes | None) -> PairCollection:
        return PairCollection(scope=self.scope, home=self.home, origins=self.row.origins, stored=stored)

    def _collecting(self, collection: PairCollection) -> Iterator[Checkpoint]:
        while not collection.is_over:
            collection.advance()
            if self.is_due():
                reached = {"found": collection.found}
                yield self.checkpoint(reached, figures=reached, values={"checkpoint": COLLECTING + collection.packed()})

    def _searched(self, search: NegativesSearch) -> Checkpoint:
        reached = {"searched": search.place, "to_search": len(search.pairs)}
        return self.checkpoint(reached, figures=reached, values={"checkpoint": SEARCHING + search.packed()})


def _counts(stored: Sequence[dict[str, Any]]) -> dict[str, int]:
    return {name: count for name in ORIGINS if (count := sum(pair["origin"] == name for pair in stored))}
