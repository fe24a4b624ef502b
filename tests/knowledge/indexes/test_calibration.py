"""The choice between a scan and the index follows what both cost on this machine."""

from __future__ import annotations

import numpy as np
import pytest

from knowledge.backends import ScopedVectorIndex
from knowledge.indexes import rotations, search_space
from knowledge.indexes.calibration import costs_measure
from knowledge.indexes.rotation_switch import rotation_states
from knowledge.indexes.search_space import (
    CHECKED,
    FINE,
    INDEX_HITS,
    SearchSpace,
    VectorCosts,
    fetched_for,
    vector_plan,
)
from knowledge.indexes.vectors import beam_width
from knowledge.indexes.visibility import visible_sql
from knowledge.models import TenantVectors
from knowledge.selectors import documents_askable
from knowledge.services import maintenance
from tests.factories import ingest, make_admin, make_set, question_with, scope_of

SPACE = SearchSpace(visible=100_000, passages=100_000, documents=9_000, total=100_000)


@pytest.fixture(autouse=True)
def _forgotten():
    for memory in (search_space.counts, search_space.tails, search_space.indexed, rotations.states):
        memory.clear()


def test_a_machine_that_scans_quickly_scans_and_another_one_uses_its_index():
    quick_scan = VectorCosts(scanned=0.0002, near_start=30.0, near=0.05)
    quick_index = VectorCosts(scanned=0.003, near_start=5.0, near=0.02)

    assert vector_plan(SPACE, measured=quick_scan).path == "scan"
    assert vector_plan(SPACE, measured=quick_index).path == "index"


def test_figures_are_used_as_they_were_measured():
    costs = VectorCosts(scanned=0.001, near_start=10.0, near=0.1)

    plan = vector_plan(SPACE, is_clean=True, measured=costs)

    fetched = fetched_for(SPACE, limit=INDEX_HITS, is_clean=True)
    checks = CHECKED * (fetched - plan.fetched) + FINE * INDEX_HITS  # on a machine of the usual pace
    assert plan.costs["index"] - plan.costs["scan"] == pytest.approx(10.0 + 0.1 * fetched - 100.0 + checks)


@pytest.mark.parametrize(("fetched", "expected"), [(20, 200), (560, 560), (1000, 1000), (1600, 800), (4100, 820)])
def test_the_index_is_asked_for_as_many_hits_as_are_fetched(fetched, expected):
    assert beam_width(fetched) == expected


@pytest.mark.django_db(transaction=True)
def test_maintenance_times_both_ways_and_searches_plan_with_the_figures(monkeypatch):
    owner = make_admin()
    ingest(owner, make_set(owners=[owner]), **{f"d{n}": f"Note {n} about filters and beams." for n in range(12)})
    assert costs_measure(rotation_states()[0]) is None  # nothing is in the index yet
    monkeypatch.setattr(maintenance, "MERGE_FROM", 5)

    maintenance.vectors_merge()

    state = TenantVectors.objects.get()
    assert state.costs[0] > 0
    assert state.costs[1] >= 0
    assert state.costs[2] > 0
    said: dict[str, object] = {}
    scope = scope_of(owner)
    index = ScopedVectorIndex(scope, visible_sql(documents_askable(scope=scope)), state.model, said)
    vector = np.ones(768, dtype=np.float32)
    assert len(index.coarse(question_with(vector), limit=12)) == 12
    plan = vector_plan(
        SearchSpace(visible=12, passages=12, documents=12, total=12), is_clean=True, measured=VectorCosts(
            scanned=state.costs[0], near_start=state.costs[1], near=state.costs[2]
        )
    )  # fmt: skip
    assert said["vector_plan"]["costs"]["index"] == pytest.approx(round(plan.costs["index"], 1), abs=0.11)
