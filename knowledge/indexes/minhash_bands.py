"""Bands of MinHash sketches, and which live versions share one, or the text, with others: a batch a statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from knowledge.indexes.statements import execute, fetch, ids_text

REMOVE = """
DELETE FROM knowledge_sketchband WHERE version_id IN (
    SELECT id FROM knowledge_documentversion WHERE document_id = ANY(%(documents)s::bigint[])
)
"""
STORE = """
INSERT INTO knowledge_sketchband (tenant_id, version_id, band, value)
SELECT %(tenant)s, * FROM unnest(%(versions)s::bigint[], %(bands)s::smallint[], %(values)s::bigint[])
ON CONFLICT DO NOTHING
"""
# version by version, so that many texts of one template need no more memory than one of them
SHARING = """
SELECT mine.version, sharing.version_id
FROM unnest(%(versions)s::bigint[]) AS mine (version), LATERAL (
    SELECT other.version_id
    FROM knowledge_sketchband own
    JOIN knowledge_sketchband other
      ON other.tenant_id = own.tenant_id AND other.band = own.band AND other.value = own.value
    WHERE own.version_id = mine.version AND other.version_id <> mine.version
    GROUP BY other.version_id ORDER BY count(*) DESC, other.version_id LIMIT %(limit)s
) sharing
"""
# of n copies only the two oldest of each set, and of all, are looked at: one of them is not the document itself
COPIES = """
WITH same AS MATERIALIZED (
    SELECT d.id AS document, v.text_sha256 AS text
    FROM knowledge_document d JOIN knowledge_documentversion v ON v.id = d.live_version_id
    WHERE d.tenant_id = %(tenant)s AND d.deleted IS NULL AND v.text_sha256 <> ''
      AND v.text_sha256 IN (SELECT text_sha256 FROM knowledge_documentversion WHERE id = ANY(%(versions)s::bigint[]))
), mine AS (
    SELECT v.document_id AS document, v.text_sha256 AS text
    FROM knowledge_documentversion v WHERE v.id = ANY(%(versions)s::bigint[]) AND v.text_sha256 <> ''
), of_all AS (
    SELECT document, text, row_number() OVER (PARTITION BY text ORDER BY document) AS place FROM same
), of_a_set AS (
    SELECT s.document, s.text, m.knowledgeset_id AS set,
        row_number() OVER (PARTITION BY s.text, m.knowledgeset_id ORDER BY s.document) AS place
    FROM same s JOIN knowledge_document_sets m ON m.document_id = s.document
)
SELECT mine.document, min(o.document)
FROM mine JOIN of_all o ON o.text = mine.text AND o.place <= 2 AND o.document <> mine.document
GROUP BY mine.document
UNION
SELECT mine.document, min(o.document)
FROM mine
JOIN knowledge_document_sets m ON m.document_id = mine.document
JOIN of_a_set o ON o.text = mine.text AND o.set = m.knowledgeset_id AND o.place <= 2 AND o.document <> mine.document
GROUP BY mine.document
"""


def bands_replace(*, tenant_id: int, documents: Sequence[int], bands: Mapping[int, Sequence[int]]) -> None:
    """Store the bands of versions, by version id, in place of all that were stored of any version of the documents."""
    execute(REMOVE, {"documents": ids_text(documents)})
    rows = [(version, number, value) for version, values in bands.items() for number, value in enumerate(values)]
    if rows:
        versions, numbers, values = (ids_text(column) for column in zip(*rows, strict=True))
        execute(STORE, {"tenant": tenant_id, "versions": versions, "bands": numbers, "values": values})


def versions_sharing_a_band(version_ids: Sequence[int], *, limit: int) -> dict[int, list[int]]:
    """For each version the ids of others of its tenant that may be similar, those with most common bands first.

    At most `limit` others each; versions that share no band are left out. Their own bands must be stored.
    """
    candidates: dict[int, list[int]] = {}
    for version, other in fetch(SHARING, {"versions": ids_text(version_ids), "limit": limit}):
        candidates.setdefault(version, []).append(other)
    return candidates


def oldest_copies(version_ids: Sequence[int], *, tenant_id: int) -> dict[int, set[int]]:
    """By document of these versions: of the other live documents with the same text the oldest, and the oldest that
    shares a set with it.
    """
    copies: dict[int, set[int]] = {}
    for document, other in fetch(COPIES, {"versions": ids_text(version_ids), "tenant": tenant_id}):
        copies.setdefault(document, set()).add(other)
    return copies
