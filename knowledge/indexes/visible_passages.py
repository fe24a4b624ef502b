"""Load passages, document facts and entries of known ids, within the asker's rights."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from accounts.scope import Scope
from knowledge.indexes.corpus_epoch import EpochCache
from knowledge.indexes.statements import fetch, ids_text
from knowledge.indexes.visibility import Visible
from ragcore.types import DocumentFacts, Passage, PassageHead

# ── passages ──────────────────────────────────────────────────────────────────────────────────────


COLUMNS = """c.id, d.id, c.version_id, c.text, d.title, d.external_id, c.heading_path, c.page, c.tokens, c.ordinal,
    c.kind, d.rating, d.weight, (SELECT v.sha256 FROM knowledge_documentversion v WHERE v.id = c.version_id),
    d.metadata->'category', d.metadata->'difficulty'"""
LOAD = """
SELECT {columns}
FROM knowledge_chunk c
JOIN knowledge_document d ON d.live_version_id = c.version_id
WHERE c.id = ANY(%(chunks)s::bigint[]) AND d.id IN ({visible})
""".replace("{columns}", COLUMNS)  # nosec B608 (constants)
NEIGHBOURS = """
SELECT {columns}
FROM knowledge_chunk hit
JOIN knowledge_chunk c ON c.version_id = hit.version_id AND c.heading_path = hit.heading_path
    AND c.ordinal BETWEEN hit.ordinal - %(around)s AND hit.ordinal + %(around)s
    AND c.retired IS NULL AND c.kind = 'body'
JOIN knowledge_document d ON d.live_version_id = c.version_id
WHERE hit.id = ANY(%(chunks)s::bigint[]) AND hit.kind = 'body' AND d.id IN ({visible})
""".replace("{columns}", COLUMNS)  # nosec B608 (constants)
# The smaller side first: sections of the few hits, then the children of these.
SECTIONS = """
WITH hits AS (
    SELECT parent_id, count(*) AS number
    FROM knowledge_chunk
    WHERE id = ANY(%(chunks)s::bigint[]) AND parent_id IS NOT NULL AND kind = 'body' AND retired IS NULL
    GROUP BY parent_id HAVING count(*) >= %(least)s
), sections AS (
    SELECT child.parent_id
    FROM hits JOIN knowledge_chunk child ON child.parent_id = hits.parent_id
    WHERE child.kind = 'body' AND child.retired IS NULL
    GROUP BY child.parent_id, hits.number
    HAVING hits.number > %(share)s * count(*) AND sum(child.tokens) <= %(tokens)s
)
SELECT {columns}, c.parent_id
FROM sections
JOIN knowledge_chunk c ON c.parent_id = sections.parent_id AND c.kind = 'body' AND c.retired IS NULL
JOIN knowledge_document d ON d.live_version_id = c.version_id
WHERE d.id IN ({visible})
ORDER BY c.parent_id, c.ordinal
""".replace("{columns}", COLUMNS)  # nosec B608 (constants)

# Reads at most so many passages of each document, whatever its length.
OF_VERSIONS = """
SELECT {columns}
FROM (SELECT DISTINCT version_id FROM knowledge_chunk WHERE id = ANY(%(chunks)s::bigint[])) hit
JOIN knowledge_document d ON d.live_version_id = hit.version_id
CROSS JOIN LATERAL (
    SELECT body.*
    FROM knowledge_chunk body
    WHERE body.version_id = hit.version_id AND body.kind = 'body' AND body.retired IS NULL
    ORDER BY body.ordinal LIMIT %(most)s
) c
WHERE d.id IN ({visible})
ORDER BY c.version_id, c.ordinal
""".replace("{columns}", COLUMNS)  # nosec B608 (constants)

FACTS = """
SELECT d.id, d.tags, d.metadata,
    jsonb_agg(jsonb_build_array(s.id, s.axis, s.code, s.name) ORDER BY s.id) FILTER (WHERE s.id IS NOT NULL)
FROM knowledge_document d
LEFT JOIN knowledge_document_sets m ON m.document_id = d.id
LEFT JOIN knowledge_knowledgeset s ON s.id = m.knowledgeset_id AND s.id = ANY(%(readable)s)
WHERE d.id = ANY(%(documents)s) AND d.id IN ({visible})
GROUP BY d.id
"""
HEADS = """
SELECT c.id, d.title, c.heading_path, (
    SELECT e.language FROM knowledge_indexentry e WHERE e.chunk_id = c.id AND e.representation = 'body' LIMIT 1
)
FROM knowledge_chunk c
JOIN knowledge_document d ON d.live_version_id = c.version_id
WHERE c.id = ANY(%(chunks)s::bigint[]) AND d.id IN ({visible})
"""
KEPT_RIGHTS = 8  # that differ, in one process
KEPT_HEADS = 10_000  # for each of them, about 2 MB
_heads: EpochCache[dict[int, PassageHead]] = EpochCache(limit=KEPT_RIGHTS)
CONFIRM = """
SELECT e.id, e.chunk_id, d.id, e.representation
FROM knowledge_indexentry e
JOIN knowledge_document d ON d.live_version_id = e.version_id
WHERE e.id = ANY(%(ids)s) AND e.tenant_id = %(tenant)s AND d.id IN ({visible})
"""
DOCUMENTS = "SELECT id FROM knowledge_document WHERE id IN ({visible}) LIMIT %(limit)s"


def passages_load(*, scope: Scope, visible: Visible, chunks: Sequence[int]) -> dict[int, Passage]:
    """Passages by chunk id; chunks that the asker may not see are left out."""
    del scope  # bound in `visible`
    rows = fetch(visible.applied(LOAD), {**visible.params, "chunks": ids_text(chunks)})
    return {row[0]: _passage(row) for row in rows}


def passages_around(*, scope: Scope, visible: Visible, chunks: Sequence[int], around: int) -> list[Passage]:
    """Up to `around` passages before and after each chunk, of its live version and under its headings, each once."""
    del scope  # bound in `visible`
    params = {**visible.params, "chunks": ids_text(chunks), "around": around}
    rows = fetch(visible.applied(NEIGHBOURS), params)
    given_chunks = set(chunks)
    return list({row[0]: _passage(row) for row in rows if row[0] not in given_chunks}.values())


def passages_of_sections(
    *, scope: Scope, visible: Visible, chunks: Sequence[int], max_tokens: int, any_share: bool = False
) -> list[tuple[Passage, ...]]:
    """All passages of each section of which more than half, and at least two, are in `chunks`; in reading order.

    `any_share`: of each section with one of them. Sections of more than `max_tokens` are left out.
    """
    del scope  # bound in `visible`
    limits = {"least": 1, "share": 0.0} if any_share else {"least": 2, "share": 0.5}
    params = {**visible.params, **limits, "chunks": ids_text(chunks), "tokens": max_tokens}
    sections: dict[int, list[Passage]] = defaultdict(list)
    for row in fetch(visible.applied(SECTIONS), params):
        sections[row[-1]].append(_passage(row))
    return [tuple(passages) for passages in sections.values()]


def passages_of_versions(*, scope: Scope, visible: Visible, chunks: Sequence[int], most: int) -> list[Passage]:
    """The first `most` passages of each live version that one of the chunks belongs to, version by version.

    Those of one version come in reading order. Versions that the asker may not see are left out.
    """
    del scope  # bound in `visible`
    params = {**visible.params, "chunks": ids_text(chunks), "most": most}
    return [_passage(row) for row in fetch(visible.applied(OF_VERSIONS), params)]


def _passage(row: Sequence[Any]) -> Passage:
    """Of COLUMNS."""
    return Passage(
        chunk=row[0],
        document=row[1],
        version=row[2],
        text=row[3],
        title=row[4],
        external_id=row[5],
        heading_path=tuple(row[6]),
        page=row[7],
        tokens=row[8],
        ordinal=row[9],
        kind=row[10],
        rating=row[11],
        weight=row[12],
        content=row[13],
        categories=_attribute_values(row[14]),
        difficulty=next(iter(_attribute_values(row[15])), ""),
    )


def _attribute_values(value: str | None) -> tuple[str, ...]:
    """The values of an attribute as JSON; () for a document without it."""
    if value is None or (plain := json.loads(value)) is None:
        return ()
    return tuple(map(str, plain)) if isinstance(plain, list) else (str(plain),)


# ── facts of documents, headings of passages ────────────────────────────────────────────


def facts_load(
    *, scope: Scope, visible: Visible, readable: Sequence[int], documents: Sequence[int]
) -> dict[int, DocumentFacts]:
    """Facts by document id; documents that the asker may not see and sets not in `readable` are left out."""
    del scope  # bound in `visible` and `readable`; asked for so that no caller can forget it
    if not documents:
        return {}
    params = {**visible.params, "readable": list(readable), "documents": sorted(set(documents))}
    rows = fetch(visible.applied(FACTS), params)
    return {row[0]: _facts(row[1], json.loads(row[2]), json.loads(row[3] or "[]")) for row in rows}


def heads_load(*, scope: Scope, visible: Visible, chunks: Sequence[int]) -> dict[int, PassageHead]:
    """Title and headings by chunk id, and the language; chunks that the asker may not see are left out.

    What was read for an asker with the same rights is kept for one corpus epoch.
    """
    cache: dict[int, PassageHead] = {}
    if visible.epoch is not None:
        cache = _heads.get((scope.tenant_id, visible.sql, str(visible.params)), epoch=visible.epoch, make=dict)
    heads = {chunk: head for chunk in chunks if (head := cache.get(chunk)) is not None}
    if missing := [chunk for chunk in chunks if chunk not in heads]:
        rows = fetch(visible.applied(HEADS), {**visible.params, "chunks": ids_text(missing)})
        fresh = {
            chunk: PassageHead(" ".join([title, *headings]), language or "other")
            for chunk, title, headings, language in rows
        }
        if len(cache) + len(fresh) > KEPT_HEADS:
            cache.clear()
        cache.update(fresh)
        heads |= fresh
    return heads


def _facts(tags: Iterable[str], metadata: Mapping[str, Any], sets: Iterable[Sequence[Any]]) -> DocumentFacts:
    values: dict[str, tuple[str, ...]] = {"tag": tuple(tags)}
    ids: list[int] = []
    for key, value in metadata.items():
        values[key] = tuple(map(str, value)) if isinstance(value, list) else (str(value),)
    for set_id, axis, code, name in sets:
        ids.append(set_id)
        kind = f"axis {axis}"
        values[kind] = (*values.get(kind, ()), code, name)
    return DocumentFacts(sets=tuple(ids), values=values)


# ── hits of another search backend, checked against Postgres ────────────────────────────────


@dataclass(frozen=True, slots=True)
class ConfirmedHit:
    """An entry that is there, live, and visible to the asker."""

    id: int
    chunk: int
    document: int
    representation: str


def confirmed_hits_load(*, scope: Scope, visible: Visible, entries: Sequence[int]) -> dict[int, ConfirmedHit]:
    """The entries that the asker may find now, by id."""
    params = {**visible.params, "tenant": scope.tenant_id, "ids": list(entries)}
    return {row[0]: ConfirmedHit(*row) for row in fetch(visible.applied(CONFIRM), params)}


def document_ids_load(*, scope: Scope, visible: Visible, limit: int) -> list[int]:
    """Ids of visible documents, at most `limit`."""
    del scope  # bound in `visible`
    return [row[0] for row in fetch(DOCUMENTS.format(visible=visible.sql), {**visible.params, "limit": limit})]
