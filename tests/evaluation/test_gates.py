"""The gate: options of a set are measured on its golden set against what is live before they are published."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.urls import reverse

from accounts.models import AuditEvent, Tenant, User
from accounts.selectors import scope_for
from chat.answering.answer_config import resolve_answer_config
from chat.types import AnswerRequest
from evaluation.admin.gate_words import weakness_words
from evaluation.errors import ChangeNotDecidableError
from evaluation.models import EvaluationRun, GatedChange, GoldenSet
from evaluation.services.gates import (
    asker_of,
    change_discard,
    change_publish,
    change_settle,
    changes_settle,
    changes_shown,
)
from evaluation.services.golden import golden_import
from evaluation.services.golden_files import GoldenRow
from evaluation.services.runs import measuring
from evaluation.services.runs.comparison import ComparedCase, Failures, GateVerdict, gate_judge, scores_compare
from knowledge import model_registry
from knowledge.errors import MeasuredFirstError, RetrievalUnavailableError
from knowledge.model_setup import setup_forget, setup_now, setup_refresh
from knowledge.models import KnowledgeSet, LexiconVersion, OptionsChange, SearchModel
from knowledge.options_draft import NO_DRAFT, OptionsDraft
from knowledge.selectors.options import site_options
from knowledge.services import retrieve
from knowledge.services.lexicon import (
    lexicon_publish,
    lexicon_publish_cancel,
    lexicon_roll_back,
    term_save,
)
from knowledge.services.options import ChangeNote, options_restore, set_options_update, site_options_update
from knowledge.services.search_models import reranker_publish, search_model_save
from knowledge.services.sets import set_update
from knowledge.types import RetrievalRequest
from notifications.models import Notification
from tests.admin.conftest import signed_in
from tests.evaluation.runs import run_work_off
from tests.factories import ingest, make_admin, make_set, make_tenant, make_user
from tests.knowledge.lexicons import lexicon_build
from tests.knowledge.locks import Beside
from tests.scripted_llm import Recorded, Reply, serving
from work.models import OPEN as OPEN_JOB
from work.models import Job

WORDS = ("antenna", "battery", "carrier", "downlink", "encoder", "filter", "gateway", "handover")
WORSE = {"answer": {"max_chunks": 1}, "retrieval": {"top_k": 1}}


def units_make() -> tuple[User, KnowledgeSet]:
    """Two documents of each unit."""
    admin = make_admin("admin")
    home = make_set("radio", owners=[admin])
    texts = {
        f"{word}-{n}": f"The {word} unit number {n} is checked by the {word} crew." for word in WORDS for n in (1, 2)
    }
    ingest(admin, home, **texts)
    return admin, home


pytestmark = pytest.mark.starts_from(make=units_make)


@pytest.fixture
def admin(request, db) -> User:
    return request.getfixturevalue("kept_rows")[0] if "radio" in request.fixturenames else make_admin("admin")


@pytest.fixture
def radio(kept_rows) -> KnowledgeSet:
    return kept_rows[1]


@pytest.fixture
def golden(admin, radio) -> GoldenSet:
    """Each question has two relevant documents, so that a search for one passage loses half of them."""
    rows = [
        GoldenRow(
            question=f"Who checks the {word} unit?", relevant=(f"{word}-1", f"{word}-2"), answers=(f"{word} crew",)
        )
        for word in WORDS
    ]
    found = golden_import(tenant=admin.tenant, name="radio", rows=rows).golden_set
    found.sets.add(radio)
    return found


def measured(admin: User, radio: KnowledgeSet, options: dict) -> GatedChange:
    """The change that holds the options back, with its runs worked off."""
    with pytest.raises(MeasuredFirstError) as held:
        set_options_update(scope=scope_for(admin), actor=admin, set_id=radio.pk, options=options)
    return worked_off(GatedChange.objects.get(pk=held.value.data["change"]))


def worked_off(change: GatedChange) -> GatedChange:
    """The change with what its runs say."""
    for run in change.runs.all():
        run_work_off(run)
    return change_settle(change=change)


def test_a_set_without_golden_cases_is_published_as_before(admin, radio):
    GoldenSet.objects.create(tenant=admin.tenant, name="empty").sets.add(radio)

    assert set_options_update(scope=scope_for(admin), actor=admin, set_id=radio.pk, options=WORSE).options == WORSE


def test_a_golden_set_that_does_not_guard_or_asks_other_sets_too_holds_nothing_up(admin, radio, golden):
    golden.sets.add(make_set("other", owners=[admin]))
    other = GoldenSet.objects.create(tenant=admin.tenant, name="notes", guards=False)
    other.sets.add(radio)
    other.cases.create(question="why?", answers=["so"])

    set_options_update(scope=scope_for(admin), actor=admin, set_id=radio.pk, options=WORSE)

    assert not GatedChange.objects.exists()


def test_who_keeps_another_set_holds_up_nothing_here(admin, radio, golden):
    neighbour = make_user("neighbour", is_staff=True)
    make_set("theirs", owners=[neighbour])
    GoldenSet.objects.filter(pk=golden.pk).update(created_by=neighbour)

    assert set_options_update(scope=scope_for(admin), actor=admin, set_id=radio.pk, options=WORSE).options == WORSE

    radio.owners.add(neighbour)
    with pytest.raises(MeasuredFirstError):
        set_options_update(scope=scope_for(admin), actor=admin, set_id=radio.pk, options={"retrieval": {"top_k": 2}})


def test_what_shapes_only_the_reading_of_documents_cannot_be_measured_before(admin, radio, golden):
    set_options_update(scope=scope_for(admin), actor=admin, set_id=radio.pk, options={"chunking": {"max_tokens": 500}})

    assert not GatedChange.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_change_that_makes_answers_no_worse_is_published_after_it_was_measured(admin, radio, golden):
    change = measured(admin, radio, {"retrieval": {"top_k": 12}})
    radio.refresh_from_db()

    assert (change.state, radio.options) == ("passed", {})
    published = change_publish(scope=scope_for(admin), actor=admin, change=change)
    radio.refresh_from_db()
    assert (published.state, radio.options) == ("published", {"retrieval": {"top_k": 12}})
    actions = AuditEvent.objects.filter(action__startswith="change.").order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["change.measure", "change.publish"]
    with pytest.raises(ChangeNotDecidableError, match="over"):
        change_publish(scope=scope_for(admin), actor=admin, change=change)
    options_restore(scope=scope_for(admin), actor=admin, change_id=OptionsChange.objects.latest("pk").pk)
    radio.refresh_from_db()
    assert radio.options == {}  # the way back is not held up


@pytest.mark.django_db(transaction=True)
def test_a_change_that_is_significantly_worse_is_published_only_with_a_reason(admin, radio, golden):
    change = measured(admin, radio, WORSE)

    assert change.state == GatedChange.State.FAILED
    with pytest.raises(ChangeNotDecidableError, match="needs a reason"):
        change_publish(scope=scope_for(admin), actor=admin, change=change, reason=" ")
    published = change_publish(scope=scope_for(admin), actor=admin, change=change, reason="the lab is on fire")
    radio.refresh_from_db()
    assert (published.state, published.reason, radio.options) == ("overridden", "the lab is on fire", WORSE)
    assert AuditEvent.objects.get(action="change.override").data["reason"] == "the lab is on fire"


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_a_change_is_out_of_date_when_the_settings_have_changed_meanwhile(admin, radio, golden):
    change = measured(admin, radio, {"retrieval": {"top_k": 12}})
    KnowledgeSet.objects.filter(pk=radio.pk).update(options={"retrieval": {"top_k": 7}})

    with pytest.raises(ChangeNotDecidableError, match="changed since"):
        change_publish(scope=scope_for(admin), actor=admin, change=change)


@pytest.mark.full
def test_a_newer_draft_takes_the_place_of_one_that_is_being_measured(admin, radio, golden):
    for top_k in (11, 12):
        with pytest.raises(MeasuredFirstError):
            set_options_update(
                scope=scope_for(admin), actor=admin, set_id=radio.pk, options={"retrieval": {"top_k": top_k}}
            )

    first, second = GatedChange.objects.order_by("pk")
    assert (first.state, second.state) == ("discarded", "measuring")
    assert first.runs.get().state == EvaluationRun.State.CANCELLED
    with pytest.raises(ChangeNotDecidableError, match="still being measured"):
        change_publish(scope=scope_for(admin), actor=admin, change=second)
    assert change_discard(change=second, actor=admin).state == GatedChange.State.DISCARDED


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_options_of_the_answer_are_in_force_while_a_draft_is_asked(admin, radio, golden):
    """What a run of a set alone says of its answers: with one source at most, the other document is never cited."""
    change = measured(admin, radio, {"answer": {"max_chunks": 1}})

    live, draft = change.runs.get().configurations.all()
    sources = [max(len(one.trace["sources"]) for one in each.outcomes.all()) for each in (live, draft)]
    assert sources[1] == 1 < sources[0]


# ── texts, lexicon, reranker ────────────────────────────────────────────────────────────────────


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_texts_of_prompts_are_measured_and_everything_else_is_saved_at_once(admin, radio, golden):
    values = {"persona": "the radio desk", "description": "Units and crews."}
    with pytest.raises(MeasuredFirstError) as held:
        set_update(scope=scope_for(admin), actor=admin, set_id=radio.pk, values=values)
    radio.refresh_from_db()
    assert (radio.persona, radio.description) == ("", "Units and crews.")

    change = worked_off(GatedChange.objects.get(pk=held.value.data["change"]))
    assert (change.kind, change.state) == ("set_texts", "passed")
    assert change.runs.get().configurations.last().tried == {"texts": {"persona": "the radio desk"}}
    change_publish(scope=scope_for(admin), actor=admin, change=change)
    radio.refresh_from_db()
    assert radio.persona == "the radio desk"
    assert AuditEvent.objects.filter(action="set.change", data__fields=["persona"]).exists()


def test_texts_of_a_closed_set_are_withheld_from_who_may_not_read_it(admin, radio, golden):
    set_update(scope=scope_for(admin), actor=admin, set_id=radio.pk, values={"visibility": "members"})
    with pytest.raises(MeasuredFirstError) as held:
        set_update(scope=scope_for(admin), actor=admin, set_id=radio.pk, values={"persona": "the secret desk"})
    address = reverse("admin:evaluation_gatedchange_change", args=[held.value.data["change"]])
    other = make_user("other", is_staff=True)
    make_set("own", owners=[other])

    assert "the secret desk" in signed_in(admin).get(address).content.decode()
    page = signed_in(other).get(address)
    assert (page.status_code, "the secret desk" in page.content.decode()) == (200, False)
    assert "(withheld)" in page.content.decode()


def test_a_text_that_is_tried_is_in_the_prompt_and_in_no_other(admin, radio):
    def persona(draft: OptionsDraft = NO_DRAFT) -> str:
        request = AnswerRequest(query="?", sets=(radio.pk,), personal=False, draft=draft)
        return resolve_answer_config(scope=scope_for(admin), request=request).persona

    assert persona(OptionsDraft(texts={radio.pk: {"persona": "the radio desk"}})) == "the radio desk"
    assert persona() == ""


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_a_version_of_the_lexicon_comes_into_use_when_its_change_is_published(admin, radio, golden):
    version = lexicon_published(admin, radio, "antenna", "aerial")
    change = worked_off(GatedChange.objects.get(kind="lexicon"))

    assert (version.state, version.measured) == ("building", {"change": change.pk})
    assert change.state == GatedChange.State.PASSED
    assert not Job.objects.filter(state__in=OPEN_JOB).exists()  # it waits for a person, not for a worker
    change_publish(scope=scope_for(admin), actor=admin, change=change)
    version.refresh_from_db()
    assert (version.state, version.measured) == ("live", {})

    lexicon_published(admin, radio, "battery", "cell")
    second = GatedChange.objects.filter(kind="lexicon").latest("pk")
    back = lexicon_roll_back_after(admin, change_discard(change=second, actor=admin))
    assert back == "live"  # what was in use before is not held up


@pytest.mark.django_db(transaction=True)
def test_what_is_measured_of_a_lexicon_ends_when_it_is_given_up_or_overtaken(admin, radio, golden):
    version = lexicon_published(admin, radio, "antenna", "aerial")
    lexicon_publish_cancel(scope=scope_for(admin), actor=admin, version_id=version.pk)
    assert GatedChange.objects.get(kind="lexicon").state == GatedChange.State.DISCARDED

    second = lexicon_published(admin, radio, "battery", "cell")
    lexicon_publish(scope=scope_for(admin), actor=admin, set_id=radio.pk)
    second.refresh_from_db()
    assert (second.state, second.measured) == ("retired", {})
    assert not GatedChange.objects.filter(kind="lexicon", state="measuring").exists()


def lexicon_published(admin: User, home: KnowledgeSet, text: str, synonym: str) -> LexiconVersion:
    """Published and indexed; what is left is the gate."""
    values = {"text": text, "synonyms": [synonym]}
    term_save(scope=scope_for(admin), actor=admin, set_id=home.pk, values=values)
    version = lexicon_publish(scope=scope_for(admin), actor=admin, set_id=home.pk)
    lexicon_build(version_id=version.pk)
    version.refresh_from_db()
    return version


def lexicon_roll_back_after(admin: User, discarded: GatedChange) -> str:
    """The state of a version with the entries of the first one, after the second was discarded."""
    first, second = LexiconVersion.objects.order_by("number")
    assert (discarded.state, second.state) == ("discarded", "retired")
    LexiconVersion.objects.filter(pk=first.pk).update(state="retired")
    again = lexicon_roll_back(scope=scope_for(admin), actor=admin, version_id=first.pk)
    lexicon_build(version_id=again.pk)
    again.refresh_from_db()
    return again.state


def test_a_lexicon_that_is_tried_serves_searches_of_its_set_only_meanwhile(admin, radio):
    term_save(scope=scope_for(admin), actor=admin, set_id=radio.pk, values={"text": "antenna", "synonyms": ["zyqx"]})
    version = lexicon_publish(scope=scope_for(admin), actor=admin, set_id=radio.pk)

    def first(draft: OptionsDraft = NO_DRAFT) -> str:
        request = RetrievalRequest(query="zyqx", sets=(radio.pk,), mode="bm25", draft=draft)
        found = retrieve(scope=scope_for(admin), request=request).state.candidates
        return found[0].passage.external_id if found else ""

    assert first() == ""
    assert first(OptionsDraft(lexicons={radio.pk: version.pk})).startswith("antenna")
    assert first() == ""


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_the_reranker_of_a_set_is_one_of_its_options(admin, radio, golden):
    change = measured(admin, radio, {"retrieval": {"rerank": False}})

    outcomes = change.runs.get().configurations.last().outcomes.all()
    assert all("rerank" not in one.trace["ranks"] for one in outcomes)


# ── what sets share ─────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def two(admin, radio, golden) -> tuple[KnowledgeSet, KnowledgeSet]:
    """Two guarded sets, of one case each, and one that nothing guards."""
    other = make_set("power", owners=[admin])
    ingest(admin, other, rectifier="The rectifier unit is checked by the rectifier crew.")
    rows = [GoldenRow(question="Who checks the rectifier unit?", relevant=("rectifier",))]
    golden_import(tenant=admin.tenant, name="power", rows=rows).golden_set.sets.add(other)
    golden.cases.exclude(pk=golden.cases.first().pk).delete()
    make_set("free", owners=[admin])
    return radio, other


def held_changes(error: MeasuredFirstError) -> list[GatedChange]:
    """The changes that one act waits for, worked off, in the order of their sets."""
    first = GatedChange.objects.get(pk=error.data["change"])
    same = GatedChange.objects.filter(kind=first.kind, state="measuring").order_by("knowledge_set_id")
    return [worked_off(one) for one in same]


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_default_settings_are_measured_on_every_guarded_set_that_inherits_them(admin, two):
    scope = scope_for(admin)
    options = {"retrieval": {"top_k": 12}}
    with pytest.raises(MeasuredFirstError) as held:
        site_options_update(scope=scope, actor=admin, options=options, why=ChangeNote(note="more"))
    first, second = held_changes(held.value)

    assert [one.knowledge_set for one in (first, second)] == list(two)
    assert first.runs.get().configurations.last().tried == {"site": options}
    page = signed_in(admin).get(reverse("admin:evaluation_gatedchange_change", args=[first.pk])).content.decode()
    assert "This concerns other guarded knowledge sets, too." in page
    assert f"/gatedchange/{second.pk}/change/" in page
    assert "This golden set is too small" in page
    change_publish(scope=scope, actor=admin, change=first)
    assert site_options(tenant_id=admin.tenant_id) == {}  # the other set has not let it pass yet
    change_publish(scope=scope, actor=admin, change=second)
    assert site_options(tenant_id=admin.tenant_id) == options
    assert OptionsChange.objects.latest("pk").note == "more"

    KnowledgeSet.objects.update(options={"retrieval": {"top_k": 5}})  # now nobody inherits it
    site_options_update(scope=scope, actor=admin, options={"retrieval": {"top_k": 11}})
    site_options_update(scope=scope, actor=admin, options={"chunking": {"max_tokens": 500}})
    assert GatedChange.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_owners_hear_once_that_a_change_of_what_sets_share_waits_for_them(admin, two):
    owners = [make_user(), make_user()]
    for home, owner in zip(two, owners, strict=True):
        home.owners.set([owner])
    with pytest.raises(MeasuredFirstError):
        site_options_update(scope=scope_for(admin), actor=admin, options={"retrieval": {"top_k": 12}})
    assert set(GatedChange.objects.values_list("state", flat=True)) == {"measuring"}

    for run in EvaluationRun.objects.all():
        run_work_off(run)
        changes_settle(run_id=run.pk)  # once more changes nothing

    for home, owner in zip(two, owners, strict=True):
        told = Notification.objects.get(recipient=owner)
        change = GatedChange.objects.get(knowledge_set=home)
        assert (told.kind, told.data) == (f"change_{change.state}", home.told_names)
        assert told.link == reverse("admin:evaluation_gatedchange_change", args=[change.pk])
    assert Notification.objects.filter(recipient=admin).count() == 1  # the act is measured


@pytest.mark.django_db(transaction=True)
def test_a_change_of_one_set_is_told_to_who_asked_for_it(admin, radio, golden):
    radio.owners.add(make_user())

    measured(admin, radio, WORSE)

    assert [(one.recipient, one.kind) for one in Notification.objects.all()] == [(admin, "change_failed")]


@pytest.mark.django_db(transaction=True)
def test_a_change_is_measured_with_rights_that_find_something(admin, radio, golden):
    """An administrator who may not ask the set would find nothing in it, with the change and without."""
    owner = make_user("owner")
    radio.owners.set([owner])
    KnowledgeSet.objects.filter(pk=radio.pk).update(visibility="members")
    radio.refresh_from_db()

    assert asker_of(actor=admin, knowledge_set=radio) == owner
    assert asker_of(actor=owner, knowledge_set=radio) == owner


@pytest.mark.django_db(transaction=True)
def test_what_cannot_be_asked_does_not_pass(admin, radio, golden, monkeypatch):
    def fails(*_args):
        raise RetrievalUnavailableError

    monkeypatch.setattr(measuring, "observe", fails)

    change = measured(admin, radio, WORSE)

    page = signed_in(admin).get(reverse("admin:evaluation_gatedchange_change", args=[change.pk])).content.decode()
    assert change.state == "failed"
    assert "8 of 8 cases ended with an error, so that they cannot be compared." in page


def test_a_few_failed_cases_hold_nothing_back():
    def verdict(failed: int) -> GateVerdict:
        return gate_judge(means={}, floors={}, comparison=None, failures=[Failures(failed=failed, cases=100)])

    assert (verdict(5).has_passed, verdict(6).has_passed) == (True, False)
    assert [(fault.reason, fault.value, fault.limit) for fault in verdict(6).faults] == [("failed", 6, 100)]


@pytest.mark.django_db(transaction=True)
def test_of_two_who_publish_the_last_two_of_an_act_at_once_one_performs_it(admin, two):
    scope, options = scope_for(admin), {"retrieval": {"top_k": 12}}
    with pytest.raises(MeasuredFirstError) as held:
        site_options_update(scope=scope, actor=admin, options=options)
    first, second = held_changes(held.value)
    beside = Beside(lambda: change_publish(scope=scope, actor=admin, change=first))

    with transaction.atomic():
        change_publish(scope=scope, actor=admin, change=second)
        beside.start_and_wait_for_lock()

    beside.end()
    assert set(GatedChange.objects.values_list("state", flat=True)) == {"published"}
    assert site_options(tenant_id=admin.tenant_id) == options


@pytest.mark.django_db(transaction=True)
def test_giving_up_and_publishing_what_is_one_act_wait_for_each_other_in_one_order(admin, two):
    scope = scope_for(admin)
    with pytest.raises(MeasuredFirstError) as held:
        site_options_update(scope=scope, actor=admin, options={"retrieval": {"top_k": 12}})
    first, second = sorted(held_changes(held.value), key=lambda one: one.pk)
    beside = Beside(lambda: change_discard(change=second, actor=admin))

    with transaction.atomic():
        GatedChange.objects.select_for_update().get(pk=first.pk)
        beside.start_and_wait_for_lock()
        GatedChange.objects.select_for_update(nowait=True).get(pk=second.pk)  # who gives up does not hold it yet

    beside.end()
    assert set(GatedChange.objects.values_list("state", flat=True)) == {"discarded"}


@pytest.mark.django_db(transaction=True)
def test_what_is_given_up_for_one_set_is_given_up_for_all(admin, two):
    scope = scope_for(admin)
    with pytest.raises(MeasuredFirstError) as held:
        site_options_update(scope=scope, actor=admin, options=WORSE)
    first, second = held_changes(held.value)

    assert first.state == "failed"
    change_discard(change=first, actor=admin)

    with pytest.raises(ChangeNotDecidableError, match="over"):
        change_publish(scope=scope, actor=admin, change=second, reason="all the same")
    assert site_options(tenant_id=admin.tenant_id) == {}


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_a_change_of_a_set_is_out_of_date_when_the_default_settings_have_changed(admin, radio, golden):
    change = measured(admin, radio, {"retrieval": {"top_k": 12}})
    note = ChangeNote(is_measured=True)
    site_options_update(scope=scope_for(admin), actor=admin, options={"retrieval": {"fused_limit": 90}}, why=note)

    with pytest.raises(ChangeNotDecidableError, match="changed since"):
        change_publish(scope=scope_for(admin), actor=admin, change=change)


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_the_lexicon_of_the_organisation_is_measured_on_guarded_sets(admin, two):
    term_save(scope=scope_for(admin), actor=admin, set_id=None, values={"text": "antenna", "synonyms": ["zyqx"]})
    version = lexicon_publish(scope=scope_for(admin), actor=admin, set_id=None)
    lexicon_build(version_id=version.pk)
    first, second = (worked_off(one) for one in GatedChange.objects.order_by("knowledge_set_id"))

    def found(draft: OptionsDraft = NO_DRAFT) -> list[str]:
        request = RetrievalRequest(query="zyqx", sets=(two[0].pk,), mode="bm25", draft=draft)
        return [one.passage.external_id for one in retrieve(scope=scope_for(admin), request=request).state.candidates]

    assert (first.kind, first.state, second.state) == ("site_lexicon", "passed", "passed")
    assert found(OptionsDraft(lexicons={None: version.pk}))[0].startswith("antenna")
    change_publish(scope=scope_for(admin), actor=admin, change=first)
    assert found() == []
    change_publish(scope=scope_for(admin), actor=admin, change=second)
    assert found()[0].startswith("antenna")


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_another_reranker_of_the_site_is_measured_on_guarded_sets_that_use_it(admin, two, settings):
    Tenant.objects.filter(pk=admin.tenant_id).update(is_default=True)
    settings.FETCH_ALLOWED_HOSTS = ("127.0.0.1",)
    who = {"scope": scope_for(User.objects.get(pk=admin.pk)), "actor": admin}
    KnowledgeSet.objects.filter(pk=two[1].pk).update(options={"retrieval": {"rerank": False}})
    with serving() as server:
        server.respond = last_first
        values = {"task": "rerank", "provider": "server", "name": "bge", "url": server.url}
        model = search_model_save(**who, model=SearchModel(), values=values)
        with pytest.raises(MeasuredFirstError) as held:
            reranker_publish(**who, model_id=model.pk)
        (change,) = held_changes(held.value)

        asked = [request for request in server.requests if "documents" in request.body]
        assert asked  # by the draft; what is live asks nobody
        assert (change.knowledge_set, setup_now().reranker.client) == (two[0], "linear")
        with pytest.raises(MeasuredFirstError):  # no way around
            reranker_publish(**who, model_id=model.pk)
        assert GatedChange.objects.count() == 1
        change_publish(**who, change=change, reason="The test server is what we have.")
        setup_refresh(now=True)
        assert setup_now().reranker.client == "http:bge"
        reranker_publish(**who, model_id=model.pk)  # it is in use: nothing to measure
        assert GatedChange.objects.count() == 1
    setup_forget()
    model_registry.reranker_of.cache_clear()


def last_first(asked: Recorded) -> Reply:
    """A reranker that likes the last passage best."""
    texts = asked.body["documents"]
    found = [{"index": n, "relevance_score": (n + 1) / (len(texts) + 1)} for n in range(len(texts))]
    return Reply(body=json.dumps({"results": found}).encode())


# ── whose rights ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.django_db(transaction=True)
def test_a_change_by_somebody_of_another_tenant_is_measured_with_the_rights_of_an_owner(db):
    site, owner = make_admin("site"), make_user("owner", tenant=make_tenant("other"), is_staff=True)
    home = make_set("theirs", owners=[owner], tenant=owner.tenant)
    ingest(owner, home, one="The antenna unit is checked by the antenna crew.")
    rows = [GoldenRow(question="Who checks the antenna unit?", relevant=("one",))]
    golden_import(tenant=owner.tenant, name="theirs", rows=rows).golden_set.sets.add(home)

    change = measured(site, home, {"retrieval": {"top_k": 12}})

    run = change.runs.get()
    assert (run.requested_by, change.requested_by, change.state) == (owner, site, "passed")
    assert run.configurations.first().figures["recall@1"]["value"] == 1.0
    assert AuditEvent.objects.get(action="run.start").actor == site


@pytest.mark.django_db(transaction=True)
def test_what_nobody_can_ask_does_not_pass_and_takes_a_reason(admin, radio, golden):
    other = make_tenant("other")
    home = make_set("theirs", tenant=other)
    lonely = golden_import(tenant=other, name="theirs", rows=[GoldenRow(question="?", answers=("x",))]).golden_set
    lonely.sets.add(home)

    change = measured(admin, home, {"retrieval": {"top_k": 12}})

    assert (change.state, change.runs.count()) == ("failed", 0)
    assert change in changes_shown(scope=scope_for(admin))
    change_publish(scope=scope_for(admin), actor=admin, change=change, reason="there is nobody")
    home.refresh_from_db()
    assert home.options == {"retrieval": {"top_k": 12}}


# ── the verdict ─────────────────────────────────────────────────────────────────────────────────


def compared(metric: str, first: list[float], second: list[float]):
    return scores_compare(
        ComparedCase(case=n, question="?", first={metric: a}, second={metric: b})
        for n, (a, b) in enumerate(zip(first, second, strict=True))
    )


def test_only_primary_metrics_decide():
    worse = ([1.0] * 20, [0.0] * 20)

    assert not gate_judge(means={}, floors={}, comparison=compared("ndcg@10", *worse)).has_passed
    assert gate_judge(means={}, floors={}, comparison=compared("recall@1", *worse)).has_passed


def test_a_mean_that_falls_far_does_not_pass_though_too_few_cases_differ_for_a_test():
    def reasons(first: list[float], second: list[float], metric: str = "ndcg@10") -> list[str]:
        verdict = gate_judge(means={}, floors={}, comparison=compared(metric, first, second))
        return [fault.reason for fault in verdict.faults]

    assert reasons([1.0] * 8, [1.0] * 7 + [0.0]) == ["lost"]
    assert reasons([1.0] * 20, [1.0] * 19 + [0.0]) == []  # 0.05, no more
    assert reasons([0.0] * 8, [0.0] * 7 + [1.0]) == []
    assert reasons([1.0, 0.0] * 4, [0.0, 1.0] * 4) == []  # as much won as lost
    assert reasons([1.0] * 200, [0.9] * 100 + [1.0] * 100) == ["worse"]
    assert reasons([1.0] * 8, [0.0] * 8, "seconds") == []


def test_a_verdict_says_where_it_has_too_few_cases_to_tell():
    def verdict(first: list[float], second: list[float]) -> GateVerdict:
        return gate_judge(means={}, floors={}, comparison=compared("ndcg@10", first, second))

    small, alike, enough = (
        verdict([1.0] * 5, [1.0] * 5),
        verdict([1.0] * 40, [0.5] + [1.0] * 39),
        verdict([1.0] * 40, [0.9] * 6 + [1.0] * 34),
    )
    assert [(one.compared, one.differing, one.least) for one in (small, alike, enough)] == [
        (5, 0, 6),
        (40, 1, 6),
        (40, 6, 6),
    ]
    assert [(one.is_too_small, one.is_undecided) for one in (small, alike, enough)] == [
        (True, False),
        (False, True),
        (False, False),
    ]
    assert "too small" in weakness_words(small)
    assert weakness_words(alike).startswith("1 of 40 cases differ.")
    assert weakness_words(verdict([1.0] * 9, [1.0] * 9)).startswith("None of the 9 cases differ")
    assert weakness_words(enough) == ""
    assert not gate_judge(means={}, floors={"ndcg@10": 0.5}, comparison=None).is_too_small


def test_a_floor_holds_without_a_baseline_and_in_the_direction_of_its_metric():
    def reasons(floors: dict[str, float]) -> list[str]:
        verdict = gate_judge(means={"ndcg@10": 0.7, "seconds": 2.0}, floors=floors, comparison=None)
        return [fault.reason for fault in verdict.faults]

    assert reasons({"ndcg@10": 0.6, "seconds": 3.0}) == []
    assert reasons({"ndcg@10": 0.8}) == ["below"]
    assert reasons({"seconds": 1.0}) == ["below"]
    assert reasons({"correctness": 0.1}) == ["missing"]


# ── the command ─────────────────────────────────────────────────────────────────────────────────


def status(**options) -> int:
    """The exit status of the command."""
    try:
        call_command("evaluate", **options)
    except SystemExit as ended:
        return int(ended.code or 0)
    except CommandError as error:
        return error.returncode
    return 0


def test_the_command_ends_with_0_1_or_2(golden, capsys):
    assert status(golden="radio", min_ndcg=0.9) == 0
    assert "1.000 – 1.000" in capsys.readouterr().out
    golden.floors = {"recall@10": 1.5}
    golden.save()
    assert status(golden="radio", gate=True) == 1
    assert "beyond its limit of 1.5" in capsys.readouterr().err
    assert status(golden="radio") == 0
    golden.cases.update(relevant=["nothing"])  # a document that is gone: there is nothing to measure
    assert status(golden="radio", min_ndcg=0.5) == 2
    assert status(golden="no such") == 2
    assert status() == 2
    assert status(code="no-such-set", gate=True) == 2
    assert status(golden="radio", option=["retrieval.magic=1"]) == 2
    assert status(golden="radio", baseline="/nowhere.json") == 2


def test_the_command_gates_a_set_against_a_file_or_a_run(golden, tmp_path, capsys):
    baseline, report = tmp_path / "baseline.json", tmp_path / "gate.xml"
    assert status(code="radio", output=baseline) == 0
    before = EvaluationRun.objects.get()

    assert status(code="radio", gate=True, baseline=str(baseline)) == 0
    assert status(code="radio", gate=True, baseline=str(before.pk), junit=report, option=["retrieval.top_k=1"]) == 1

    assert "significantly worse" in capsys.readouterr().err
    assert 'failure type="worse"' in report.read_text()
    assert "antenna" not in baseline.read_text()  # a baseline says nothing of the questions
    baseline.write_text(json.dumps({"format": "other", "cases": {}}))
    assert status(code="radio", gate=True, baseline=str(baseline)) == 2


def test_a_set_without_guards_passes_with_a_note(admin, capsys):
    make_set("bare", owners=[admin])

    assert status(code="bare", gate=True) == 0
    assert "nothing to measure" in capsys.readouterr().out
