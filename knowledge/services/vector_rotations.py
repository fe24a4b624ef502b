"""Rotations of coarse vectors: fitted where a corpus is large, switched without a gap."""

from __future__ import annotations

import logging
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
    fitted_rotation,
    live_entries,
    rotation_add,
    rotation_states,
    switch_begin,
    switch_end,
    vectors_sample,
)
from knowledge.indexes.rotations import RotationState, packaged_number
from knowledge.indexes.statements import maintenance_try_lock
from knowledge.model_registry import live_model
from ragcore.embedding.rotation import principal_directions, projection_pack, second_moment

logger = logging.getLogger(__name__)

FIT_FROM = 20_000  # entries of a tenant and model: fewer say too little about 768 directions
FIT_AGAIN = 4  # times as many entries as when it was fitted
SAMPLE_SHARE = 0.1  # of the entries
SAMPLE_LEAST, SAMPLE_MOST = 1_500, 20_000
SETTLE_SECONDS = 5.0  # searches that began before the switch have ended by then
ROTATE_BATCH = 20_000  # entries a transaction; a vacuum after each frees the space for the next


def rotations_refresh(*, settle_seconds: float | None = None) -> int:
    """Fit where it is due, and move entries to the rotation and the model that their tenant should have; how many.

    Searches are exact, not by the HNSW index, from the switch until the index is built again. An interrupted run is
    continued by the next one. Call outside of transactions. Ends at once if another process does maintenance.
    """
    with maintenance_try_lock() as alone:
        if not alone:
            return 0
        entries, model = live_entries(), live_model()
        for state in rotation_states(model=model):
            wanted = _wanted(state, entries.get(state.tenant_id, 0))
            if wanted != state.rotation:
                with transaction.atomic():
                    switch_begin(tenant_id=state.tenant_id, model=state.model, rotation=wanted)
                time.sleep(SETTLE_SECONDS if settle_seconds is None else settle_seconds)
        switching = [state for state in rotation_states(model=model) if state.former or state.is_behind]
        return _moved(switching) if switching else 0


def _wanted(state: RotationState, entries: int) -> int:
    """The number that the entries of a tenant and model should have; a rotation is fitted where it is due."""
    fitted = fitted_rotation(tenant_id=state.tenant_id, model=state.model)
    if entries >= FIT_FROM and (fitted is None or entries >= FIT_AGAIN * fitted[1]) and (new := _fit(state, entries)):
        return new
    return fitted[0] if fitted else packaged_number(state.model)


def _fit(state: RotationState, entries: int) -> int | None:
    """The number of a new rotation; None where too few of the entries are of this model."""
    start = time.monotonic()
    vectors = vectors_sample(
        tenant_id=state.tenant_id, model=state.model, limit=min(int(SAMPLE_SHARE * entries), SAMPLE_MOST)
    )
    if len(vectors) < SAMPLE_LEAST:
        return None
    rotation = principal_directions(second_moment(vectors))
    number = rotation_add(
        tenant_id=state.tenant_id, model=state.model, projection=projection_pack(rotation), passages=entries
    )
    logger.info(
        "rotation %d of tenant %d was fitted on %d vectors of %s in %.1f s",
        number,
        state.tenant_id,
        len(vectors),
        state.model,
        time.monotonic() - start,
    )
    return number


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
            done = entries_rotate(state, after=after, limit=ROTATE_BATCH)
        moved, after = moved + done.count, done.last
        if done.count:
            entries_vacuum()
        if done.count < ROTATE_BATCH:
            break
    with transaction.atomic():
        switch_end(state)
    return moved
