"""Searching in Postgres, within the rights of one asker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from django.db import transaction

from accounts.scope import Scope
from knowledge.indexes.fuzzy import characters_between, terms_alike, terms_unseen, titles_near
from knowledge.indexes.lexical import LexicalQuery, lexical_many_search, lexical_query
from knowledge.indexes.names import documents_named
from knowledge.indexes.search_space import PlannedHits
from knowledge.indexes.sentence_vectors import SentenceSpace, sentences_load
from knowledge.indexes.vectors import VectorSearch, fine_search, vector_search
from knowledge.indexes.visibility import Visible
from knowledge.indexes.visible_passages import (
    facts_load,
    heads_load,
    passages_around,
    passages_load,
    passages_of_sections,
)
from knowledge.selectors import sets_readable
from knowledge.selectors.relations import Newer, replaced_by
from ragcore.embedding.vectors import question_vectors
from ragcore.ports import Embedder, FloatArray
from ragcore.types import DocumentFacts, Expansion, Hit, NamedDocument, NameMention, Passage, PassageHead, Query
from ragcore.types.sentence_vectors import SENTENCE_DIMENSIONS, SentenceVectors

Corrections = tuple[tuple[str, tuple[tuple[str, float], ...]], ...]
Asked = tuple[tuple[str, ...], Corrections, tuple[Expansion, ...]]


def plan_note(found: PlannedHits, start: float) -> dict[str, object]:
    """The way that a search went and its milliseconds, for the trace."""
    return {**found.plan.as_note(), "ms": round(1000 * (perf_counter() - start), 2)}


@dataclass(slots=True)
class ScopedLexicalIndex:
    """LexicalIndex of one asker; the terms of each question are looked up once."""

    scope: Scope
    visible: Visible
    looked_up: dict[Asked, LexicalQuery] = field(default_factory=dict, compare=False)
    said: dict[str, Any] = field(default_factory=dict, compare=False)  # for the trace: which way was taken, and why

    def weights(self, query: Query) -> dict[str, float]:
        return dict(self.query_side(query).idf)

    def search(self, query: Query, *, limit: int) -> list[Hit]:
        return self.search_many([query], limit=limit)[0]

    def search_many(self, queries: Sequence[Query], *, limit: int) -> list[list[Hit]]:
        sides = [self.query_side(query) for query in queries]
        start = perf_counter()
        found = lexical_many_search(scope=self.scope, visible=self.visible, queries=sides, limit=limit)
        if found:
            self.said["lexical_plan"] = plan_note(found[0], start)
        return [one.hits for one in found]

    def query_side(self, query: Query) -> LexicalQuery:
        """The terms of a question with their idf, the same for every backend."""
        corrections = tuple((wrong, tuple(known.items())) for wrong, known in query.corrections.items())
        asked = (query.terms, corrections, query.expansions)
        if asked not in self.looked_up:
            self.looked_up[asked] = lexical_query(
                scope=self.scope,
                terms=query.terms,
                corrections=query.corrections,
                expansions=query.expansions,
                visible=self.visible,
            )
        return self.looked_up[asked]


@dataclass(slots=True)
class ScopedVectorIndex:
    """VectorIndex of one asker and one embedding model, for one search."""

    scope: Scope
    visible: Visible
    model: str
    said: dict[str, Any] = field(default_factory=dict, compare=False)  # for the trace: which way was taken, and why
    search: VectorSearch | None = field(default=None, compare=False)  # looked up once

    def is_exact(self) -> bool:
        return self._search().plan().path != "index"

    def exact_many(self, queries: Sequence[Query], *, limit: int) -> list[list[Hit]]:
        start = perf_counter()
        return self._noted(self._search().exact(question_vectors(queries), limit=limit), start)

    def coarse(self, query: Query, *, limit: int) -> list[Hit]:
        return self.coarse_many([query], limit=limit)[0]

    def coarse_many(self, queries: Sequence[Query], *, limit: int) -> list[list[Hit]]:
        start = perf_counter()
        return self._noted(self._search().coarse(question_vectors(queries), limit=limit), start)

    def _search(self) -> VectorSearch:
        if self.search is None:
            self.search = vector_search(scope=self.scope, visible=self.visible, model=self.model)
        return self.search

    def _noted(self, found: list[PlannedHits], start: float) -> list[list[Hit]]:
        if found:
            self.said["vector_plan"] = plan_note(found[0], start)
        return [one.hits for one in found]

    def prefixes(self, query: Query, *, chunks: Sequence[int]) -> list[Hit]:
        return self._search().prefixes(question_vectors([query])[0], chunks=chunks)

    def fine(self, query: Query, *, chunks: Sequence[int], limit: int) -> list[Hit]:
        return fine_search(
            scope=self.scope,
            visible=self.visible,
            vector=question_vectors([query])[0],
            model=self.model,
            chunks=chunks,
            limit=limit,
        )


@dataclass(frozen=True, slots=True)
class ScopedPassageStore:
    """PassageStore of one asker."""

    scope: Scope
    visible: Visible
    newer: Newer = field(default_factory=dict, compare=False)  # of documents that were loaded, each looked up once

    def load(self, chunks: Sequence[int]) -> dict[int, Passage]:
        passages = passages_load(scope=self.scope, visible=self.visible, chunks=chunks)
        if not self.visible.has_editions:
            return passages
        if documents := {passage.document for passage in passages.values()} - self.newer.keys():
            newer = replaced_by(scope=self.scope, visible=self.visible, documents=documents)
            self.newer.update({document: newer.get(document) for document in documents})
        return {
            chunk: replace(passage, replaced_by=later) if (later := self.newer[passage.document]) else passage
            for chunk, passage in passages.items()
        }

    def neighbours(self, chunks: Sequence[int], *, around: int) -> list[Passage]:
        return passages_around(scope=self.scope, visible=self.visible, chunks=chunks, around=around)

    def siblings(self, chunks: Sequence[int], *, max_tokens: int) -> list[tuple[Passage, ...]]:
        return passages_of_sections(scope=self.scope, visible=self.visible, chunks=chunks, max_tokens=max_tokens)


# ── words, titles and facts, whatever backend searches the vectors ────────────────────────────────


@dataclass(frozen=True, slots=True)
class ScopedFuzzyIndex:
    """FuzzyIndex of one asker."""

    scope: Scope
    visible: Visible

    @transaction.atomic
    def unseen(self, words: Sequence[str]) -> set[str]:
        return terms_unseen(scope=self.scope, visible=self.visible, words=words)

    @transaction.atomic
    def alike(self, words: Sequence[str], *, limit: int) -> dict[str, dict[str, float]]:
        return terms_alike(scope=self.scope, visible=self.visible, words=words, limit=limit)

    @transaction.atomic
    def between(self, pairs: Sequence[str], *, before: str, after: str, limit: int) -> dict[str, int]:
        return characters_between(
            scope=self.scope, visible=self.visible, pairs=pairs, before=before, after=after, limit=limit
        )

    @transaction.atomic
    def titles(self, text: str, *, least: float) -> list[Hit]:
        return titles_near(scope=self.scope, visible=self.visible, text=text, least=least)


@dataclass(frozen=True, slots=True)
class ScopedNameIndex:
    """NameIndex of one asker."""

    scope: Scope
    visible: Visible

    def named(self, mentions: Sequence[NameMention]) -> list[tuple[NamedDocument, ...]]:
        return documents_named(scope=self.scope, visible=self.visible, mentions=mentions)


@dataclass(frozen=True, slots=True)
class ScopedFactsIndex:
    """FactsIndex of one asker; of the sets of a document those count that the asker may read."""

    scope: Scope
    visible: Visible

    @transaction.atomic
    def documents(self, documents: Sequence[int]) -> dict[int, DocumentFacts]:
        return facts_load(scope=self.scope, visible=self.visible, readable=self._readable(), documents=documents)

    def heads(self, chunks: Sequence[int]) -> dict[int, PassageHead]:
        return heads_load(scope=self.scope, visible=self.visible, chunks=chunks)

    def _readable(self) -> Sequence[int]:
        if self.visible.readable is not None:
            return self.visible.readable
        return list(sets_readable(scope=self.scope).order_by().values_list("pk", flat=True))


@dataclass(frozen=True, slots=True)
class ScopedSentenceIndex:
    """SentenceIndex of one asker and the embedding model that answers; `questions` embeds a question once."""

    scope: Scope
    visible: Visible
    space: SentenceSpace
    questions: Embedder

    def question_vector(self, text: str) -> FloatArray:
        vector = self.questions.embed_queries([text])[0][:SENTENCE_DIMENSIONS]
        return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-9), np.float32)

    def vectors(self, chunks: Sequence[int]) -> dict[int, SentenceVectors]:
        return sentences_load(scope=self.scope, visible=self.visible, space=self.space, chunks=chunks)
