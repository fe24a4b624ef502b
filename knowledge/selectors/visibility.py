"""What a search of one asker may touch, as SQL.

Rights are read anew for each search: which sets the asker may read and which lists of readers name the asker, in the
same statement as the corpus epoch. What is kept is only the text of the queries, which follows from these and the
asker's tenant and clearance, so that a right that was taken away is gone with the next search, however it was taken
away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from accounts.scope import Scope
from knowledge.indexes.corpus_epoch import rights_load, state_now
from knowledge.indexes.visibility import Visible, condition_of, ids_sql, visible_sql, with_numbers
from knowledge.selectors.documents import documents_askable, documents_in_sets, opened_sets, search_bounds
from knowledge.selectors.readers import Lists
from knowledge.selectors.sets import sets_readable
from knowledge.types import Filters

KEPT = 4096  # texts of queries, a few kilobytes each


def visible_to(*, scope: Scope, sets: Sequence[int] = (), filters: Filters | None = None) -> Visible:
    """`documents_askable` with the same arguments as a subquery, with the corpus epoch of this moment."""
    filters = filters or Filters()
    bounds = partial(search_bounds, scope=scope, sets=sets, filters=filters)
    if filters or scope.limited_by is not None:
        documents = documents_askable(scope=scope, sets=sets, filters=filters)
        epoch, has_editions = state_now(tenant_id=scope.tenant_id)
        return visible_sql(documents, bounds=bounds, epoch=epoch, has_editions=has_editions)
    ids, params = readable_sets_sql(scope)
    now = rights_load(scope=scope, ids=ids, params=params)
    set_ids = tuple(set_id for set_id in now.readable if set_id in sets) if sets else now.readable
    opened = opened_sets(scope=scope, lists=now.lists, readable=now.readable)
    opened = tuple(set_id for set_id in opened if set_id in sets) if sets else opened
    text, params, condition = _documents_sql(_shared(scope), set_ids, opened, now.lists)
    return Visible(text, params, bounds, now.epoch, now.readable, condition, now.has_editions)


@lru_cache(maxsize=KEPT)
def readable_sets_sql(scope: Scope) -> tuple[str, Mapping[str, Any]]:
    """The query for the sets that the asker may read; everything that it depends on is part of the scope."""
    return ids_sql(sets_readable(scope=scope))


def _shared(scope: Scope) -> Scope:
    """The rights that `documents_in_sets` depends on: colleagues who have them share one text."""
    return Scope(tenant_id=scope.tenant_id, user_id=0, clearance=scope.clearance)


@lru_cache(maxsize=KEPT)
def _documents_sql(
    scope: Scope, sets: tuple[int, ...], opened: tuple[int, ...], lists: Lists
) -> tuple[str, Mapping[str, Any], str]:
    text, params = ids_sql(documents_in_sets(scope=scope, groups=[sets], lists=lists, opened=[opened]))
    plain = with_numbers(text, params)  # the driver would write the same numbers into every statement
    text, params = (text, params) if plain is None else (plain, {})
    return text, params, condition_of(text)
