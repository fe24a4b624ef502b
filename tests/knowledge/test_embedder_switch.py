"""From one embedding model of the site to another and back: nothing fails, nothing is missed (decision 031)."""

from __future__ import annotations

import re
from functools import cache
from zlib import crc32

import numpy as np
import pytest
from django.db import transaction

from accounts.errors import MissingRightError
from accounts.models import AuditEvent, Tenant
from evaluation.errors import ChangeNotDecidableError
from evaluation.models import GatedChange
from evaluation.services.gates import change_publish, change_settle
from evaluation.services.golden import golden_import
from evaluation.services.golden_files import GoldenRow
from knowledge import model_registry
from knowledge.errors import MeasuredFirstError
from knowledge.indexes.embedder_fill import is_complete
from knowledge.model_errors import EmbedderSwitchError, SearchModelInvalidError
from knowledge.model_setup import setup_forget, setup_refresh
from knowledge.models import EmbedderFit, EmbedderSwitch, EntryText, IndexEntry, SearchModel, TenantVectors, WholeVector
from knowledge.services import embedder_fill, retrieve
from knowledge.services.embedder_sweep import vectors_sweep
from knowledge.services.embedder_switch import (
    embedder_publish,
    former_drop,
    switch_back,
    switch_cancel,
    switch_finish,
    switch_pause,
    switch_resume,
    switch_start,
)
from knowledge.services.maintenance import vectors_merge
from knowledge.services.search_models import search_model_delete, search_model_save, search_model_test
from knowledge.types import RetrievalRequest
from ragcore.errors import RagError
from tests.evaluation.runs import run_work_off
from tests.factories import ingest, make_admin, make_set, make_tenant, scope_of
from tests.knowledge.fills import switch_fill, vectors_tend
from tests.knowledge.locks import apart
from tests.scripted_llm import Reply, serving

pytestmark = pytest.mark.django_db(transaction=True)
State = EmbedderSwitch.State
TRUSTED = {"trust_latin": 1.0, "trust_cjk": 1.0}  # measuring it embeds 400 general texts
TEXTS = {
    "tilt": "The remote electrical tilt of an antenna is adjusted by a motor in its radome.",
    "feeder": "A feeder cable connects the radio unit with the antenna on the mast.",
    "battery": "The battery of a site lasts for four hours when the mains fail.",
    "alarm": "An alarm of the cooling unit is closed by hand after the fan was changed.",
}


@cache
def word_vector(word: str) -> np.ndarray:
    return np.random.default_rng(crc32(word.encode())).normal(size=768)


def bag_of_words(text: str) -> tuple[float, ...]:
    """768 numbers in which texts with the same words are near."""
    return tuple(np.sum([word_vector(word) for word in re.findall(r"\w+", text.lower())], axis=0).tolist())


def masts_make():
    admin = make_admin()
    made = make_set("masts", owners=[admin], tenant=admin.tenant)
    ingest(admin, made, **TEXTS)
    return admin, made


@pytest.fixture
def masts(shared_rows):
    """An administrator of the site and their set, whose documents are ingested once for many tests."""
    return shared_rows(masts_make)


@pytest.fixture
def platform(request):
    return request.getfixturevalue("masts")[0] if "masts" in request.fixturenames else make_admin()


@pytest.fixture
def server(settings):
    settings.FETCH_ALLOWED_HOSTS = ("127.0.0.1",)
    with serving() as scripted:
        scripted.respond = lambda asked: Reply(vectors=tuple(bag_of_words(text) for text in asked.body["input"]))
        yield scripted
    setup_forget()
    model_registry.embedder_of.cache_clear()


@pytest.fixture
def who(platform):
    Tenant.objects.filter(pk=platform.tenant_id).update(is_default=True)
    return {"scope": scope_of(platform), "actor": platform}


@pytest.fixture
def target(server, who):
    row = search_model_save(
        **who,
        model=SearchModel(),
        values={"task": "embed", "provider": "server", "name": "bge-m3", "url": server.url, "query_prefix": "query: "},
        key="key-7",
    )
    EmbedderFit.objects.create(model=row.vectors, dimensions=768, floor=0.2, **TRUSTED)  # as if measured
    assert "768" in search_model_test(**who, model=row)
    return row


@pytest.fixture
def corpus(masts):
    return masts[1]


def found(user, question="How is the tilt of the antenna adjusted?", mode="vector"):
    state = retrieve(scope=scope_of(user), request=RetrievalRequest(query=question, mode=mode)).state
    return [one.passage.text for one in state.candidates if one.passage is not None]


def test_a_site_goes_to_another_model_and_back_without_a_gap(platform, who, target, corpus, server):
    packaged = model_registry.live_model()
    before = found(platform)

    row = switch_start(**who, target=target)
    assert (model_registry.live_model(), found(platform)) == (packaged, before)  # answered from the old index
    vectors_tend()
    row.refresh_from_db()
    job, every = switch_fill(row), IndexEntry.objects.count()
    assert (row.state, job.state, job.done, job.total) == (State.READY, "done", every, every)
    assert found(platform) == before
    ingest(platform, corpus, late="A late page about the grounding of towers.")  # neither has a gap

    switch_finish(**who, switch_id=row.pk)

    assert model_registry.live_model() == row.model
    assert is_complete(model=row.model)
    assert "tilt" in found(platform)[0]
    assert "grounding" in found(platform, "grounding of towers")[0]
    assert any(asked.body["input"] == ["query: grounding of towers"] for asked in server.requests)
    assert TenantVectors.objects.filter(is_behind=True).exists()
    hybrid = found(platform, mode="hybrid")
    vectors_merge()  # coarse vectors follow
    assert not TenantVectors.objects.filter(is_behind=True, model=row.model).exists()
    assert set(IndexEntry.objects.values_list("embedding_model", flat=True)) == {row.model}
    assert found(platform, mode="hybrid")[0] == hybrid[0]

    ingest(platform, corpus, later="A page about lightning rods that came after the switch.")
    vectors_tend()
    assert is_complete(model=packaged)  # the way back stays open
    switch_back(**who)

    assert model_registry.live_model() == packaged
    assert found(platform)[: len(before)][0] == before[0]
    assert "lightning" in found(platform, "lightning rods")[0]
    actions = list(
        AuditEvent.objects.filter(action__startswith="embedder.").order_by("pk").values_list("action", flat=True)
    )
    assert actions == ["embedder.start", "embedder.switch", "embedder.back"]
    former_drop(**who)
    vectors_sweep()  # as the task does
    assert set(WholeVector.objects.values_list("embedding_model", flat=True)) == {packaged}


def test_a_killed_paused_or_refused_worker_loses_nothing(platform, who, target, corpus, server, monkeypatch):
    row = switch_start(**who, target=target)
    monkeypatch.setattr(embedder_fill, "BATCH", 2)
    respond, asked = server.respond, []

    def dies(request):
        asked.append(request)
        return respond(request) if len(asked) < 2 else Reply(status=401)

    server.respond = dies
    vectors_tend()
    row.refresh_from_db()
    job = switch_fill(row)
    assert (row.state, job.done, job.error_code) == (State.BUILDING, 2, "embedder_refused")
    with pytest.raises(EmbedderSwitchError, match="Not all passages"):
        switch_finish(**who, switch_id=row.pk)
    assert found(platform)

    switch_pause(**who, switch_id=row.pk)
    server.respond = respond
    assert vectors_tend() == 0
    switch_resume(**who, switch_id=row.pk)
    vectors_tend()
    row.refresh_from_db()
    job = switch_fill(row)
    assert (row.state, job.done, job.error_code) == (State.READY, job.total, "")

    switch_cancel(**who, switch_id=row.pk)
    vectors_sweep()
    assert not WholeVector.objects.filter(embedding_model=row.model).exists()


def test_the_text_of_every_entry_is_read_as_it_was_embedded(platform, who, target, corpus, server):
    derived = IndexEntry.objects.exclude(representation="body")
    assert EntryText.objects.count() == derived.count()
    embedder = model_registry.embedder_of(model_registry.setup_now().embedder)
    for row in embedder_fill.texts_without(model="none", after=0, limit=100):
        stored = WholeVector.objects.get(entry_id=row.entry)
        [again] = embedder.embed_documents([embedder_fill.entry_text(row)])
        np.testing.assert_allclose(np.array(stored.vector, dtype=np.float32), again, atol=2e-3)


def test_only_administrators_of_the_site_change_models(who, target, corpus):
    stranger = make_admin(tenant=make_tenant())
    theirs = {"scope": scope_of(stranger), "actor": stranger}

    for act in (
        lambda: switch_start(**theirs, target=target),
        lambda: switch_back(**theirs),
        lambda: search_model_test(**theirs, model=target),
        lambda: search_model_delete(**theirs, model=target),
        lambda: search_model_save(**theirs, model=SearchModel(), values={"provider": "packaged"}),
    ):
        with pytest.raises(MissingRightError):
            act()


def test_a_model_in_use_keeps_what_its_vectors_were_made_with(who, target, corpus):
    switch_start(**who, target=target)

    with pytest.raises(SearchModelInvalidError, match="only address and key"):
        search_model_save(**who, model=target, values={"query_prefix": "q: "})
    with pytest.raises(SearchModelInvalidError, match="in use"):
        search_model_delete(**who, model=target)
    with pytest.raises(EmbedderSwitchError, match="Another change"):
        switch_start(**who, target=target)


def test_what_the_environment_sets_is_not_overruled(who, target, corpus, settings, server):
    row = switch_start(**who, target=target)
    vectors_tend()
    settings.EMBEDDER, settings.EMBEDDING_BASE_URL = "openai:other", server.url
    setup_refresh(now=True)

    with pytest.raises(EmbedderSwitchError, match="environment"):
        switch_finish(**who, switch_id=row.pk)
    assert model_registry.live_model() == "other"


@pytest.fixture
def guarded(platform, who, target, corpus):
    """A switch that is ready, and that a golden set guards."""
    rows = [GoldenRow(question="How is the tilt of the antenna adjusted?", relevant=("tilt",), answers=("a motor",))]
    golden_import(tenant=platform.tenant, name="masts", rows=rows).golden_set.sets.add(corpus)
    row = switch_start(**who, target=target)
    vectors_tend()
    return row


def test_golden_sets_are_asked_with_both_models_before_the_switch(platform, who, guarded, server):
    row = guarded
    with pytest.raises(MeasuredFirstError):
        embedder_publish(**who, switch_id=row.pk)
    change = GatedChange.objects.get()
    before = len(server.requests)
    for run in change.runs.all():
        run_work_off(run)
    assert [asked.body["input"] for asked in server.requests[before:]][0][0].startswith("query: ")
    assert (change_settle(change=change).state, model_registry.live_model()) != ("measuring", row.model)
    GatedChange.objects.update(state="failed")
    with pytest.raises(ChangeNotDecidableError):
        change_publish(**who, change=change)
    with pytest.raises(MeasuredFirstError):  # no way around
        embedder_publish(**who, switch_id=row.pk)

    change_publish(**who, change=change, reason="The old server is switched off.")

    assert model_registry.live_model() == row.model
    assert EmbedderSwitch.objects.get(state=State.LIVE).reason == "The old server is switched off."
    assert AuditEvent.objects.filter(action="change.override").exists()


@pytest.fixture
def failed(who, corpus, guarded):
    """The change that holds the switch, measured, and a passage that came since."""
    with pytest.raises(MeasuredFirstError):
        embedder_publish(**who, switch_id=guarded.pk)
    GatedChange.objects.update(state="failed")
    ingest(who["actor"], corpus, late="A late page about the grounding of towers.")
    return GatedChange.objects.get()


def test_no_change_is_locked_while_vectors_are_made_for_the_switch(who, guarded, failed, server):
    respond, free = server.respond, []

    def looks(asked):
        apart(lambda: free.append(lockable(failed.pk)))
        return respond(asked)

    server.respond = looks
    change_publish(**who, change=failed, reason="The old server is switched off.")

    assert free
    assert all(free)
    assert model_registry.live_model() == guarded.model


def lockable(pk):
    """Whether nobody holds the change."""
    with transaction.atomic():
        return GatedChange.objects.select_for_update(skip_locked=True).filter(pk=pk).exists()


def test_a_switch_that_fails_leaves_its_change_open(who, guarded, failed, server):
    respond, before = server.respond, model_registry.live_model()
    server.respond = lambda asked: Reply(status=401)

    with pytest.raises(RagError):
        change_publish(**who, change=failed, reason="The old server is switched off.")

    failed.refresh_from_db()
    assert (failed.state, failed.reason, failed.decided_by, failed.decided) == ("failed", "", None, None)
    assert model_registry.live_model() == before
    assert not AuditEvent.objects.filter(action="change.override").exists()
    server.respond = respond
    change_publish(**who, change=failed, reason="It answers again.")
    assert model_registry.live_model() == guarded.model
    assert AuditEvent.objects.get(action="change.override").data["reason"] == "It answers again."
