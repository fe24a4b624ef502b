"""Which lists of readers name an asker, as part of a statement or by itself (B6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accounts.scope import Scope
from knowledge.indexes.statements import fetch

# Null where the tenant has no list at all: then no search says anything about readers, and costs what it did without.
LISTS = """CASE WHEN EXISTS (SELECT FROM knowledge_readerlist WHERE tenant_id = %(tenant)s) THEN ARRAY(
    SELECT id FROM knowledge_readerlist WHERE tenant_id = %(tenant)s
    AND (users @> ARRAY[%(asker)s::bigint] OR groups && %(asker_groups)s::bigint[])
) END"""


def lists_params(scope: Scope) -> Mapping[str, Any]:
    """The parameters of LISTS."""
    return {"tenant": scope.tenant_id, "asker": scope.user_id, "asker_groups": sorted(scope.group_ids)}


def lists_value(found: list[int] | None) -> tuple[int, ...] | None:
    """What LISTS yields, ascending."""
    return None if found is None else tuple(sorted(found))


def reader_lists_load(*, scope: Scope) -> tuple[int, ...] | None:
    """Ids of the lists of the tenant that name the asker at this moment, ascending; None: the tenant has no list."""
    return lists_value(fetch(f"SELECT {LISTS}", lists_params(scope))[0][0])  # noqa: S608 - a constant
