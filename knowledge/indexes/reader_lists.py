"""Which lists of readers name an asker, as part of a statement or by itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from accounts.scope import Scope
from knowledge.indexes.statements import execute, fetch, ids_text

EVERYBODY_GROUP = 0  # the id of no group; lists that hold it name everybody of the tenant

# Null where the tenant has no list at all: then no search says anything about readers, and costs what it did without.
LISTS = """CASE WHEN EXISTS (SELECT FROM knowledge_readerlist WHERE tenant_id = %(tenant)s) THEN jsonb_build_array(
    ARRAY(
        SELECT id FROM knowledge_readerlist WHERE tenant_id = %(tenant)s
        AND (users @> ARRAY[%(asker)s::bigint] OR groups && %(asker_groups)s::bigint[])
    ),
    ARRAY(SELECT id FROM knowledge_knowledgeset WHERE tenant_id = %(tenant)s AND rights = 'set'),
    ARRAY(SELECT id FROM knowledge_knowledgeset WHERE tenant_id = %(tenant)s AND rights = 'source')
) END"""

UNUSED = """NOT EXISTS (SELECT FROM knowledge_document d WHERE d.readers_id = l.id)
    AND NOT EXISTS (SELECT FROM knowledge_document d WHERE d.source_readers_id = l.id)"""
LOCK = f"SELECT id FROM knowledge_readerlist l WHERE {UNUSED} ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED"  # noqa: S608
DELETE = f"DELETE FROM knowledge_readerlist l WHERE id = ANY(%(ids)s::bigint[]) AND {UNUSED}"  # noqa: S608
HOLD = "SELECT id FROM knowledge_readerlist WHERE id = %(id)s FOR KEY SHARE"


class NamedIn(NamedTuple):
    """What decides about documents that name their readers; ids, ascending."""

    lists: tuple[int, ...]  # of readers that name the asker
    by_set: tuple[int, ...] = ()  # sets of the tenant in which the lists of sources do not count
    by_source: tuple[int, ...] = ()  # sets of the tenant from which those read, too, whom only a source names


def lists_params(scope: Scope) -> Mapping[str, Any]:
    """The parameters of LISTS."""
    groups = sorted({EVERYBODY_GROUP, *scope.group_ids})
    return {"tenant": scope.tenant_id, "asker": scope.user_id, "asker_groups": groups}


def lists_value(value: Any) -> NamedIn | None:
    """What LISTS yields, which the driver may give as text."""
    if value is None:
        return None
    lists, by_set, by_source = json.loads(value) if isinstance(value, str) else value
    return NamedIn(tuple(sorted(lists)), tuple(sorted(by_set)), tuple(sorted(by_source)))


def reader_lists_load(*, scope: Scope) -> NamedIn | None:
    """The lists of the tenant that name the asker at this moment; None: the tenant has no list."""
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
