"""Domain vectors: made beside the searches, kept up with new passages, switched in one act, and back."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest
from django.db import transaction

from accounts.errors import MissingRightError, NotFoundError
from accounts.models import AuditEvent
from knowledge.backends import set_questions
from knowledge.indexes import latent_switch, rotations, search_space
from knowledge.indexes.copy import EntryPlace, set_vectors_copy
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.latent import latent_name
from knowledge.models import (
    IndexEntry,
    KnowledgeSet,
    LatentModel,
    LatentTerm,
    LatentVector,
    SearchModel,
    SetEmbedder,
    TenantVectors,
    WholeVector,
)
from knowledge.models import QueryAdapter as AdapterRow
from knowledge.services import document_delete, latent_models, retrieve
from knowledge.types import RetrievalRequest
from knowledge.vector_errors import LatentModelError
from ragcore.embedding.query_adapter import QueryAdapter
from tests.factories import ingest, make_admin, make_set, make_tenant, make_user, scope_of

pytestmark = pytest.mark.django_db(transaction=True)

State = LatentModel.State
PASSAGES = 24


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    for memory in (search_space.counts, search_space.tails, search_space.indexed, rotations.states):
        memory.clear()
    monkeypatch.setattr(latent_models, "LEAST_PASSAGES", 10)
    monkeypatch.setattr(latent_models, "FILL_BATCH", 10)
    monkeypatch.setattr(latent_models, "DRIFT_LEAST", 5)


@pytest.fixture
def owner():
    owner = make_admin()
    ingest(
        owner, make_set("common", owners=[owner]), **texts("d", "beams, antennas and the losses of filter", PASSAGES)
    )
    return owner


def texts(prefix, about, count):
    return {f"{prefix}{n}": f"Report {n} about {about} {n}. Number {n} was measured twice." for n in range(count)}


def ask(owner, query="What are the losses of filter 7?", mode="vector"):
    return retrieve(scope=scope_of(owner), request=RetrievalRequest(query=query, mode=mode, top_k=PASSAGES + 1))


def titles(found):
    return [c.passage.external_id for c in found.state.candidates]


def state():
    return TenantVectors.objects.get()


def test_every_entry_gets_a_vector_and_searches_use_them(owner):
    before = ask(owner)

    assert latent_models.latents_refresh() == PASSAGES

    latent = LatentModel.objects.get()
    assert (latent.state, latent.number, latent.passages) == (State.LIVE, 1, PASSAGES)
    assert (state().latent, state().latents) == (latent.pk, [latent.pk])
    assert latent.captured == pytest.approx(1.0, abs=0.01)
    assert set(LatentVector.objects.values_list("embedding_model", flat=True)) == {latent_name(latent.model, latent.pk)}
    after = ask(owner)
    assert titles(after)[0] == "d7"
    assert sorted(titles(after)) == sorted(titles(before))
    assert len(after.state.query.vector) == 1536


def test_the_cosines_are_those_of_stored_vectors(owner):
    latent_models.latents_refresh()
    latent = LatentModel.objects.get()
    found = ask(owner)
    asked = found.state.query.vector[768:]
    rows = LatentVector.objects.values_list("chunk_id", "vector")
    cosines = {chunk: float(np.dot(np.array(vector, np.float32), asked)) for chunk, vector in rows}

    for chunk, score in found.state.arms["dense"].items():
        weight = float(np.linalg.norm(asked))
        expected = weight * min(1.0, latent.cosine_offset + latent.cosine_slope * cosines[chunk] / weight)
        assert score == pytest.approx(expected, abs=5e-3)


def test_the_hybrid_search_compares_the_vectors_of_the_embedder(owner):
    before = ask(owner, mode="hybrid")
    latent_models.latents_refresh()
    after = ask(owner, mode="hybrid")

    assert after.state.arms == before.state.arms
    assert titles(after) == titles(before)


def test_a_question_of_unknown_words_is_not_near(owner):
    latent_models.latents_refresh()
    near, far = ask(owner), ask(owner, "zither quince marzipan 7")

    known = [float(np.linalg.norm(found.state.query.vector[768:])) for found in (far, near)]
    assert known[0] < known[1] == pytest.approx(1.0, abs=1e-3)
    assert max(far.state.arms["dense"].values()) < max(near.state.arms["dense"].values())


def test_a_second_run_has_nothing_to_do_and_few_passages_stay_as_they_are(owner, monkeypatch):
    monkeypatch.setattr(latent_models, "LEAST_PASSAGES", PASSAGES + 1)
    assert latent_models.latents_refresh() == 0
    monkeypatch.setattr(latent_models, "LEAST_PASSAGES", PASSAGES)
    assert latent_models.latents_refresh() == PASSAGES
    assert latent_models.latents_refresh() == 0
    assert LatentModel.objects.count() == 1


def test_new_passages_are_folded_in_and_deleted_ones_go(owner):
    latent_models.latents_refresh()
    made = ingest(owner, make_set("more", owners=[owner]), extra="The losses of filter 99 were found in Oslo.")

    assert LatentVector.objects.count() == PASSAGES + 1
    assert titles(ask(owner, "losses of filter 99 in Oslo"))[0] == "extra"
    with transaction.atomic():
        document_delete(scope=scope_of(owner), actor=owner, document_id=made["extra"].pk)
    IndexEntry.objects.filter(version__document=made["extra"]).delete()
    assert LatentVector.objects.count() == PASSAGES


def test_questions_find_everything_at_every_step_of_a_switch(owner, monkeypatch):
    everything = sorted(titles(ask(owner)))
    seen = []

    def looked(**given):
        done = latent_switch.latent_fill(**given)
        seen.append((LatentVector.objects.count(), sorted(titles(ask(owner)))))
        if len(seen) == 1:
            ingest(owner, make_set("more", owners=[owner]), extra="Written in the middle of it, about filter 7.")
        return done

    monkeypatch.setattr(latent_models, "latent_fill", looked)
    latent_models.latents_refresh()

    assert [found for _, found in seen] == [everything, *[sorted([*everything, "extra"])] * (len(seen) - 1)]
    assert "extra" in titles(ask(owner))
    assert LatentVector.objects.count() == PASSAGES + 1


def test_an_interrupted_run_is_continued(owner, monkeypatch):
    def broken(**given):
        latent_switch.latent_fill(**given)
        raise ConnectionError

    with monkeypatch.context() as patch:
        patch.setattr(latent_models, "latent_fill", broken)
        with pytest.raises(ConnectionError):
            latent_models.latents_refresh()
    assert (state().latent, LatentModel.objects.get().state) == (0, State.BUILDING)

    assert latent_models.latents_refresh() == PASSAGES
    assert state().latent == LatentModel.objects.get().pk


def test_twice_as_many_passages_are_fitted_anew_and_the_way_back_is_one_act(owner):
    latent_models.latents_refresh()
    ingest(owner, make_set("more", owners=[owner]), **texts("m", "towers and their lamps in the north", PASSAGES))
    assert latent_models.latents_refresh() == 2 * PASSAGES
    first, second = LatentModel.objects.order_by("number")
    assert (first.state, second.state) == (State.RETIRED, State.LIVE)
    assert state().latents == [second.pk, first.pk]

    latent_models.latent_use(scope=scope_of(owner), actor=owner, latent_id=first.pk)

    assert state().latent == first.pk
    assert titles(ask(owner))[0] == "d7"
    assert LatentVector.objects.filter(latent_id=first.pk).count() == 2 * PASSAGES
    assert "domain_vectors.switch" in set(AuditEvent.objects.values_list("action", flat=True))


def test_only_the_version_before_is_kept(owner, monkeypatch):
    monkeypatch.setattr(latent_models, "AGAIN", 1.0)
    for _ in range(3):
        latent_models.latents_refresh()

    assert list(LatentModel.objects.order_by("number").values_list("state", flat=True)) == [
        State.DROPPED,
        State.RETIRED,
        State.LIVE,
    ]
    assert LatentVector.objects.count() == 2 * PASSAGES
    assert set(LatentTerm.objects.values_list("latent_id", flat=True)) == set(state().latents)


def test_passages_about_other_things_are_measured_as_drift(owner, monkeypatch):
    latent_models.latents_refresh()
    monkeypatch.setattr(latent_models, "MOST_DRIFT", 2.0)
    ingest(owner, make_set("more", owners=[owner]), **texts("m", "soups, breads and pears of our kitchen", 9))
    latent_models.latents_refresh()
    latent = LatentModel.objects.get()
    assert latent.drift_passages == 9
    assert latent.drift > 0.3

    monkeypatch.setattr(latent_models, "MOST_DRIFT", 0.3)
    latent_models.latents_refresh()

    assert LatentModel.objects.filter(state=State.LIVE).get().number == 2


def test_switched_off_they_stay_off_until_they_are_switched_on(owner):
    latent_models.latents_refresh()
    latent = LatentModel.objects.get()
    before = titles(ask(owner))

    latent_models.latent_switch_off(scope=scope_of(owner), actor=owner, latent_id=latent.pk)
    assert len(ask(owner).state.query.vector) == 768
    assert latent_models.latents_refresh() == 0
    with pytest.raises(LatentModelError):
        latent_models.latent_switch_off(scope=scope_of(owner), actor=owner, latent_id=latent.pk)

    latent_models.latent_use(scope=scope_of(owner), actor=owner, latent_id=latent.pk)
    assert titles(ask(owner)) == before
    with pytest.raises(LatentModelError):
        latent_models.latent_use(scope=scope_of(owner), actor=owner, latent_id=latent.pk)


def acts_for(owner):
    return {"scope": scope_of(owner), "actor": owner}


def test_switched_off_while_a_version_is_built_none_is_switched_on(owner, monkeypatch):
    latent_models.latents_refresh()
    first = LatentModel.objects.get()
    ingest(owner, make_set("more", owners=[owner]), **texts("m", "towers and their lamps in the north", PASSAGES))

    def switched_off(**given):
        if not state().latent_off:
            latent_models.latent_switch_off(**acts_for(owner), latent_id=first.pk)
        return latent_switch.latent_fill(**given)

    monkeypatch.setattr(latent_models, "latent_fill", switched_off)
    latent_models.latents_refresh()

    second = LatentModel.objects.get(number=2)
    assert (state().latent, state().latent_off, second.state) == (0, True, State.RETIRED)
    assert state().latents == [first.pk, second.pk]
    assert LatentVector.objects.filter(latent_id=second.pk).count() == 2 * PASSAGES
    latent_models.latent_use(**acts_for(owner), latent_id=second.pk)
    assert (state().latent, state().latent_off) == (second.pk, False)


def test_switched_on_again_the_version_that_is_kept_comes_back(owner):
    latent_models.latents_refresh()
    latent = LatentModel.objects.get()
    latent_models.latent_switch_off(**acts_for(owner), latent_id=latent.pk)

    latent_models.latent_fit_request(**acts_for(owner))
    assert latent_models.latents_refresh() == 0

    latent.refresh_from_db()
    assert (state().latent, latent.state) == (latent.pk, State.LIVE)


def test_switched_on_again_a_version_is_made_where_none_is_kept(owner):
    latent_models.latents_refresh()
    LatentModel.objects.update(state=State.DROPPED)
    LatentVector.objects.all().delete()
    TenantVectors.objects.update(latent=0, latents=[], latent_off=True)

    latent_models.latent_fit_request(**acts_for(owner))
    assert latent_models.latents_refresh() == PASSAGES

    assert state().latent == LatentModel.objects.get(number=2).pk


def test_a_version_is_measured_with_sentences_of_the_passages(owner, monkeypatch):
    latent_models.latents_refresh()
    latent = LatentModel.objects.get()
    figures = latent.figures
    assert (figures["questions"], figures["passages"]) == (PASSAGES, PASSAGES)
    assert 0 < figures["embedder"] <= figures["domain"] == 1
    titles_of = [titles(ask(owner, f"Number {n} was measured twice"))[:10] for n in range(PASSAGES)]
    assert all(f"d{n}" in found for n, found in enumerate(titles_of))  # what searches find is what was measured

    LatentModel.objects.update(figures={})  # of an earlier release
    latent_models.latents_refresh()
    assert LatentModel.objects.get().figures == figures

    monkeypatch.setattr(latent_models, "LEAST_QUESTIONS", PASSAGES + 1)
    LatentModel.objects.update(figures={})
    latent_models.latents_refresh()
    assert LatentModel.objects.get().figures == {"questions": PASSAGES, "passages": PASSAGES}


@pytest.mark.parametrize(("domain", "comes"), [(0.88, True), (0.87, False)], ids=["a little less", "less"])
def test_a_version_that_finds_less_is_kept_until_somebody_uses_it(owner, monkeypatch, domain, comes):
    shares = iter([0.9, domain, 0.9, 0.95])
    monkeypatch.setattr(latent_models, "found_share", lambda _cosines, _own: next(shares))
    latent_models.latents_refresh()
    first = LatentModel.objects.get()
    assert (first.state, state().latent) == ((State.LIVE, first.pk) if comes else (State.RETIRED, 0))
    assert state().latents == [first.pk]
    assert latent_models.latents_refresh() == 0  # nor is it made again and again

    if not comes:
        latent_models.latent_use(**acts_for(owner), latent_id=first.pk)
        latent_models.latent_switch_off(**acts_for(owner), latent_id=first.pk)
        latent_models.latent_fit_request(**acts_for(owner))
        latent_models.latents_refresh()
        assert state().latent == 0

    ingest(owner, make_set("more", owners=[owner]), **texts("m", "towers and their lamps in the north", PASSAGES))
    latent_models.latents_refresh()
    assert state().latent == LatentModel.objects.get(number=2).pk


def test_a_later_version_that_finds_less_leaves_the_one_in_use(owner, monkeypatch):
    latent_models.latents_refresh()
    first = LatentModel.objects.get()
    ingest(owner, make_set("more", owners=[owner]), **texts("m", "towers and their lamps in the north", PASSAGES))
    shares = iter([0.9, 0.8])
    monkeypatch.setattr(latent_models, "found_share", lambda _cosines, _own: next(shares))

    latent_models.latents_refresh()

    second = LatentModel.objects.get(number=2)
    assert (state().latent, state().latents, second.state) == (first.pk, [first.pk, second.pk], State.RETIRED)
    latent_models.latent_use(**acts_for(owner), latent_id=second.pk)
    assert (state().latent, state().latents) == (second.pk, [second.pk, first.pk])


def test_whoever_does_not_administer_the_tenant_switches_nothing(owner):
    latent_models.latents_refresh()
    latent = LatentModel.objects.get()
    person, stranger = make_user(), make_user(tenant=make_tenant(), is_staff=True, is_superuser=True)

    for act in (latent_models.latent_use, latent_models.latent_switch_off):
        with pytest.raises(MissingRightError):
            act(scope=scope_of(person), actor=person, latent_id=latent.pk)
        with pytest.raises(NotFoundError):
            act(scope=scope_of(stranger), actor=stranger, latent_id=latent.pk)
    with pytest.raises(MissingRightError):
        latent_models.latent_fit_request(scope=scope_of(person), actor=person)
    assert state().latent == latent.pk


def live_adapter(owner):
    """A query adapter in use that would turn every question elsewhere."""
    home = KnowledgeSet.objects.get(code="common", tenant=owner.tenant)
    shift = np.full(768, 1.0, np.float32)
    adapter = QueryAdapter(down=np.zeros((768, 1), np.float32), up=np.zeros((1, 768), np.float32), shift=shift)
    return AdapterRow.objects.create(
        tenant_id=home.tenant_id,
        knowledge_set=home,
        number=1,
        state=AdapterRow.State.LIVE,
        model=TenantVectors.objects.get().model,
        weights=adapter.pack(),
    )


@pytest.mark.parametrize("adapts", [False, True], ids=["no adapter", "a query adapter takes no part"])
def test_explanations_show_the_cosine_of_the_search(owner, adapts):
    from knowledge.services.passage_evidence import passages_explain
    from knowledge.types import Filters

    latent_models.latents_refresh()
    if adapts:
        live_adapter(owner)
    found = ask(owner)
    assert titles(found)[0] == "d7"
    chunk, score = next(iter(found.state.arms["dense"].items()))

    told = passages_explain(
        scope=scope_of(owner), within=None, sets=(), filters=Filters(), query=found.state.query, chunks=[chunk]
    )

    assert told[chunk].dense == pytest.approx(score, abs=2e-3)
    assert isinstance(LatentModel.objects.get().created, datetime)


def test_a_model_of_the_set_is_compared_beside_domain_vectors(owner, monkeypatch):
    latent_models.latents_refresh()
    home = KnowledgeSet.objects.get(code="common", tenant=owner.tenant)
    target = SearchModel.objects.create(task="embed", provider="server", name="own", vectors="own", url="http://x")
    scale = {"offset": 0.1, "slope": 0.5, "prefix_offset": 0.0, "prefix_slope": 1.0, "questions": 9, "passages": 9}
    figures = {"scales": {TenantVectors.objects.get().model: scale}}
    given = {"tenant_id": home.tenant_id, "knowledge_set": home, "target": target, "model": "own", "figures": figures}
    SetEmbedder.objects.create(**given, number=1, state="live")
    rows = list(WholeVector.objects.all())
    places = [EntryPlace(r.entry_id, r.chunk_id, r.version_id, r.tenant_id, r.representation) for r in rows]
    own = {r.chunk_id: np.array(r.vector, np.float32)[::-1] for r in rows}
    set_vectors_copy(places, model="own", vectors=[own[r.chunk_id] for r in rows])
    asked = np.roll(next(iter(own.values())), 3)[None, :]
    monkeypatch.setattr(set_questions, "set_questions_embed", lambda texts, used: np.repeat(asked, len(texts), axis=0))
    epoch_advance(tenant_id=home.tenant_id)

    both = ask(owner).state.arms["dense"]

    SetEmbedder.objects.all().delete()
    epoch_advance(tenant_id=home.tenant_id)
    site = ask(owner).state.arms["dense"]
    known = both.keys() & site.keys()
    expected = {chunk: (site[chunk] + 0.1 + 0.5 * float(own[chunk] @ asked[0])) / 2 for chunk in known}
    assert len(known) > 10
    assert {chunk: both[chunk] for chunk in known} == pytest.approx(expected, abs=3e-3)
