"""Another backend first, Postgres where it fails: entries stay there, so an answer is only slower."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from knowledge.backends.errors import BackendRefusedError, BackendTooDeepError, BackendUnavailableError
from ragcore.ports import LexicalIndex, VectorIndex
from ragcore.types import Hit, Query

logger = logging.getLogger(__name__)

T = TypeVar("T")
FAILURES = (BackendUnavailableError, BackendRefusedError, BackendTooDeepError)


@dataclass(frozen=True, slots=True)
class Report:
    """What a trace says about the backend: its name, and for each arm that fell back why."""

    said: dict[str, Any]

    def first_or(self, arm: str, first: Callable[[], T], second: Callable[[], T]) -> T:
        """The first answer, or the second one with the reason in the report."""
        try:
            return first()
        except FAILURES as error:
            logger.warning("%s is searched in Postgres: %s", arm, error.message)
            self.said["fallback"] = {**self.said.get("fallback", {}), arm: error.code}
            return second()


@dataclass(frozen=True, slots=True, kw_only=True)
class FallingBackLexicalIndex:
    """LexicalIndex; the query side comes from Postgres in any case."""

    first: LexicalIndex
    postgres: LexicalIndex
    report: Report

    def weights(self, query: Query) -> dict[str, float]:
        return self.postgres.weights(query)

    def search(self, query: Query, *, limit: int) -> list[Hit]:
        return self.report.first_or(
            "lexical",
            lambda: self.first.search(query, limit=limit),
            lambda: self.postgres.search(query, limit=limit),
        )

    def search_many(self, queries: Sequence[Query], *, limit: int) -> list[list[Hit]]:
        return self.report.first_or(
            "lexical",
            lambda: self.first.search_many(queries, limit=limit),
            lambda: self.postgres.search_many(queries, limit=limit),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FallingBackVectorIndex:
    """VectorIndex."""

    first: VectorIndex
    postgres: VectorIndex
    report: Report

    def is_exact(self) -> bool:
        return self.first.is_exact()

    def exact_many(self, queries: Sequence[Query], *, limit: int) -> list[list[Hit]]:
        return self.report.first_or(
            "dense",
            lambda: self.first.exact_many(queries, limit=limit),
            lambda: self.postgres.exact_many(queries, limit=limit),
        )

    def coarse(self, query: Query, *, limit: int) -> list[Hit]:
        return self.report.first_or(
            "coarse",
            lambda: self.first.coarse(query, limit=limit),
            lambda: self.postgres.coarse(query, limit=limit),
        )

    def coarse_many(self, queries: Sequence[Query], *, limit: int) -> list[list[Hit]]:
        return self.report.first_or(
            "coarse",
            lambda: self.first.coarse_many(queries, limit=limit),
            lambda: self.postgres.coarse_many(queries, limit=limit),
        )

    def prefixes(self, query: Query, *, chunks: Sequence[int]) -> list[Hit]:
        return self.report.first_or(
            "coarse",
            lambda: self.first.prefixes(query, chunks=chunks),
            lambda: self.postgres.prefixes(query, chunks=chunks),
        )

    def fine(self, query: Query, *, chunks: Sequence[int], limit: int) -> list[Hit]:
        return self.report.first_or(
            "dense",
            lambda: self.first.fine(query, chunks=chunks, limit=limit),
            lambda: self.postgres.fine(query, chunks=chunks, limit=limit),
        )
