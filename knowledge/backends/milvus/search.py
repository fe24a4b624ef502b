"""The ports of the search over Milvus, within the rights of one asker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from accounts.scope import Scope
from knowledge.backends.errors import BackendTooDeepError
from knowledge.backends.milvus.collection import SEARCH_SECONDS, call, is_lite, number_of
from knowledge.backends.postgres import ScopedLexicalIndex
from knowledge.indexes.visibility import Bounds, Visible
from knowledge.indexes.visible_passages import ConfirmedHit, confirmed_hits_load, document_ids_load
from knowledge.models.index import COARSE_DIMENSIONS
from ragcore.embedding.vectors import question_vectors
from ragcore.ports import FloatArray
from ragcore.types import Hit, Query

WINDOW = 16_384  # the most that Milvus returns for one vector
DEEPER = 4  # times as many are asked for where too many were not confirmed
EACH = 4  # entries that are asked for of each of the chosen passages
NAMED_DOCUMENTS = 2000  # up to which filters that Milvus does not know become a list of documents
MIN_EF = 128

Found = list[list[tuple[int, float]]]  # (entry, score) for each vector, best first


@dataclass(slots=True)
class Reach:
    """What one asker may find; asked for once a question."""

    scope: Scope
    visible: Visible
    known: Bounds | None = None
    documents: list[int] | None = None

    def bounds(self) -> Bounds:
        """Looks up the documents by name, too, where the bounds alone let too much pass and those are few."""
        if self.known is None:
            self.known = self.visible.bounds() if self.visible.bounds else self._widest()
            if not self.known.is_exact and not is_empty(self.known):
                document_ids = document_ids_load(scope=self.scope, visible=self.visible, limit=NAMED_DOCUMENTS + 1)
                self.documents = document_ids if len(document_ids) <= NAMED_DOCUMENTS else None
        return self.known

    def expression(self, **narrower: Any) -> str:
        return expression_of(tenant_id=self.scope.tenant_id, bounds=self.bounds(), documents=self.documents, **narrower)

    def is_empty(self) -> bool:
        return is_empty(self.bounds()) or self.documents == []

    def confirmed(self, rankings: Found) -> dict[int, ConfirmedHit]:
        entries = sorted({entry for ranking in rankings for entry, _ in ranking})
        return confirmed_hits_load(scope=self.scope, visible=self.visible, entries=entries) if entries else {}

    def _widest(self) -> Bounds:
        return Bounds(clearance=self.scope.clearance, sets=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """One field of the collection, and how it is searched."""

    collection: str
    reach: Reach

    def hits(self, vectors: Sequence[Any], *, limit: int, anns_field: str, **narrower: Any) -> list[list[Hit]]:
        """For each vector the best `limit` visible entries, best first.

        Asks again, deeper, where entries that are not visible any more have taken the place of others.
        Raises BackendTooDeepError where that does not help.
        """
        if not len(vectors) or self.reach.is_empty():
            return [[] for _ in vectors]
        expression, window = self.reach.expression(**narrower), limit
        while True:
            window = min(window, WINDOW)
            rankings = self._search_vectors(vectors, window, expression, anns_field)
            confirmed = self.reach.confirmed(rankings)
            ranked = [_ranked(ranking, confirmed, limit) for ranking in rankings]
            short = [
                len(ranking) >= window and len(hits) < limit for ranking, hits in zip(rankings, ranked, strict=True)
            ]
            if not any(short):
                return ranked
            if window >= WINDOW:
                raise BackendTooDeepError
            window *= DEEPER

    def of_chunks(
        self, vector: Any, *, chunks: Sequence[int], limit: int, anns_field: str, **narrower: Any
    ) -> list[Hit]:
        """The best `limit` of these chunks, each with its best visible entry, best first.

        Milvus counts entries, and a passage may have many: chunks that these have pushed out are asked for again.
        Raises BackendTooDeepError where that does not help.
        """
        best: dict[int, Hit] = {}
        missing, window = set(chunks), 0
        while missing and len(best) < limit and not self.reach.is_empty():
            window = min(max(window, EACH * min(limit, len(missing))), WINDOW)
            expression = self.reach.expression(chunks=sorted(missing), **narrower)
            rankings = self._search_vectors([vector], window, expression, anns_field)
            new: dict[int, Hit] = {}
            for hit in _ranked(rankings[0], self.reach.confirmed(rankings), window):
                new.setdefault(hit.chunk, hit)
            best |= new
            missing -= new.keys()
            if len(rankings[0]) < window:  # these were all entries
                break
            if not new and window >= WINDOW:
                raise BackendTooDeepError
            window = 0 if new else window * DEEPER  # entries that are not visible any more have taken all places
        return sorted(best.values(), key=lambda hit: (-hit.score, hit.chunk))[:limit]

    def _search_vectors(self, vectors: Sequence[Any], limit: int, expression: str, anns_field: str) -> Found:
        answers = call(
            "search",
            seconds=SEARCH_SECONDS,
            collection_name=self.collection,
            data=list(vectors),
            anns_field=anns_field,
            limit=limit,
            filter=expression,
            output_fields=["id"],
            search_params={"params": {"ef": max(MIN_EF, limit)} if anns_field == "coarse" else {}},
        )
        return [[(int(hit["id"]), float(hit["distance"])) for hit in answer] for answer in answers]


def _ranked(ranking: Sequence[tuple[int, float]], confirmed: Mapping[int, ConfirmedHit], limit: int) -> list[Hit]:
    """Confirmed hits; what chunk and document they belong to, Postgres has said."""
    hits = [
        Hit(chunk=hit.chunk, document=hit.document, representation=hit.representation, score=score)
        for entry, score in ranking
        if (hit := confirmed.get(entry)) is not None
    ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk))[:limit]


@dataclass(frozen=True, slots=True, kw_only=True)
class MilvusLexicalIndex:
    """LexicalIndex of one asker: the same document sides as in Postgres, and the same query sides."""

    searched: Searched
    postgres: ScopedLexicalIndex

    def weights(self, query: Query) -> dict[str, float]:
        return self.postgres.weights(query)

    def search(self, query: Query, *, limit: int) -> list[Hit]:
        return self.search_many([query], limit=limit)[0]

    def search_many(self, queries: Sequence[Query], *, limit: int) -> list[list[Hit]]:
        """Queries without a known term find nothing and are not sent."""
        sides = [self.postgres.query_side(query).weights for query in queries]
        vectors = [dict(side) for side in sides if side]
        answers = iter(self.searched.hits(vectors, limit=limit, anns_field="sparse"))
        return [[hit for hit in next(answers) if hit.score > 0] if side else [] for side in sides]


@dataclass(frozen=True, slots=True, kw_only=True)
class MilvusVectorIndex:
    """VectorIndex of one asker and one embedding model."""

    searched: Searched
    model: str

    def is_exact(self) -> bool:
        return False  # whole vectors stand on its disk: it compares them for few passages only

    def exact_many(self, queries: Sequence[Query], *, limit: int) -> list[list[Hit]]:
        values = [_sent(vector) for vector in question_vectors(queries)]
        return self.searched.hits(values, limit=limit, anns_field="fine", model=self.model)

    def coarse(self, query: Query, *, limit: int) -> list[Hit]:
        return self.coarse_many([query], limit=limit)[0]

    def coarse_many(self, queries: Sequence[Query], *, limit: int) -> list[list[Hit]]:
        values = [_sent(vector[:COARSE_DIMENSIONS]) for vector in question_vectors(queries)]
        return self.searched.hits(values, limit=limit, anns_field="coarse", model=self.model)

    def prefixes(self, query: Query, *, chunks: Sequence[int]) -> list[Hit]:
        values = _sent(question_vectors([query])[0][:COARSE_DIMENSIONS])
        return self.searched.of_chunks(values, chunks=chunks, limit=len(chunks), anns_field="coarse", model=self.model)

    def fine(self, query: Query, *, chunks: Sequence[int], limit: int) -> list[Hit]:
        values = _sent(question_vectors([query])[0])
        return self.searched.of_chunks(values, chunks=chunks, limit=limit, anns_field="fine", model=self.model)


def _sent(vector: FloatArray) -> Any:
    """In the type of the field."""
    return vector.astype(np.float32 if is_lite() else np.float16)


# ── bounds as a filter expression; numbers only, so nothing can be injected ───────────────────────


def expression_of(
    *,
    tenant_id: int,
    bounds: Bounds,
    documents: Sequence[int] | None = None,
    chunks: Sequence[int] | None = None,
    model: str | None = None,
) -> str:
    """Conditions that everything visible meets; `documents`, `chunks` and `model` narrow them."""
    parts = [f"tenant == {tenant_id:d}", f"clearance <= {bounds.clearance:d}"]
    parts += [f"array_contains_any(sets, {_numbers(group)})" for group in bounds.sets]
    if bounds.tags:
        parts.append(f"array_contains_any(tags, {_numbers([number_of(tag) for tag in bounds.tags])})")
    if documents is not None:
        parts.append(f"document in {_numbers(documents)}")
    if chunks is not None:
        parts.append(f"chunk in {_numbers(chunks)}")
    if model is not None:
        parts.append(f"model == {number_of(model):d}")
    return " and ".join(parts)


def is_empty(bounds: Bounds) -> bool:
    """Whether nothing can be visible: no set of a group is readable."""
    return not all(bounds.sets)


def _numbers(values: Sequence[int]) -> str:
    return f"[{', '.join(f'{value:d}' for value in sorted(set(values)))}]"
