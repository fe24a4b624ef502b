"""Vectors of a model that the site has given up: deleted by a task, never those that somebody needs (decision 031)."""

from __future__ import annotations

import pytest
from django.db import transaction
from django.urls import reverse

from knowledge import model_registry
from knowledge.indexes import embedder_fill as embedder_sql
from knowledge.indexes.embedder_fill import is_complete
from knowledge.model_errors import EmbedderSwitchError
from knowledge.models import EmbedderSwitch, IndexEntry, TripleVector, WholeVector
from knowledge.queue import SWEEP_VECTORS
from knowledge.services import embedder_sweep, embedder_switch
from knowledge.services.embedder_sweep import models_in_deletion, vectors_sweep
from knowledge.services.embedder_switch import (
    former_drop,
    switch_back,
    switch_cancel,
    switch_finish,
    switch_start,
)
from knowledge.services.maintenance import maintenance_run
from knowledge.tasks import sweep_vectors
from tests.admin.conftest import signed_in
from tests.factories import ingest
from tests.knowledge.fills import switch_fill, triples_tend, vectors_tend
from tests.knowledge.indexes.test_plans import indexes_used, many_make, visible
from tests.knowledge.locks import Beside, apart
from tests.knowledge.test_embedder_switch import State, corpus, masts, platform, server, target, who
from tests.knowledge.test_triples import fact_of_passage
from tests.migrating import long_released, migrations_apply, migrations_unapply

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["corpus", "masts", "platform", "server", "target", "visible", "who"]
PAGE = reverse("admin:knowledge_searchmodel_changelist")


@pytest.fixture
def sent(monkeypatch):
    """What is enqueued by those who give up models."""
    monkeypatch.setattr(embedder_sweep, "DROP_BATCH", 3)
    found = []
    monkeypatch.setattr(embedder_switch, "enqueue_on_commit", lambda name, **given: found.append((name, given)))
    return found


@pytest.fixture
def ready(who, corpus, target):
    """A model all of whose vectors are there, with one of a fact."""
    fact_of_passage(who["actor"], corpus, corpus.documents.first())
    triples_tend()
    row = switch_start(**who, target=target)
    vectors_tend()
    row.refresh_from_db()
    assert (row.state, stored(row), facts(row)) == (State.READY, IndexEntry.objects.count(), 1)
    return row


def stored(row):
    return WholeVector.objects.filter(embedding_model=row.model).count()


def facts(row):
    return TripleVector.objects.filter(embedding_model=row.model).count()


def test_what_is_cancelled_is_deleted_page_by_page_by_a_task_and_the_page_says_so(who, ready, sent):
    client, others = signed_in(who["actor"]), WholeVector.objects.exclude(embedding_model=ready.model).count()
    assert "being deleted" not in client.get(PAGE).content.decode()

    switch_cancel(**who, switch_id=ready.pk)

    assert stored(ready) == IndexEntry.objects.count() > embedder_sweep.DROP_BATCH
    assert sent[-1] == (SWEEP_VECTORS, {"model": ready.model})
    assert f"The vectors of {ready.model} are being deleted." in client.get(PAGE).content.decode()
    assert f"正在删除 {ready.model} 的向量。" in client.get(PAGE, HTTP_ACCEPT_LANGUAGE="zh-hans").content.decode()
    sweep_vectors(model=ready.model)
    assert (stored(ready), facts(ready), WholeVector.objects.count()) == (0, 0, others)
    ready.refresh_from_db()
    assert ready.vectors_deleted is not None
    assert "being deleted" not in client.get(PAGE).content.decode()


@pytest.mark.full
def test_what_a_worker_that_dies_leaves_is_deleted_by_maintenance_and_nobody_goes_back_meanwhile(
    who, ready, sent, monkeypatch
):
    packaged = model_registry.live_model()
    switch_finish(**who, switch_id=ready.pk)
    former = EmbedderSwitch.objects.get(state=State.KEPT)
    former_drop(**who)
    before = stored(former)

    def dies(**given):
        if given["after"]:
            raise ConnectionError
        return embedder_sql.vectors_drop(**given)

    with monkeypatch.context() as patch:
        patch.setattr(embedder_sweep, "vectors_drop", dies)
        with pytest.raises(ConnectionError):
            sweep_vectors(model=packaged)
    assert stored(former) == before - embedder_sweep.DROP_BATCH
    assert models_in_deletion() == [packaged]
    with pytest.raises(EmbedderSwitchError, match="No vectors of a previous model"):
        switch_back(**who)

    maintenance_run()

    assert (stored(former), facts(former), models_in_deletion()) == (0, 0, [])
    assert is_complete(model=ready.model)


def test_a_batch_in_flight_while_somebody_cancels_is_not_stored(who, corpus, target, server):
    row = switch_start(**who, target=target)
    respond = server.respond

    def cancels(asked):
        def act():
            switch_cancel(**who, switch_id=row.pk)
            vectors_sweep()

        if any("cooling unit" in text for text in asked.body["input"]):
            server.respond = respond
            apart(act)
        return respond(asked)

    server.respond = cancels
    assert vectors_tend() == 0

    assert (stored(row), EmbedderSwitch.objects.get().state) == (0, State.CANCELLED)


def test_a_switch_that_is_given_up_while_its_last_vectors_are_made_says_so(who, ready, corpus, server):
    ingest(who["actor"], corpus, late="A late page about the grounding of towers.")
    respond, before = server.respond, model_registry.live_model()

    def cancels(asked):
        if any("grounding" in text for text in asked.body["input"]):
            apart(lambda: switch_cancel(**who, switch_id=ready.pk))
        return respond(asked)

    server.respond = cancels
    with pytest.raises(EmbedderSwitchError, match="Someone else has changed this"):
        switch_finish(**who, switch_id=ready.pk)

    assert model_registry.live_model() == before


def test_a_model_that_is_begun_again_keeps_what_is_left_and_becomes_complete(who, ready, target, sent, monkeypatch):
    switch_cancel(**who, switch_id=ready.pk)
    every = stored(ready)

    def begun_again(**given):
        done = embedder_sql.vectors_drop(**given)
        again.start_and_wait_for_lock()  # whoever starts waits for the batch
        transaction.on_commit(again.end)  # and comes before the next one
        return done

    again = Beside(lambda: switch_start(**who, target=target))
    monkeypatch.setattr(embedder_sweep, "vectors_drop", begun_again)
    assert vectors_sweep(model=ready.model) == embedder_sweep.DROP_BATCH

    row = EmbedderSwitch.objects.get(state=State.BUILDING)
    assert stored(row) == switch_fill(row).done == every - embedder_sweep.DROP_BATCH
    vectors_tend()
    row.refresh_from_db()
    assert (row.state, stored(row), models_in_deletion()) == (State.READY, every, [])


@pytest.mark.parametrize(
    "state", [*(pytest.param(state, marks=pytest.mark.full) for state in (State.PAUSED, State.LIVE)), State.KEPT]
)
def test_vectors_that_another_change_needs_stay(who, ready, sent, state):
    EmbedderSwitch.objects.create(model=ready.model, target=ready.target, state=State.CANCELLED)
    EmbedderSwitch.objects.filter(pk=ready.pk).update(state=state)

    assert (vectors_sweep(), vectors_sweep(model=ready.model)) == (0, 0)

    assert stored(ready) == IndexEntry.objects.count()
    assert models_in_deletion() == []


def test_the_model_in_use_is_never_deleted(who, corpus):
    EmbedderSwitch.objects.create(model=model_registry.live_model(), state=State.DROPPED)

    assert (vectors_sweep(), vectors_sweep(model=model_registry.live_model())) == (0, 0)


def test_of_two_first_starts_at_once_the_second_one_is_refused(who, target, corpus):
    refused = []

    def second():
        with pytest.raises(EmbedderSwitchError, match="Another change"):
            switch_start(**who, target=target)
        refused.append(True)

    other = Beside(second)
    with transaction.atomic():
        row = switch_start(**who, target=target)
        other.start_and_wait_for_lock()
    other.end()

    assert refused
    assert EmbedderSwitch.objects.get() == row


@pytest.mark.starts_from(make=many_make)
def test_pages_of_deletion_are_read_by_the_primary_key(visible):
    given = {"model": WholeVector.objects.first().embedding_model, "after": 0, "limit": 10}

    assert "knowledge_wholevector_pkey" in indexes_used(embedder_sql.DROPS["entries"], given)


@long_released
def test_earlier_rows_are_brought_in_line(who, ready):
    given = {"target": ready.target, "model": ready.model}
    old = migrations_unapply("knowledge", "0057", "0069", "0076").get_model("knowledge", "EmbedderSwitch").objects
    try:
        old.filter(pk=ready.pk).update(state="building")
        double = old.create(target_id=ready.target_id, model=ready.model, state="building")
        old.create(model="gone", state="dropped")
    finally:
        migrations_apply("knowledge", "0057", "0069", "0076")

    rows = {row.model: row for row in EmbedderSwitch.objects.filter(state__in=EmbedderSwitch.ENDED)}
    assert EmbedderSwitch.objects.get(state=State.BUILDING, **given).pk == double.pk
    assert (rows["gone"].vectors_deleted is None, rows[ready.model].vectors_deleted) == (False, None)
