"""Changing the collection. Everything here may be repeated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from knowledge.backends.milvus.client import WRITE_SECONDS, call
from knowledge.backends.milvus.collection import COMPARED, row_of
from knowledge.indexes.backend_outbox import LiveEntry

MAX_ROWS = 500  # a request: some 3 MB


def entries_upsert(collection: str, entries: Sequence[LiveEntry]) -> None:
    """Write entries; those with the same ids are replaced."""
    for start in range(0, len(entries), MAX_ROWS):
        rows = [row_of(entry) for entry in entries[start : start + MAX_ROWS]]
        call("upsert", seconds=WRITE_SECONDS, collection_name=collection, data=rows)


def entries_delete(collection: str, ids: Sequence[int]) -> None:
    """Remove entries; unknown ids are no fault."""
    for start in range(0, len(ids), 10 * MAX_ROWS):
        part = list(ids[start : start + 10 * MAX_ROWS])
        call("delete", seconds=WRITE_SECONDS, collection_name=collection, ids=part)


def ids_of_documents(collection: str, document_ids: Sequence[int]) -> set[int]:
    """Ids of all entries of these documents."""
    return _ids(collection, f"document in {sorted(document_ids)}")


def ids_between(collection: str, *, tenant_id: int, after: int, last: int) -> set[int]:
    """Ids in (after, last] of the entries of a tenant."""
    return _ids(collection, f"tenant == {tenant_id:d} and id > {after:d} and id <= {last:d}")


def entries_count(collection: str, *, tenant_id: int) -> int:
    """Entries of a tenant."""
    return int(_query(collection, f"tenant == {tenant_id:d}", ["count(*)"])[0]["count(*)"])


def rows_compared(collection: str, ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """What is stored about some entries, without their vectors, by id."""
    found = _query(collection, f"id in {sorted(ids)}", ["id", *COMPARED]) if ids else []
    return {int(row["id"]): row for row in found}


def _ids(collection: str, expression: str) -> set[int]:
    return {int(row["id"]) for row in _query(collection, expression, ["id"])}


def _query(collection: str, expression: str, fields: list[str]) -> Any:
    return call(
        "query",
        seconds=WRITE_SECONDS,
        collection_name=collection,
        filter=expression,
        output_fields=fields,
        consistency_level="Strong",
    )
