"""The parts that a search of vectors goes through: sets with a query adapter or an embedding model of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from accounts.scope import Scope
from knowledge.indexes.visibility import Visible, visible_part
from knowledge.selectors.query_adapters import LIVE_ONE, MOST_IN_SEARCH, adapter_load, adapters_of_search
from knowledge.selectors.set_embedders import SetModel, set_models_of_search
from ragcore.embedding.query_adapter import QueryAdapter


@dataclass(frozen=True, slots=True)
class SearchPart:
    """A part of what is visible, and how its passages are compared."""

    visible: Visible
    adapter: QueryAdapter | None = None  # through which questions go to the site's model; None: the plain vector
    own: SetModel | None = None  # a model beside or instead of the site's


def search_parts(
    *,
    scope: Scope,
    visible: Visible,
    site_model: str,
    sets: Sequence[int] = (),
    version: int = LIVE_ONE,
    set_embedder: int = LIVE_ONE,
) -> list[SearchPart]:
    """What a search goes through; one part where no set has anything of its own.

    `sets`: those that are asked; () for all. `version`, `set_embedder`: as the options `query_adapter` and
    `set_embedder` say. `site_model`: of embeddings, that the site's side of the search uses.
    An adapter takes no part where a set's model decides alone.
    """
    models = set_models_of_search(scope=scope, visible=visible, site_model=site_model, sets=sets, version=set_embedder)
    own = {one.set_id: one for one in models}
    adapters = _adapters(scope, visible, sets, version)
    taking = sorted(own.keys() | adapters.keys())[:MOST_IN_SEARCH]
    if not taking:
        return [SearchPart(visible)]
    if len(sets) == 1:
        return [_part(visible, adapters.get(taking[0]), own.get(taking[0]))]
    parts = [
        _part(visible_part(visible, [set_id], inside=True), adapters.get(set_id), own.get(set_id)) for set_id in taking
    ]
    return [*parts, SearchPart(visible_part(visible, taking, inside=False))]


def _adapters(scope: Scope, visible: Visible, sets: Sequence[int], version: int) -> dict[int, QueryAdapter]:
    """Set -> the adapter in use that fits."""
    found = adapters_of_search(scope=scope, visible=visible, sets=sets, version=version)
    loaded = ((set_id, adapter_load(row, scope=scope)) for set_id, row in found)
    return {set_id: adapter for set_id, adapter in loaded if adapter is not None}


def _part(visible: Visible, adapter: QueryAdapter | None, own: SetModel | None) -> SearchPart:
    return SearchPart(visible, None if own is not None and own.is_alone else adapter, own)
