"""Coarse vectors are rotated, whole vectors are not, and a change of the rotation hides nothing."""

from __future__ import annotations

import numpy as np
import pytest
from django.db import connection, transaction

from knowledge.backends import ScopedVectorIndex
from knowledge.indexes import rotation_switch, rotations, search_space
from knowledge.indexes.entry_scores import entry_scores_load
from knowledge.indexes.index_maintenance import hnsw_is_valid
from knowledge.indexes.visibility import visible_sql
from knowledge.models import IndexEntry, TenantVectors, WholeVector
from knowledge.selectors import documents_askable
from knowledge.services import maintenance, vector_rotations
from ragcore.embedding.rotation import project
from tests.factories import ingest, make_admin, make_set, question_with, scope_of

pytestmark = pytest.mark.django_db(transaction=True)

PASSAGES = 40


@pytest.fixture(autouse=True)
def _forgotten():
    for memory in (search_space.counts, search_space.tails, search_space.indexed, rotations.states):
        memory.clear()


def owner_of_reports():
    owner = make_admin()
    texts = {f"d{n}": f"Report {n} about beams, antennas and the losses of filter {n}." for n in range(PASSAGES)}
    ingest(owner, make_set("common", owners=[owner]), **texts)
    return owner


@pytest.fixture
def owner(shared_rows):
    return shared_rows(owner_of_reports)


@pytest.fixture
def unrotated(owner, monkeypatch):
    """The corpus as an early version has stored it, without a rotation; entries are moved in small batches."""
    monkeypatch.setattr(vector_rotations, "ROTATE_BATCH", 15)
    monkeypatch.setattr(vector_rotations, "SETTLE_SECONDS", 0.0)
    switch_to(0)
    with transaction.atomic():
        begun = rotation_switch.rotation_states()[0]
        rotation_switch.entries_rotate(begun, after=0, limit=10 * PASSAGES)
        rotation_switch.switch_end(begun)


def switch_to(number):
    """Begin a switch to a rotation; returns the state of the tenant."""
    state = TenantVectors.objects.get()
    with transaction.atomic():
        rotation_switch.switch_begin(tenant_id=state.tenant_id, model=state.model, rotation=number)
    return rotation_switch.rotation_states()[0]


def index_of(owner, visible=None):
    scope = scope_of(owner)
    visible = visible or visible_sql(documents_askable(scope=scope))
    return ScopedVectorIndex(scope, visible, IndexEntry.objects.values_list("embedding_model", flat=True)[0])


def stored(column):
    """float32[n, d] of all entries, by id."""
    return np.array(list(IndexEntry.objects.order_by("pk").values_list(column, flat=True)), dtype=np.float32)


def stored_whole():
    """float32[n, 768], in the order of the entries."""
    rows = WholeVector.objects.order_by("entry_id").values_list("vector", flat=True)
    return np.array([np.array(row, dtype=np.float32) for row in rows])


def question(seed):
    vector = np.random.default_rng(seed).standard_normal(768).astype(np.float32)
    return vector / np.linalg.norm(vector)


def found(owner, limit=PASSAGES):
    return {
        seed: [hit.chunk for hit in index_of(owner).coarse(question_with(question(seed)), limit=limit)]
        for seed in range(3)
    }


def fine_scores(owner):
    chunks = list(IndexEntry.objects.values_list("chunk", flat=True))
    return [
        {h.chunk: h.score for h in index_of(owner).fine(question_with(question(n)), chunks=chunks, limit=99)}
        for n in range(3)
    ]


def test_new_entries_get_the_packaged_rotation_and_whole_vectors_stay_as_they_are(owner):
    state = TenantVectors.objects.get()
    fine = stored_whole()

    assert (state.rotation, state.former) == (-1, [])
    assert set(IndexEntry.objects.values_list("rotation", flat=True)) == {-1}
    expected = rotations.coarse_vectors(fine, rotation=-1, model=state.model)
    assert stored("coarse") == pytest.approx(expected, abs=1e-3)


@pytest.mark.full
def test_entries_of_an_early_version_get_the_packaged_rotation(owner, unrotated):
    scores, fine = fine_scores(owner), stored_whole()
    assert stored("coarse") == pytest.approx(fine[:, :384], abs=1e-3)

    assert vector_rotations.rotations_refresh() == PASSAGES
    state = TenantVectors.objects.get()
    assert (state.rotation, state.former) == (-1, [])
    assert set(IndexEntry.objects.values_list("rotation", flat=True)) == {-1}
    assert stored("coarse") == pytest.approx(rotations.coarse_vectors(fine, rotation=-1, model=state.model), abs=1e-3)
    assert np.array_equal(stored_whole(), fine)
    assert fine_scores(owner) == scores
    assert vector_rotations.rotations_refresh() == 0


def test_searches_find_everything_at_every_step_of_a_switch(owner, unrotated, monkeypatch):
    before = found(owner)
    seen = []

    def looked(*args, **kwargs):
        done = rotation_switch.entries_rotate(*args, **kwargs)
        numbers = set(IndexEntry.objects.values_list("rotation", flat=True))
        seen.append((len(numbers), found(owner, limit=10), found(owner)))
        return done

    monkeypatch.setattr(vector_rotations, "entries_rotate", looked)
    vector_rotations.rotations_refresh()

    assert [count for count, *_ in seen] == [2, 2, 1]
    for _count, ten, everything in seen:
        assert {seed: sorted(chunks) for seed, chunks in everything.items()} == {
            seed: sorted(chunks) for seed, chunks in before.items()
        }
        assert all(len(chunks) == 10 for chunks in ten.values())
    assert seen[-1][2] == found(owner)


def test_a_switch_that_was_interrupted_is_continued(owner, unrotated):
    begun = switch_to(-1)
    with transaction.atomic():
        rotation_switch.entries_rotate(begun, after=0, limit=7)
        assert not rotation_switch.switch_end(begun)

    assert vector_rotations.rotations_refresh() == PASSAGES - 7
    assert TenantVectors.objects.get().former == []
    expected = rotations.coarse_vectors(stored_whole(), rotation=-1, model=begun.model)
    assert stored("coarse") == pytest.approx(expected, abs=1e-3)


def test_entries_written_during_a_switch_are_found(owner, unrotated):
    switch_to(-1)
    ingest(owner, make_set("more", owners=[owner]), extra="An extra passage about lamps.")
    newest = IndexEntry.objects.order_by("-pk")[0]

    assert newest.rotation == -1
    whole = np.array(WholeVector.objects.get(entry_id=newest.pk).vector, dtype=np.float32)
    assert index_of(owner).coarse(question_with(whole), limit=1)[0].chunk == newest.chunk_id
    assert len(found(owner, limit=99)[0]) == PASSAGES + 1


def test_scores_for_explanations_are_those_of_the_search_in_mid_switch(owner, unrotated):
    state = TenantVectors.objects.get()
    with transaction.atomic():
        rotation_switch.switch_begin(tenant_id=state.tenant_id, model=state.model, rotation=-1)
        rotation_switch.entries_rotate(rotation_switch.rotation_states()[0], after=0, limit=11)
    scope = scope_of(owner)
    entries = IndexEntry.objects.in_bulk()

    told = entry_scores_load(
        scope=scope,
        visible=visible_sql(documents_askable(scope=scope)),
        chunks=[entry.chunk_id for entry in entries.values()],
        terms=[],
        vector=question(1),
        model=state.model,
    )

    assert len({entry.rotation for entry in entries.values()}) == 2
    assert {one.chunk: one.coarse for one in told} == pytest.approx(
        {entry.chunk_id: cosine_in_its_rotation(question(1), entry) for entry in entries.values()}, abs=2e-3
    )


def cosine_in_its_rotation(asked, entry):
    stored = np.array(entry.coarse, dtype=np.float32)
    vector = rotations.coarse_vectors(asked[None], rotation=entry.rotation, model=entry.embedding_model)[0]
    return float(stored @ vector / (np.linalg.norm(stored) * np.linalg.norm(vector)))


def test_a_corpus_in_the_index_is_in_it_again_after_a_switch(owner, monkeypatch):
    monkeypatch.setattr(maintenance, "MERGE_FROM", 5)
    monkeypatch.setattr(vector_rotations, "SETTLE_SECONDS", 0.0)
    maintenance.vectors_merge()
    assert not IndexEntry.objects.filter(merged=False).exists()
    switch_to(0)

    maintenance.vectors_merge()

    assert hnsw_is_valid()
    assert not IndexEntry.objects.filter(merged=False).exists()
    assert set(IndexEntry.objects.values_list("rotation", flat=True)) == {-1}


def test_models_without_a_packaged_rotation_keep_their_prefix():
    vectors = np.random.default_rng(0).standard_normal((3, 768)).astype(np.float32)

    assert np.array_equal(rotations.coarse_vectors(vectors, rotation=0, model="any"), vectors[:, :384])
    assert np.array_equal(project(vectors, None), vectors[:, :384])


def test_vectors_arrive_from_the_database_as_they_were_stored(owner):
    state = TenantVectors.objects.get()
    read = rotation_switch.vectors_sample(tenant_id=state.tenant_id, model=state.model, limit=1000)

    assert sorted(map(tuple, read)) == sorted(map(tuple, stored_whole()))
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
