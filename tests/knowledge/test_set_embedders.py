"""An embedding model of a set: made beside questions, measured, searched in its set alone, taken back."""

from __future__ import annotations

import re

import numpy as np
import pytest

from accounts.errors import NotAllowedError, NotFoundError
from accounts.models import AuditEvent, Tenant
from evaluation.models import GatedChange
from evaluation.services.gates import change_publish
from evaluation.services.golden import golden_import
from evaluation.services.golden_files import GoldenRow
from evaluation.services.training_publishing import set_embedder_publish
from knowledge import model_registry, set_questions
from knowledge.errors import MeasuredFirstError
from knowledge.indexes import corpus_epoch
from knowledge.model_errors import SearchModelInvalidError
from knowledge.model_setup import setup_forget
from knowledge.models import Document, EmbedderFit, IndexEntry, SearchModel, SetEmbedder, SetVector, WholeVector
from knowledge.queue import FILL_SET_VECTORS
from knowledge.search_profile import search_profile
from knowledge.selectors.answer_space import answer_space
from knowledge.selectors.search_parts import search_parts
from knowledge.selectors.visibility import visible_to
from knowledge.services import document_delete, embedder_fill, maintenance, retrieve
from knowledge.services.embedder_switch import switch_back, switch_finish, switch_start
from knowledge.services.passage_evidence import passages_explain, query_embed
from knowledge.services.search_models import search_model_delete, search_model_save
from knowledge.services.set_embedder_fill import set_vectors_sweep
from knowledge.services.set_embedders import (
    set_embedder_cancel,
    set_embedder_drop,
    set_embedder_pause,
    set_embedder_resume,
    set_embedder_start,
    set_embedder_switch_off,
    set_embedder_switch_on,
)
from knowledge.types import RetrievalRequest
from knowledge.vector_errors import SetEmbedderError
from tests.factories import ingest, make_admin, make_set, make_tenant, make_user, scope_of
from tests.knowledge.fills import set_fill, set_vectors_tend, switch_fill, vectors_tend
from tests.knowledge.owned_rows import owned
from tests.knowledge.test_embedder_switch import bag_of_words
from tests.knowledge.test_query_adapters import towards
from tests.scripted_llm import Reply, serving

State = SetEmbedder.State
TEXTS = {
    "blorf": "The blorf is quenched with nimsel before the drommel rises in the morning.",
    "tilt": "The remote electrical tilt of an antenna is adjusted by a motor in its radome.",
    "feeder": "A feeder cable connects the radio unit with the antenna on the mast.",
    "battery": "The battery of a site lasts for four hours when the mains fail.",
    "alarm": "An alarm of the cooling unit is closed by hand after the fan was changed.",
}
# the only one that knows that these mean the same is the set's model
MEANS = {"grimbel": "blorf", "yaxted": "quenched", "ploonz": "nimsel", "vurtic": "drommel"}
ASKED = "grimbel yaxted ploonz vurtic"
JARGON = "mast radio cable unit"  # which the trade says for the same, and the site's model takes for the feeder


def of_trade(text):
    if text == JARGON:
        text = ASKED
    return bag_of_words(" ".join(MEANS.get(word, word) for word in re.findall(r"\w+", text.lower())))


def corpus_make(owner, common):
    return ingest(owner, common, **TEXTS)


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=owned(corpus_make))]


@pytest.fixture
def server(settings):
    settings.FETCH_ALLOWED_HOSTS = ("127.0.0.1",)
    set_questions.rested()
    with serving() as scripted:
        scripted.respond = lambda asked: Reply(vectors=tuple(of_trade(text) for text in asked.body["input"]))
        yield scripted
    setup_forget()
    set_questions.rested()
    model_registry.embedder_of.cache_clear()


@pytest.fixture
def target(server, owner):
    who = {"scope": scope_of(owner), "actor": owner}
    values = {"task": "embed", "provider": "server", "name": "trade", "url": server.url}
    row = search_model_save(**who, model=SearchModel(), values=values, key="key-7")
    EmbedderFit.objects.create(model=row.vectors, dimensions=768, floor=0.2)  # as if measured
    SearchModel.objects.filter(pk=row.pk).update(test_code="ok")
    return row


@pytest.fixture
def corpus(kept_rows):
    return kept_rows[2]


def who(user):
    return {"scope": scope_of(user), "actor": user}


def started(owner, home, target, mode="fused"):
    return set_embedder_start(**who(owner), set_id=home.pk, target_id=target.pk, mode=mode)


def switched_on(owner, home, target, mode="fused"):
    row = started(owner, home, target, mode)
    set_vectors_tend()
    return set_embedder_switch_on(**who(owner), embedder_id=row.pk)


def searched(user, *homes, question=ASKED, mode="vector", **options):
    request = RetrievalRequest(query=question, sets=tuple(home.pk for home in homes), mode=mode, options=options)
    return retrieve(scope=scope_of(user), request=request).state


def found(user, *homes, **asked):
    return [one.passage.external_id for one in searched(user, *homes, **asked).candidates]


def scores(user, *homes, **asked):
    return {one.passage.external_id: one.scores["dense"] for one in searched(user, *homes, **asked).candidates}


def ways(state):
    return [note["way"] for record in state.records for note in record.note.get("set_models", ())]


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize("mode", ["fused", "alone"])
def test_a_model_of_a_set_is_made_switched_on_off_and_deleted(owner, common, target, mode):
    before, space = scores(owner, common), answer_space(scope=scope_of(owner), sets=[common.pk])
    assert found(owner, common, question=JARGON)[0] == "feeder"
    row = started(owner, common, target, mode)
    with pytest.raises(SetEmbedderError, match="Not all passages"):
        set_embedder_switch_on(**who(owner), embedder_id=row.pk)

    set_vectors_tend()

    row.refresh_from_db()
    job, every = set_fill(row), IndexEntry.objects.count()
    assert (row.state, job.state, job.done, job.total) == (State.READY, "done", every, every)
    assert scores(owner, common) == before  # not in use yet
    assert found(owner, common, set_embedder=row.number)[0] == "blorf"  # but it can be tried
    set_embedder_switch_on(**who(owner), embedder_id=row.pk)

    assert found(owner, common)[0] == "blorf"
    assert found(owner)[0] == "blorf"  # of all sets
    assert found(owner, common, question=JARGON)[0] == "blorf"
    assert found(owner, common, mode="hybrid")[0] == "blorf"
    assert scores(owner, common, set_embedder=0) == before
    now = answer_space(scope=scope_of(owner), sets=[common.pk])
    assert (space.set_embedders, now.set_embedders) == ((), (row.pk,))  # part of the key of cached answers
    assert now.epoch > space.epoch

    set_embedder_switch_off(**who(owner), embedder_id=row.pk)
    assert scores(owner, common) == before
    set_embedder_switch_on(**who(owner), embedder_id=row.pk)  # at once
    set_embedder_switch_off(**who(owner), embedder_id=row.pk)
    set_embedder_drop(**who(owner), embedder_id=row.pk)
    set_vectors_sweep(tenant_id=owner.tenant_id, model=row.model)  # as the task does

    assert not SetVector.objects.exists()
    assert WholeVector.objects.count() == IndexEntry.objects.count()
    actions = AuditEvent.objects.filter(action__startswith="set_embedder.").order_by("pk")
    assert [one.action.partition(".")[2] for one in actions] == [
        *("start", "switch_on", "switch_off", "switch_on", "switch_off", "drop")
    ]


@pytest.mark.usefixtures("corpus")
def test_scores_are_the_mean_of_both_models_and_the_explanation_says_the_same(owner, common, target):
    row = switched_on(owner, common, target)
    SetVector.objects.filter(
        entry_id__in=IndexEntry.objects.filter(chunk__text__contains="battery").values("pk")
    ).delete()
    scale = {"offset": 0.05, "slope": 0.5, "prefix_offset": 0.0, "prefix_slope": 1.0, "questions": 9, "passages": 9}
    SetEmbedder.objects.filter(pk=row.pk).update(figures={"scales": {model_registry.live_model(): scale}})
    set_embedder_switch_off(**who(owner), embedder_id=row.pk)
    set_embedder_switch_on(**who(owner), embedder_id=row.pk)  # another epoch

    state = searched(owner, common, top_k=5)

    site = model_registry.embedder().embed_queries([ASKED])[0]
    own = np.array(of_trade(ASKED)) / np.linalg.norm(of_trade(ASKED))
    for one in state.candidates:
        text = TEXTS[one.passage.external_id]
        cosine = float(model_registry.embedder().embed_documents([text])[0] @ site)
        theirs = np.array(of_trade(text)) / np.linalg.norm(of_trade(text))
        both = (cosine + 0.05 + 0.5 * float(theirs @ own)) / 2
        expected = cosine if one.passage.external_id == "battery" else both
        assert one.scores["dense"] == pytest.approx(expected, abs=0.03)  # titles are embedded, too
    profile = search_profile(scope=scope_of(owner), request=RetrievalRequest(query="", sets=(common.pk,)))
    told = passages_explain(profile=profile, query=state.query, chunks=[one.chunk for one in state.candidates])
    assert {chunk: one.dense for chunk, one in told.items()} == pytest.approx(
        {one.chunk: one.scores["dense"] for one in state.candidates}, abs=2e-3
    )
    of_words = query_embed(profile, searched(owner, common, mode="bm25").query)
    again = passages_explain(profile=profile, query=of_words, chunks=list(told))
    assert {chunk: one.dense for chunk, one in again.items()} == pytest.approx(
        {chunk: one.dense for chunk, one in told.items()}, abs=2e-3
    )


@pytest.mark.usefixtures("corpus")
def test_each_set_is_compared_by_its_own_model(owner, common, target):
    other = make_set("kitchen", owners=[owner])
    ingest(owner, other, soup="The grimbel of the kitchen stands beside the oven.")
    before = scores(owner, other)
    switched_on(owner, common, target)

    assert SetVector.objects.count() == IndexEntry.objects.filter(version__document__sets=common).count()
    assert scores(owner, other) == before
    both = searched(owner, common, other, top_k=6)
    assert {one.passage.external_id: one.scores["dense"] for one in both.candidates}["soup"] == pytest.approx(
        before["soup"], abs=1e-3
    )
    assert [one.passage.external_id for one in both.candidates][0] == "blorf"
    assert set(ways(both)) == {"both"}


@pytest.mark.full
def test_at_most_four_sets_have_something_of_their_own_in_a_search(owner, target):
    homes = [make_set(f"set-{n}", owners=[owner]) for n in range(5)]
    for home in homes:
        ingest(owner, home, **{f"in-{home.code}": f"The text of {home.code} tells of a blorf."})
    for home in homes[1:]:
        switched_on(owner, home, target, "alone")
    towards("anything", home=homes[0], state="live", strength=0.1)
    scope = scope_of(owner)
    site_model = model_registry.live_model()

    parts = search_parts(scope=scope, visible=visible_to(scope=scope), site_model=site_model)

    assert [(part.adapter is None, part.own and part.own.set_id) for part in parts] == [
        (False, None),
        *((True, home.pk) for home in homes[1:4]),
        (True, None),  # the rest, the fifth set in it
    ]
    assert len(found(owner, *homes, top_k=5)) == 5


@pytest.mark.usefixtures("corpus")
def test_an_adapter_turns_the_question_for_the_sites_model_only(owner, common, target):
    towards(TEXTS["alarm"], home=common, state="live")
    corpus_epoch.epoch_advance(tenant_id=common.tenant_id)
    adapted = scores(owner, common)
    plain = scores(owner, common, query_adapter=0)
    row = switched_on(owner, common, target)
    own = scores(owner, common, query_adapter=0)

    both = scores(owner, common)
    assert max(adapted, key=adapted.__getitem__) == "alarm"
    assert {name: both[name] - own[name] for name in both} == pytest.approx(
        {name: (adapted[name] - plain[name]) / 2 for name in both}, abs=2e-3
    )
    SetEmbedder.objects.filter(pk=row.pk).update(mode="alone")
    corpus_epoch.epoch_advance(tenant_id=common.tenant_id)
    assert scores(owner, common) == scores(owner, common, query_adapter=0)


def test_nobody_finds_through_the_set_what_they_may_not_see(owner, common, target):
    closed = make_set("closed", owners=[owner], visibility="members")
    ingest(owner, common, secret="The blorf is quenched with nimsel at drommel.", clearance=3)
    ingest(owner, common, open="A mast is painted red and white.")
    ingest(owner, closed, hidden="The blorf is quenched with nimsel at drommel, they say.")
    switched_on(owner, common, target)
    switched_on(owner, closed, target, "alone")
    reader = make_user("reader", tenant=owner.tenant, clearance=1)

    assert found(reader) == found(reader, common) == ["open"]
    assert found(reader, closed, set_embedder=1) == []
    assert set(found(owner)) == {"secret", "open", "hidden"}
    document_delete(scope=scope_of(owner), actor=owner, document_id=Document.objects.get(external_id="hidden").pk)
    assert set(found(owner)) == {"secret", "open"}


@pytest.mark.full
@pytest.mark.usefixtures("corpus")
def test_new_and_moved_passages_follow(owner, common, target, monkeypatch):
    sent = []
    monkeypatch.setattr(corpus_epoch, "due_enqueue", sent.append)
    row = switched_on(owner, common, target)
    sent.clear()
    late = ingest(owner, common, late="A grimbel of glass is yaxted with ploonz.")["late"]
    assert FILL_SET_VECTORS in sent
    assert "late" in found(owner, common, top_k=6)  # by the site's model until then

    assert set_vectors_tend() > 0
    assert found(owner, common, question="blorf of glass")[0] == "late"
    other = make_set("elsewhere", owners=[owner])
    late.sets.set([other])
    assert set_vectors_sweep() == 1
    late.sets.set([other, common])
    assert set_vectors_tend() == 1
    ingest(owner, common, late="A lamp shines.")  # another version
    set_vectors_tend()
    assert set(SetVector.objects.filter(version_id=late.live_version_id)) != set()
    IndexEntry.objects.filter(version__document__external_id="tilt").delete()
    assert (
        not SetVector.objects.filter(entry_id__isnull=False)
        .exclude(entry_id__in=IndexEntry.objects.values("pk"))
        .exists()
    )

    row.knowledge_set.delete()
    monkeypatch.setattr(maintenance, "indexes_rebuild", lambda: iter(()))
    maintenance.maintenance_run()
    assert not SetVector.objects.exists()


@pytest.mark.usefixtures("corpus")
def test_a_killed_paused_or_refused_worker_loses_nothing(owner, common, target, server, monkeypatch):
    monkeypatch.setattr(embedder_fill, "BATCH", 2)
    row = started(owner, common, target)
    respond, asked = server.respond, []

    def dies(request):
        asked.append(request)
        return respond(request) if len(asked) < 2 else Reply(status=401)

    server.respond = dies
    set_vectors_tend()
    row.refresh_from_db()
    assert (row.state, set_fill(row).done, set_fill(row).error_code) == (State.BUILDING, 2, "embedder_refused")

    set_embedder_pause(**who(owner), embedder_id=row.pk)
    server.respond = respond
    assert set_vectors_tend() == 0
    assert SetVector.objects.count() == 2
    set_embedder_resume(**who(owner), embedder_id=row.pk)
    set_vectors_tend()
    row.refresh_from_db()
    job = set_fill(row)
    assert (row.state, job.done, job.error_code) == (State.READY, job.total, "")

    set_embedder_cancel(**who(owner), embedder_id=row.pk)
    set_vectors_sweep(tenant_id=owner.tenant_id, model=row.model)
    assert not SetVector.objects.exists()


@pytest.mark.usefixtures("corpus")
def test_a_model_that_does_not_answer_fails_no_search_and_is_not_asked_for_a_minute(owner, common, target, server):
    before = scores(owner, common)
    row = switched_on(owner, common, target)
    server.respond = lambda _asked: Reply(status=503)
    count = len(server.requests)

    state = searched(owner, common)

    assert {one.passage.external_id: one.scores["dense"] for one in state.candidates} == before
    assert set(ways(state)) == {"unavailable"}
    assert scores(owner, common) == before
    assert len(server.requests) == count + 1
    server.respond = lambda _asked: Reply(status=401)
    ingest(owner, common, late="A late page.")  # neither does it fail ingestion
    set_vectors_tend()
    row.refresh_from_db()
    assert (row.state, set_fill(row).error_code) == (State.LIVE, "embedder_refused")
    assert "late" in found(owner, common, top_k=9)


@pytest.mark.usefixtures("corpus")
def test_a_scale_is_of_a_pair_of_models(owner, common, target, monkeypatch):
    before = scores(owner, common)
    row = switched_on(owner, common, target)
    assert row.figures["scales"].keys() == {model_registry.live_model()}

    # as after a switch of the site: the scale is of a pair that is not in use
    row.figures = {"scales": {"former-model": {**row.figures["scales"].popitem()[1]}}}
    row.save(update_fields=["figures"])
    set_embedder_switch_off(**who(owner), embedder_id=row.pk)
    with pytest.raises(SetEmbedderError, match="compared"):
        set_embedder_switch_on(**who(owner), embedder_id=row.pk)
    SetEmbedder.objects.filter(pk=row.pk).update(state="live")
    corpus_epoch.epoch_advance(tenant_id=row.tenant_id)
    assert scores(owner, common) == before
    set_vectors_tend()

    assert found(owner, common)[0] == "blorf"
    row.refresh_from_db()
    assert row.figures["scales"].keys() == {model_registry.live_model(), "former-model"}
    SetEmbedder.objects.filter(pk=row.pk).update(model=model_registry.live_model())  # the site has come to the same one
    corpus_epoch.epoch_advance(tenant_id=row.tenant_id)
    assert scores(owner, common) == before


def test_the_scale_and_the_comparison_come_from_the_sets_own_sentences(owner, common, target):
    texts = {f"d{n}": f"Blorf number {n} stands in hall {n * 7} and is quenched by pump {n * 3}." for n in range(12)}
    ingest(owner, common, **texts)
    row = switched_on(owner, common, target)

    [scale] = row.figures["scales"].values()
    assert scale["questions"] == 12
    assert scale["slope"] > 0
    assert row.figures["comparison"]["passages"] == 12
    assert 0 <= row.figures["comparison"]["fused"] <= 1


@pytest.mark.usefixtures("corpus")
def test_what_cannot_be_started_is_refused(owner, common, target):
    packaged = SearchModel.objects.create(task="embed", provider="packaged", vectors=model_registry.live_model())
    with pytest.raises(SetEmbedderError) as same:
        started(owner, common, packaged)
    SearchModel.objects.filter(pk=target.pk).update(test_code="embedder_refused")
    with pytest.raises(SetEmbedderError) as untested:
        started(owner, common, target)
    SearchModel.objects.filter(pk=target.pk).update(test_code="ok")
    row = switched_on(owner, common, target)
    with pytest.raises(SetEmbedderError) as kept:
        started(owner, common, target)
    second = started(owner, common, target, "alone")
    with pytest.raises(SetEmbedderError) as opened:
        started(owner, common, target, "alone")
    assert [error.value.reason for error in (same, untested, kept, opened)] == [
        *("site_model", "untested", "kept", "open")
    ]
    assert (row.number, second.number) == (1, 2)
    set_embedder_cancel(**who(owner), embedder_id=second.pk)
    assert set_vectors_sweep(tenant_id=owner.tenant_id, model=second.model) == 0
    assert SetVector.objects.exists()  # the first one needs them
    with pytest.raises(SearchModelInvalidError, match="only address"):
        search_model_save(**who(owner), model=target, values={"query_prefix": "q: "})
    target.refresh_from_db()
    with pytest.raises(SearchModelInvalidError, match="in use"):
        search_model_delete(**who(owner), model=target)
    set_embedder_switch_off(**who(owner), embedder_id=row.pk)
    set_embedder_drop(**who(owner), embedder_id=row.pk)
    search_model_delete(**who(owner), model=target)


@pytest.mark.usefixtures("corpus")
def test_only_owners_of_the_set_change_its_model(owner, common, target):
    row = started(owner, common, target)
    for stranger in (make_user("stranger", tenant=owner.tenant, is_staff=True),):
        with pytest.raises((NotFoundError, NotAllowedError)):
            started(stranger, common, target)
        for act in (set_embedder_pause, set_embedder_cancel, set_embedder_switch_on, set_embedder_publish):
            with pytest.raises(NotFoundError):
                act(**who(stranger), embedder_id=row.pk)
    keeper = make_user("keeper", tenant=owner.tenant, is_staff=True)
    common.owners.add(keeper)
    assert set_embedder_pause(**who(keeper), embedder_id=row.pk).state == State.PAUSED


@pytest.mark.usefixtures("corpus")
def test_golden_sets_that_guard_the_set_are_asked_first(owner, common, target):
    rows = [GoldenRow(question=ASKED, relevant=("blorf",), answers=("nimsel",))]
    golden_import(tenant=owner.tenant, name="trade", rows=rows).golden_set.sets.add(common)
    row = started(owner, common, target)
    set_vectors_tend()

    with pytest.raises(MeasuredFirstError):
        set_embedder_publish(**who(owner), embedder_id=row.pk)

    change = GatedChange.objects.get()
    configurations = list(change.runs.get().configurations.all())
    assert change.kind == GatedChange.Kind.SET_EMBEDDER
    assert [one.options.get("retrieval", {}) for one in configurations] == [{}, {"set_embedder": row.number}]
    GatedChange.objects.update(state="passed")
    change.refresh_from_db()
    change_publish(**who(owner), change=change)
    row.refresh_from_db()
    assert row.state == State.LIVE
    set_embedder_switch_off(**who(owner), embedder_id=row.pk)
    assert set_embedder_publish(**who(owner), embedder_id=row.pk).state == State.LIVE  # back at once


@pytest.mark.usefixtures("corpus")
def test_another_model_takes_the_place_of_the_one_in_use(owner, common, target):
    first = switched_on(owner, common, target)
    second = switched_on(owner, common, target, "alone")
    first.refresh_from_db()

    assert (first.state, second.state) == (State.OFF, State.LIVE)
    assert found(owner, common)[0] == "blorf"


@pytest.mark.usefixtures("server")
def test_an_administrator_of_another_tenant_is_no_owner(common, target):
    stranger = make_admin(tenant=make_tenant())
    with pytest.raises((NotFoundError, NotAllowedError)):
        started(stranger, common, target)


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_the_site_changes_its_model_and_the_set_follows(owner, common, target, server):
    Tenant.objects.filter(pk=owner.tenant_id).update(is_default=True)
    ingest(owner, common, **TEXTS)
    row = switched_on(owner, common, target)
    values = {"task": "embed", "provider": "server", "name": "next", "url": server.url}
    following = search_model_save(**who(owner), model=SearchModel(), values=values, key="key-8")
    EmbedderFit.objects.create(model=following.vectors, dimensions=768, floor=0.2)
    SearchModel.objects.filter(pk=following.pk).update(test_code="ok")
    following.refresh_from_db()
    switch = switch_start(**who(owner), target=following)
    vectors_tend()
    switch.refresh_from_db()
    assert (switch.state, switch_fill(switch).error_code) == ("ready", "")
    assert ways(searched(owner, common, embedder_switch=switch.pk)) == []  # no scale of that pair is known yet
    set_vectors_tend()
    row.refresh_from_db()
    assert len(row.figures["scales"]) == 2
    assert set(ways(searched(owner, common, embedder_switch=switch.pk))) == {"both"}  # so the gate measures both
    switch_finish(**who(owner), switch_id=switch.pk)

    alone = scores(owner, common, set_embedder=0)
    assert set(ways(searched(owner, common))) == {"both"}  # at once
    switch_back(**who(owner))
    assert set(ways(searched(owner, common))) == {"both"}  # at once
    assert scores(owner, common, set_embedder=0) != alone
