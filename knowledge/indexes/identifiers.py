"""Ids taken from their sequence before the rows are written, so that rows can point to each other."""

from __future__ import annotations

from knowledge.indexes.rows import fetch

CHUNK_IDS = """
SELECT nextval(pg_get_serial_sequence('knowledge_chunk', 'id')) FROM generate_series(1, %(count)s)
"""


def chunk_ids(count: int) -> list[int]:
    """This many fresh chunk ids, ascending."""
    return sorted(row[0] for row in fetch(CHUNK_IDS, {"count": count}))
