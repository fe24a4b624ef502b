"""Which entries of a set lack a vector by its own model; storing vectors, and deleting those that no set needs.

An entry needs one while its document is in a set that keeps a model (SetEmbedder.HELD), is not deleted, and its version
is the live one. Sets with the same model share the vector of an entry (decision 041).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from knowledge.indexes.binary_vectors import halfvecs_read
from knowledge.indexes.copy import EntryPlace, set_vectors_copy
from knowledge.indexes.embedder_fill import TEXTS, PairedPassages, TextWithout, texts_of_rows
from knowledge.indexes.statements import embedder_vectors_lock, fetch, ids_text
from knowledge.models import SetEmbedder
from ragcore.ports import FloatArray

MISSING_OF = """
NOT EXISTS (SELECT 1 FROM knowledge_setvector v WHERE v.entry_id = e.id AND v.embedding_model = %(model)s)
"""
OF_SET = """
FROM knowledge_document_sets s
JOIN knowledge_document d ON d.id = s.document_id AND d.deleted IS NULL
JOIN knowledge_indexentry e ON e.version_id = d.live_version_id
WHERE s.knowledgeset_id = %(set)s
"""
MISSING = f"SELECT e.id {OF_SET} AND e.id > %(after)s AND {MISSING_OF} ORDER BY e.id LIMIT %(limit)s"  # noqa: S608 - constants
COUNT = f"SELECT count(*) FILTER (WHERE {MISSING_OF}), count(*) {OF_SET}"  # noqa: S608 - constants
TEXTS_OF = f"{TEXTS} WHERE e.id = ANY(%(ids)s::bigint[]) ORDER BY e.id"
HELD = f"""
SELECT e.id, e.chunk_id, e.version_id, e.tenant_id, e.representation FROM knowledge_indexentry e
WHERE e.id = ANY(%(ids)s::bigint[]) AND {MISSING_OF}
ORDER BY e.id FOR KEY SHARE OF e
"""  # noqa: S608 - constants
PAIRED = """
SELECT halfvec_send(a.vector), halfvec_send(b.vector), c.text
FROM knowledge_document_sets s
JOIN knowledge_document d ON d.id = s.document_id AND d.deleted IS NULL
JOIN knowledge_setvector a ON a.version_id = d.live_version_id AND a.embedding_model = %(model)s
JOIN knowledge_wholevector b ON b.entry_id = a.entry_id AND b.embedding_model = %(site)s
JOIN knowledge_chunk c ON c.id = a.chunk_id
WHERE s.knowledgeset_id = %(set)s AND a.representation = 'body'
ORDER BY hashint8(a.entry_id) LIMIT %(limit)s
"""
NEEDED = """
SELECT 1 FROM knowledge_documentversion n
JOIN knowledge_document d ON d.id = n.document_id AND d.live_version_id = n.id AND d.deleted IS NULL
JOIN knowledge_document_sets s ON s.document_id = d.id
JOIN knowledge_setembedder m ON m.knowledge_set_id = s.knowledgeset_id AND m.state = ANY(%(states)s)
WHERE n.id = v.version_id AND m.model = v.embedding_model
"""
OF_MODEL = "v.tenant_id = %(tenant)s AND v.embedding_model = %(model)s AND"
DROP = """
WITH page AS (
    SELECT v.entry_id, v.embedding_model, v.version_id FROM knowledge_setvector v
    WHERE {of_model} v.entry_id > %(after)s ORDER BY v.entry_id LIMIT %(limit)s
), gone AS (
    DELETE FROM knowledge_setvector d USING page v
    WHERE d.entry_id = v.entry_id AND d.embedding_model = v.embedding_model AND NOT EXISTS ({needed})
    RETURNING 1
)
SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM page), coalesce((SELECT max(entry_id) FROM page), 0)
"""


@dataclass(frozen=True, slots=True)
class Dropped:
    """What one page of vectors brought: how many were deleted, and up to which entry all were looked at."""

    count: int
    after: int
    is_last: bool


def set_missing_ids(*, set_id: int, model: str, after: int, limit: int) -> list[int]:
    """The next entries of a set above an id that have no vector of a model, by id."""
    return [int(row[0]) for row in fetch(MISSING, {"set": set_id, "model": model, "after": after, "limit": limit})]


def set_missing_count(*, set_id: int, model: str) -> tuple[int, int]:
    """Entries of a set without a vector of a model, and all of them."""
    missing, total = fetch(COUNT, {"set": set_id, "model": model})[0]
    return int(missing), int(total)


def texts_of_entries(ids: Sequence[int]) -> list[TextWithout]:
    """What an embedder reads of these entries, by id; those that are gone are left out."""
    return texts_of_rows(fetch(TEXTS_OF, {"ids": ids_text(ids)}))


def set_vectors_fill(*, model: str, ids: Sequence[int], vectors: FloatArray) -> int:
    """Store float32[n, 768] of entries; those that are gone or have one are left out. Call in a transaction."""
    embedder_vectors_lock()
    by_id = dict(zip(ids, vectors, strict=True))
    held = fetch(HELD, {"model": model, "ids": ids_text(ids)})
    set_vectors_copy([EntryPlace(*row) for row in held], model=model, vectors=[by_id[row[0]] for row in held])
    return len(held)


def set_passages_paired(*, set_id: int, site_model: str, model: str, limit: int) -> PairedPassages:
    """Bodies of up to `limit` live passages of a set, the same ones each time; `one`: by the site's model."""
    rows = fetch(PAIRED, {"set": set_id, "site": site_model, "model": model, "limit": limit})
    if not rows:
        return PairedPassages(np.zeros((0, 768), np.float32), np.zeros((0, 768), np.float32), [])
    return PairedPassages(
        halfvecs_read([r[1] for r in rows]), halfvecs_read([r[0] for r in rows]), [r[2] for r in rows]
    )


def set_vectors_drop(*, tenant_id: int = 0, model: str = "", after: int = 0, limit: int) -> Dropped:
    """Of the next `limit` vectors above an entry, of a model and tenant or of all, delete those that no set needs.

    Of all: vectors of the last entry may be on two pages, so the next one begins with it again.
    """
    sql = DROP.format(of_model=OF_MODEL if model else "", needed=NEEDED)
    named = {"tenant": tenant_id, "model": model, "after": after, "limit": limit}
    count, seen, last = fetch(sql, {**named, "states": [str(state) for state in SetEmbedder.HELD]})[0]
    return Dropped(int(count), int(last) if model else max(int(last) - 1, after), int(seen) < limit)
