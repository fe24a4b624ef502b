"""Coarse vectors get the rotation and the model that their tenant should have, without a gap in searches."""

from __future__ import annotations

import time
from collections.abc import Sequence

from django.db import transaction

from knowledge.indexes.index_maintenance import (
    entries_vacuum,
    hnsw_create,
    hnsw_drop,
    tables_analyse,
    tail_and_merged_count,
)
from knowledge.indexes.rotation_switch import (
    entries_rotate,
    rotation_states,
    switch_begin,
    switch_end,
)
from knowledge.indexes.rotations import RotationState
from knowledge.indexes.statements import maintenance_try_lock
from knowledge.model_registry import live_model
from ragcore.embedding.rotation import packaged_number

SETTLE_SECONDS = 5.0  # searches that began before the switch have ended by then
ROTATE_BATCH = 20_000  # entries a transaction; a vacuum after each frees the space for the next


def rotations_refresh(*, settle_seconds: float | None = None) -> int:
    """Move entries to the rotation and the model that their tenant should have; returns how many.

    Searches are exact, not by the HNSW index, from the switch until the index is built again. An interrupted run is
    continued by the next one. Call outside of transactions. Ends at once if another process does maintenance.
    """
    with maintenance_try_lock() as alone:
        if not alone:
            return 0
        model = live_model()
        packaged = packaged_number(model)
        for state in rotation_states(model=model):
            if packaged != state.rotation:
                with transaction.atomic():
                    switch_begin(tenant_id=state.tenant_id, model=state.model, rotation=packaged)
                time.sleep(SETTLE_SECONDS if settle_seconds is None else settle_seconds)
        switching = [state for state in rotation_states(model=model) if state.former or state.is_behind]
        return _moved(switching) if switching else 0


def _moved(switching: Sequence[RotationState]) -> int:
    """Give every entry the rotation of its tenant. The HNSW index goes first: each moved row would enter it anew."""
    _tail, merged = tail_and_merged_count([state.tenant_id for state in switching])
    if merged:
        hnsw_drop()
    moved = sum(_rotated(state) for state in switching)
    if merged:
        tables_analyse()
        hnsw_create()
    return moved


def _rotated(state: RotationState) -> int:
    """Rotate what is left of one tenant and model, a batch a transaction."""
    moved = after = 0
    while True:
        with transaction.atomic():
            batch = entries_rotate(state, after=after, limit=ROTATE_BATCH)
        moved, after = moved + batch.count, batch.last
        if batch.count:
            entries_vacuum()
        if batch.count < ROTATE_BATCH:
            break
    with transaction.atomic():
        switch_end(state)
    return moved
