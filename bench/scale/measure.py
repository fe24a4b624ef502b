"""What is measured on a large corpus: time per stage, filters, recall of the vectors, agreement of BM25, sizes."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from django.db import connection

from bench.process_figures import resident_bytes
from bench.scale.corpus import draft_made
from bench.scale.load import Corpus
from knowledge.backends import ScopedLexicalIndex, ScopedVectorIndex
from knowledge.indexes.lexical import terms_counted
from knowledge.indexes.visibility import Visible, visible_sql
from knowledge.selectors import documents_askable
from knowledge.services import retrieve
from knowledge.types import RetrievalRequest
from knowledge.wiring import query_of
from ragcore.embedding.vectors import question_vectors
from ragcore.ports import FloatArray
from ragcore.types import Hit, Query
from ragsite.embedded.processes import processes_in

DEPTH, RECALL_AT, OVERLAP_AT = 1500, 100, 10
BM25S_LIMIT = 400_000  # passages; its index of more does not fit beside the database
TIE = 1e-3  # scores nearer than this are equal: ours are stored with four bytes

ARMS = {"lexical_plan": "lexical", "vector_plan": "vectors"}


@dataclass(frozen=True, slots=True)
class Timed:
    """Milliseconds of each part over all questions."""

    parts: Mapping[str, Sequence[float]]
    ways: Mapping[str, str]  # arm -> the way that most questions went
    hits: float  # on average

    def percentile(self, part: str, q: float) -> float:
        return float(np.percentile(self.parts[part], q)) if part in self.parts else 0.0


def questions_chosen(corpus: Corpus, count: int) -> list[str]:
    """The same questions whatever the size."""
    random = np.random.default_rng(3)
    places = random.choice(len(corpus.pool.questions), min(count, len(corpus.pool.questions)), replace=False)
    return [corpus.pool.questions[place] for place in places]


def timed(corpus: Corpus, questions: Sequence[str], *, sets: tuple[int, ...] = ()) -> Timed:
    """Each question twice, of which the second time counts: everything is warm. No answer is kept anywhere."""
    parts: dict[str, list[float]] = defaultdict(list)
    ways: dict[str, list[str]] = defaultdict(list)
    hits = []
    scope = corpus.scope
    for is_measured in (False, True):
        for question in questions:
            start = time.perf_counter()
            done = retrieve(scope=scope, request=RetrievalRequest(query=question, sets=sets))
            total = 1000 * (time.perf_counter() - start)
            if not is_measured:
                continue
            parts["total"].append(total)
            hits.append(len(done.state.pool))
            for record in done.state.records:
                parts[record.stage].append(1000 * record.seconds)
                for note, arm in ARMS.items():
                    if plan := record.note.get(note):
                        parts[arm].append(plan["ms"])
                        ways[arm].append(plan["way"])
    return Timed(parts, {arm: max(set(seen), key=seen.count) for arm, seen in ways.items()}, float(np.mean(hits)))


def counting_ms(corpus: Corpus, questions: Sequence[str], *, sets: tuple[int, ...]) -> list[float]:
    """Milliseconds for the weights of each question whose terms nobody has asked within these sets before."""
    found = []
    for question in questions:
        query = query_of(question)
        terms_counted.clear()
        index = ScopedLexicalIndex(corpus.scope, visible_of(corpus, sets))
        start = time.perf_counter()
        index.weights(query)
        found.append(1000 * (time.perf_counter() - start))
    return found


# ── quality ─────────────────────────────────────────────────────────────────────────────────────


def visible_of(corpus: Corpus, sets: tuple[int, ...] = ()) -> Visible:
    return visible_sql(documents_askable(scope=corpus.scope, sets=sets))


def embedded(questions: Sequence[str], embedder: Any) -> list[Query]:
    vectors = embedder.embed_queries([query_of(q).text for q in questions])
    return [_with_vector(query_of(q), vector) for q, vector in zip(questions, vectors, strict=True)]


def _with_vector(query: Query, vector: FloatArray) -> Query:
    return Query(text=query.text, terms=query.terms, words=query.words, language=query.language, vector=vector)


def recall(corpus: Corpus, queries: Sequence[Query]) -> float:
    """Share of the exactly nearest hundred (768-d) among the best hundred that both stages find."""
    index = ScopedVectorIndex(corpus.scope, visible_of(corpus), corpus.model)
    shares = [
        share_found(nearest, {hit.chunk for hit in nearest_found(index, query, len(nearest))})
        for nearest, query in zip(nearest_exactly(corpus, question_vectors(queries)), queries, strict=True)
    ]
    return float(np.mean(shares))


def nearest_exactly(corpus: Corpus, vectors: FloatArray, *, documents: set[int] | None = None) -> list[set[int]]:
    """The hundred nearest chunks to each row of float32[q, 768], of some documents or of all."""
    ids, kept = np.array(corpus.chunks), np.ones(len(corpus.chunks), dtype=bool)
    if documents is not None:
        kept = np.isin(np.array(corpus.owners), np.array(sorted(documents)))
    scores = np.hstack([vectors @ part.astype(np.float32).T for part in corpus.vectors])[:, kept]
    ids = ids[kept]
    wanted = min(RECALL_AT, len(ids))
    return [set(ids[np.argpartition(-row, wanted - 1)[:wanted]].tolist()) for row in scores]


def share_found(nearest: set[int], found: set[int]) -> float:
    """Of the nearest."""
    return len(found & nearest) / max(len(nearest), 1)


def nearest_found(index: ScopedVectorIndex, query: Query, wanted: int) -> list[Hit]:
    """As a search does it: whole vectors compared, or the second stage among the hits of the HNSW index."""
    if index.is_exact():
        return index.exact_many([query], limit=wanted)[0]
    near = [hit.chunk for hit in index.coarse(query, limit=DEPTH)]
    return index.fine(query, chunks=near, limit=wanted)


def overlap(corpus: Corpus, questions: Sequence[str]) -> float | None:
    """Share of our best ten by BM25 that are among bm25s's best ten or tie with its tenth; None where it is missing."""
    try:
        import bm25s
    except ImportError:
        return None
    if len(corpus.chunks) > BM25S_LIMIT:
        return None
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    reference = Reference.of(corpus, bm25s)
    lexical = ScopedLexicalIndex(corpus.scope, visible_of(corpus))
    shares = []
    for question in questions:
        query = query_of(question)
        hits = [hit.chunk for hit in lexical.search(query, limit=DEPTH)[:OVERLAP_AT]]
        scores = reference.scores(query.terms)
        tenth = np.sort(scores)[-OVERLAP_AT] if len(scores) >= OVERLAP_AT else 0.0
        if tenth > 0:
            shares.append(sum(scores[reference.place[chunk]] >= tenth - TIE for chunk in hits) / OVERLAP_AT)
    return float(np.mean(shares))


@dataclass(frozen=True, slots=True)
class Reference:
    """bm25s over the same terms: statistics per language, as ours are."""

    indexes: Sequence[tuple[Any, np.ndarray]]  # with the places of its passages
    place: Mapping[int, int] = field(repr=False)  # chunk -> place

    @classmethod
    def of(cls, corpus: Corpus, bm25s: Any) -> Reference:
        places: dict[str, list[int]] = defaultdict(list)
        texts: dict[str, list[list[str]]] = defaultdict(list)
        for number in range(len(corpus.chunks)):
            draft = draft_made(corpus.pool, number)
            places[draft.language].append(number)
            texts[draft.language].append(list(draft.terms.elements()))
        indexes = []
        for language, tokens in texts.items():
            index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
            index.index(tokens, show_progress=False)
            indexes.append((index, np.array(places[language])))
        return cls(indexes, {chunk: place for place, chunk in enumerate(corpus.chunks)})

    def scores(self, terms: Sequence[str]) -> np.ndarray:
        """float32[n]: the score of each passage, by place."""
        found = np.zeros(len(self.place), dtype=np.float32)
        for index, places in self.indexes:
            if known := [term for term in terms if term in index.vocab_dict]:
                found[places] = index.get_scores(known)
        return found


# ── sizes ───────────────────────────────────────────────────────────────────────────────────────


def sizes() -> dict[str, int]:
    """Bytes of the index table, of what stands beside its rows, of its indexes, and of PostgreSQL in memory."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_relation_size('knowledge_indexentry'), pg_table_size('knowledge_indexentry'), "
            "pg_table_size('knowledge_wholevector'), "
            "pg_relation_size('knowledge_entry_lexemes'), pg_relation_size('knowledge_entry_coarse'), "
            "pg_database_size(current_database())"
        )
        rows, table, vectors, lexemes, coarse, database = cursor.fetchone()
    folder = Path(settings.DATA_DIR) / "postgres"
    return {
        "rows": rows,
        "beside the rows": table - rows,
        "whole vectors": vectors,
        "word index": lexemes,
        "vector index": coarse,
        "database": database,
        "memory of PostgreSQL": sum(map(resident_bytes, processes_in(folder))),
    }
