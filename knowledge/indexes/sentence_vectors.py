"""The vectors of the sentences of passages: which passages lack them, storing and loading them (decision 048).

A passage has them while it has entries: whoever deletes its entries deletes them (`entries_remove`, `entries_purge`).
They are never searched, only looked up for passages that a search has found.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from accounts.scope import Scope
from knowledge.indexes.statements import embedder_vectors_lock, execute, fetch, ids_text
from knowledge.indexes.visibility import Visible
from knowledge.models import PassageSentences
from ragcore.ports import SentenceEmbedder
from ragcore.types import Passage
from ragcore.types.sentence_vectors import SentenceVectors

logger = logging.getLogger(__name__)

STORED_AT_ONCE = 200  # rows of some kilobytes

# A page at a time, so that the cost of a statement does not grow with what has been done.
MISSING = """
WITH page AS (
    SELECT DISTINCT e.chunk_id FROM knowledge_indexentry e WHERE e.chunk_id > %(after)s
    ORDER BY e.chunk_id LIMIT %(limit)s
)
SELECT coalesce(max(p.chunk_id), 0), array_agg(p.chunk_id ORDER BY p.chunk_id) FILTER (WHERE s.chunk_id IS NULL)
FROM page p
LEFT JOIN knowledge_passagesentences s
    ON s.chunk_id = p.chunk_id AND s.embedding_model = %(model)s AND s.space = %(space)s
"""
LIVE = """
FROM knowledge_chunk c
JOIN knowledge_document d ON d.live_version_id = c.version_id AND d.deleted IS NULL
WHERE c.id = ANY(%(chunks)s::bigint[]) AND c.retired IS NULL
"""
TEXTS = f"SELECT c.id, c.version_id, d.id, d.title, c.heading_path, c.text {LIVE} ORDER BY c.id"
# Who waits for a passage here could hold one that an edit waits for. What is being edited gets its vectors by the edit.
HELD = f"""
SELECT c.id, c.version_id, d.tenant_id {LIVE}
    AND EXISTS (SELECT 1 FROM knowledge_indexentry e WHERE e.chunk_id = c.id)
    AND NOT EXISTS (
        SELECT 1 FROM knowledge_passagesentences s
        WHERE s.chunk_id = c.id AND s.embedding_model = %(model)s AND s.space = %(space)s
    )
ORDER BY c.id FOR SHARE OF c SKIP LOCKED
"""  # noqa: S608 - constants
OUTDATED_DELETE = """
DELETE FROM knowledge_passagesentences
WHERE chunk_id = ANY(%(chunks)s::bigint[]) AND embedding_model = %(model)s AND space <> %(space)s
"""
LOAD = """
SELECT s.chunk_id, s.keys, s.numbers
FROM knowledge_passagesentences s
JOIN knowledge_document d ON d.live_version_id = s.version_id
WHERE s.chunk_id = ANY(%(chunks)s::bigint[]) AND s.embedding_model = %(model)s AND s.space = %(space)s
    AND s.tenant_id = %(tenant)s AND d.id IN ({visible}) AND octet_length(s.keys) > 0
"""


@dataclass(frozen=True, slots=True)
class SentenceSpace:
    """Vectors of sentences can be compared with a question and with each other within a space of an embedding model."""

    model: str
    name: str


@dataclass(frozen=True, slots=True)
class EmbeddedSentences:
    """The vectors of the sentences of one passage."""

    space: SentenceSpace
    vectors: SentenceVectors


def space_of(embedder: SentenceEmbedder) -> SentenceSpace:
    """Where the vectors that an embedder gives to sentences are comparable."""
    return SentenceSpace(embedder.model, embedder.sentence_space)


@dataclass(frozen=True, slots=True)
class PassagesWithout:
    """Passages of one page that have no vectors of their sentences, and the last one of the page; 0: there is none."""

    chunks: Sequence[int]
    last: int


def passages_without(space: SentenceSpace, *, after: int, limit: int) -> PassagesWithout:
    """Of the next `limit` passages that have entries, above an id and of all tenants, those without vectors, by id.

    Those of former versions, which need none, are among them.
    """
    params = {"model": space.model, "space": space.name, "after": after, "limit": limit}
    last, chunks = fetch(MISSING, params)[0]
    return PassagesWithout(chunks or [], int(last))


def passages_of(chunks: Sequence[int]) -> list[Passage]:
    """Text, title and headings of these passages, by id; those that are gone or not live are left out."""
    rows = fetch(TEXTS, {"chunks": ids_text(chunks)})
    return [
        Passage(chunk=row[0], version=row[1], document=row[2], title=row[3], heading_path=tuple(row[4]), text=row[5])
        for row in rows
    ]


def newest_passage() -> int:
    """The highest id of a passage; 0 where there is none."""
    return int(fetch("SELECT coalesce(max(id), 0) FROM knowledge_chunk", {})[0][0])


@dataclass(frozen=True, slots=True)
class PassagePlace:
    """Where a passage belongs: what the table of sentences repeats of it."""

    chunk_id: int
    version_id: int
    tenant_id: int


def sentences_store(rows: Sequence[tuple[PassagePlace, EmbeddedSentences]]) -> None:
    """Store the vectors of passages that are written in this transaction; those that are there already stay."""
    rows_to_store = []
    for place, sentences in rows:
        keys, numbers = sentences.vectors.packed()
        rows_to_store.append(
            PassageSentences(
                chunk_id=place.chunk_id,
                version_id=place.version_id,
                tenant_id=place.tenant_id,
                embedding_model=sentences.space.model,
                space=sentences.space.name,
                keys=keys,
                numbers=numbers,
            )
        )
    PassageSentences.objects.bulk_create(rows_to_store, batch_size=STORED_AT_ONCE, ignore_conflicts=True)


def sentences_fill(vectors: Mapping[int, EmbeddedSentences]) -> int:
    """Store the vectors of passages that exist, of one space, by passage; returns of how many. Call in a transaction.

    Passages that are gone, being changed, or have their vectors are left out. Vectors of another space of the model go.
    """
    embedder_vectors_lock()
    space = next(iter(vectors.values())).space
    params = {"model": space.model, "space": space.name, "chunks": ids_text(vectors)}
    places = [PassagePlace(*row) for row in fetch(HELD, params)]
    execute(OUTDATED_DELETE, {**params, "chunks": ids_text(place.chunk_id for place in places)})
    sentences_store([(place, vectors[place.chunk_id]) for place in places])
    return len(places)


def sentences_load(
    *, scope: Scope, visible: Visible, space: SentenceSpace, chunks: Sequence[int]
) -> dict[int, SentenceVectors]:
    """By passage; those that have none, or that the asker may not see, are left out."""
    params = {
        **visible.params,
        "tenant": scope.tenant_id,
        "model": space.model,
        "space": space.name,
        "chunks": ids_text(chunks),
    }
    loaded: dict[int, SentenceVectors] = {}
    for chunk, keys, numbers in fetch(visible.applied(LOAD), params):
        try:
            loaded[chunk] = SentenceVectors.unpacked(bytes(keys), bytes(numbers))
        except ValueError as error:
            logger.warning("vectors of the sentences of passage %d are damaged: %s", chunk, error)
    return loaded
