"""Entries of single passages, counted in and out of the lexical statistics. Call under the lock of the statistics."""

from __future__ import annotations

from collections.abc import Sequence

from knowledge.indexes.rows import execute
from knowledge.indexes.statistics import passages_count

__all__ = ["entries_remove", "passages_count"]

DELETE = "DELETE FROM knowledge_indexentry WHERE chunk_id = ANY(%(chunks)s)"


def entries_remove(*, tenant_id: int, chunk_ids: Sequence[int]) -> int:
    """Count out and delete the entries of passages of live versions; returns how many."""
    passages_count(tenant_id=tenant_id, chunk_ids=chunk_ids, sign=-1)
    return execute(DELETE, {"chunks": list(chunk_ids)})
