"""Which lists of readers name an asker, as part of a statement or by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accounts.scope import Scope
from knowledge.indexes.statements import execute, fetch, ids_text

# Null where the tenant has no list at all: then no search says anything about readers, and costs what it did without.
LISTS = """CASE WHEN EXISTS (SELECT FROM knowledge_readerlist WHERE tenant_id = %(tenant)s) THEN ARRAY(
    SELECT id FROM knowledge_readerlist WHERE tenant_id = %(tenant)s
    AND (users @> ARRAY[%(asker)s::bigint] OR groups && %(asker_groups)s::bigint[])
) END"""

UNUSED = """NOT EXISTS (SELECT FROM knowledge_document d WHERE d.readers_id = l.id)
    AND NOT EXISTS (SELECT FROM knowledge_document d WHERE d.source_readers_id = l.id)"""
LOCK = f"SELECT id FROM knowledge_readerlist l WHERE {UNUSED} ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED"  # noqa: S608
DELETE = f"DELETE FROM knowledge_readerlist l WHERE id = ANY(%(ids)s::bigint[]) AND {UNUSED}"  # noqa: S608
HOLD = "SELECT id FROM knowledge_readerlist WHERE id = %(id)s FOR KEY SHARE"


def lists_params(scope: Scope) -> Mapping[str, Any]:
    """The parameters of LISTS."""
    return {"tenant": scope.tenant_id, "asker": scope.user_id, "asker_groups": sorted(scope.group_ids)}


def lists_value(list_ids: list[int] | None) -> tuple[int, ...] | None:
    """What LISTS yields, ascending."""
    return None if list_ids is None else tuple(sorted(list_ids))


def reader_lists_load(*, scope: Scope) -> tuple[int, ...] | None:
    """Ids of the lists of the tenant that name the asker at this moment, ascending; None: the tenant has no list."""
    return lists_value(fetch(f"SELECT {LISTS}", lists_params(scope))[0][0])  # noqa: S608 - a constant


# ── lists that no document refers to ────────────────────────────────────────────────────────────


def unused_lists_delete(*, limit: int) -> int:
    """Delete lists that no document refers to, in a transaction of the caller; returns how many are gone.

    They are locked first and looked at again by a second statement: a document may have come to refer to one meanwhile.
    """
    ids = [pk for (pk,) in fetch(LOCK, {"limit": limit})]
    return execute(DELETE, {"ids": ids_text(ids)}) if ids else 0


def list_hold(*, list_id: int) -> bool:
    """Keep a list from being deleted until the transaction ends; False: it is gone already."""
    return bool(fetch(HOLD, {"id": list_id}))
