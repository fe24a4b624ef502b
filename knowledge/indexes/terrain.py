"""What a search would go through, for `knowledge.indexes.planning`."""

from __future__ import annotations

import time

from accounts.scope import Scope
from knowledge.indexes.building import hnsw_is_valid
from knowledge.indexes.counting import Memory, epoch_of, tail_length, tenant_counted, visible_counted
from knowledge.indexes.planning import Terrain
from knowledge.indexes.visibility import Visible

INDEX_SECONDS = 10.0  # for how long a process believes that the index is there

indexed: Memory[bool] = Memory()


def terrain_of(*, scope: Scope, visible: Visible) -> Terrain:
    """What there is to search; counted once per rights and corpus epoch."""
    epoch = epoch_of(scope=scope, visible=visible)
    seen = visible_counted(scope=scope, visible=visible, epoch=epoch)
    total = tenant_counted(tenant_id=scope.tenant_id, epoch=epoch)
    return Terrain(
        visible=seen.entries,
        documents=seen.documents,
        total=total.entries,
        tail=tail_length(tenant_id=scope.tenant_id),
        is_indexed=_is_indexed(),
    )


def _is_indexed() -> bool:
    """False while the index is built for the first time, or anew for very many entries."""
    ticks = int(time.monotonic() / INDEX_SECONDS)
    return indexed.get((), epoch=ticks, make=hnsw_is_valid)
