"""Fitting query vectors: started, trained, broken off, resumed, cancelled, refused, and switched on after the gate."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from unittest.mock import Mock

import pytest
from django.db import IntegrityError
from django.urls import reverse
from django.utils import timezone

from accounts.errors import NotAllowedError, NotFoundError
from accounts.models import AuditEvent
from accounts.selectors import scope_for
from evaluation.admin import adapters
from evaluation.errors import AdapterTrainingError
from evaluation.models import GatedChange, GoldenSet
from evaluation.services import adapter_pairs, adapter_passages, trainings
from evaluation.services.adapter_pairs import pairs_collect
from evaluation.services.adapter_passages import SetPassages
from evaluation.services.adapter_training import (
    training_advance,
    training_cancel,
    training_start,
    trainings_resume,
)
from evaluation.services.gates import change_publish
from evaluation.services.golden import golden_import
from evaluation.services.golden_files import GoldenRow
from evaluation.services.runs import run_advance
from evaluation.services.training_publishing import adapter_publish
from evaluation.services.trainings import TrainingWork, training_work
from evaluation.tasks import train_adapter
from knowledge.errors import MeasuredFirstError
from knowledge.models import QueryAdapter
from tests.admin.conftest import signed_in
from tests.evaluation.topics import ASKING, WORDS, letters_make
from tests.factories import ingest, make_admin, make_set, make_tenant, make_user

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("few_general_texts"),
    pytest.mark.starts_from(make=letters_make),
]


@pytest.fixture
def admin(request, db):
    return request.getfixturevalue("kept_rows")[0] if "radio" in request.fixturenames else make_admin("admin")


@pytest.fixture
def radio(kept_rows):
    return kept_rows[1]


@pytest.fixture
def golden(admin, radio) -> GoldenSet:
    rows = [GoldenRow(question=f"{ASKING} for the {word}?", relevant=(word,), answers=(word,)) for word in WORDS]
    found = golden_import(tenant=admin.tenant, name="radio", rows=rows).golden_set
    found.sets.add(radio)
    GoldenSet.objects.filter(pk=found.pk).update(guards=False)
    return found


def start(admin, radio, *origins):
    given = {"origins": origins} if origins else {"origins": ["golden"]}
    return training_start(scope=scope_for(admin), actor=admin, set_id=radio.pk, **given)


def trained(admin, radio, *origins) -> QueryAdapter:
    row = start(admin, radio, *origins)
    assert training_advance(adapter_id=row.pk)
    row.refresh_from_db()
    return row


def test_what_finds_more_on_held_out_documents_is_ready(admin, radio, golden):
    row = trained(admin, radio)

    assert row.state == "ready", (row.error_message, row.figures)
    recall = row.figures["overall"]["recall@10"]
    assert recall["after"] > recall["before"]
    assert row.curve[0]["recall"] == pytest.approx(recall["before"], abs=1e-3)
    assert row.figures["pairs"] == {"golden": len(WORDS)}
    assert row.figures["held_out"] == len(WORDS)
    assert row.figures["discrimination"]["after"] > row.figures["discrimination"]["before"]
    assert (row.pairs, row.checkpoint, row.leased_until) == ([], None, None)  # people's words are not kept
    assert not QueryAdapter.objects.filter(state="live").exists()  # nothing changed for anybody

    adapter_publish(scope=scope_for(admin), actor=admin, adapter_id=row.pk)

    row.refresh_from_db()
    assert row.state == "live"
    assert set(AuditEvent.objects.filter(action__startswith="adapter.").values_list("action", flat=True)) == {
        "adapter.train",
        "adapter.switch_on",
    }


@pytest.mark.full
def test_a_killed_training_goes_on_and_ends_with_the_same_numbers(admin, radio, golden):
    whole = trained(admin, radio)

    class KilledError(BaseException):
        pass

    def kill(done):
        if done == 7:
            raise KilledError

    row = start(admin, radio)
    with pytest.raises(KilledError):
        training_advance(adapter_id=row.pk, on_round=kill)
    row.refresh_from_db()
    assert (row.state, row.round) == ("training", 7)
    assert not training_advance(adapter_id=row.pk)  # its lease holds
    assert trainings_resume() == 0
    QueryAdapter.objects.filter(pk=row.pk).update(leased_until=timezone.now() - timedelta(seconds=1))
    assert trainings_resume() == 1

    assert training_advance(adapter_id=row.pk)

    row.refresh_from_db()
    assert (row.state, row.best_round, row.starts) == (whole.state, whole.best_round, 2)
    assert row.curve == whole.curve
    assert bytes(row.weights) == bytes(whole.weights)


@pytest.mark.full
def test_a_training_ends_at_a_checkpoint_for_what_else_waits_and_goes_on_with_the_same_numbers(
    admin, radio, golden, monkeypatch
):
    monkeypatch.setattr("evaluation.services.adapter_training.PATIENCE", 2)
    whole = trained(admin, radio)
    calls = []
    monkeypatch.setattr(trainings, "enqueue_on_commit", lambda task, *, queue, **ids: calls.append((task, ids)))
    monkeypatch.setattr(trainings, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(trainings, "STORED_SECONDS", 0.0)
    monkeypatch.setattr(trainings, "MOST_STARTS", 1)
    row = start(admin, radio)

    train_adapter(**calls[0][1])
    row.refresh_from_db()
    between = (row.state, row.leased_until, row.starts, row.slices)
    assert trainings_resume() == 1  # it waits for a worker
    for call in calls:  # grows with each slice
        assert call[0] == "evaluation.train_adapter"
        train_adapter(**call[1])

    row.refresh_from_db()
    assert between == ("training", None, 1, 1)
    assert [one["starts"] for _task, one in calls] == [0, 1, 1, *range(2, row.starts)]  # the second call began nothing
    assert (row.starts, row.curve, row.best_round) == (row.slices + 1, whole.curve, whole.best_round)
    assert row.state == whole.state


def test_two_trainings_of_a_set_at_once_are_refused(admin, radio, golden):
    row = start(admin, radio)
    with pytest.raises(AdapterTrainingError, match="already being fitted"):
        start(admin, radio)
    training_cancel(scope=scope_for(admin), actor=admin, adapter_id=row.pk)
    again = start(admin, radio)
    with pytest.raises(IntegrityError):
        QueryAdapter.objects.create(tenant_id=radio.tenant_id, knowledge_set=radio, number=99)
    assert again.number == 2


@pytest.mark.full
def test_a_cancelled_training_stops_and_leaves_nothing(admin, radio, golden):
    row = start(admin, radio)
    cancel = lambda done: done == 3 and training_cancel(scope=scope_for(admin), actor=admin, adapter_id=row.pk)  # noqa: E731
    assert training_advance(adapter_id=row.pk, on_round=cancel)

    row.refresh_from_db()
    assert (row.state, row.pairs, row.checkpoint, row.weights) == ("cancelled", [], None, None)
    assert not training_advance(adapter_id=row.pk)
    with pytest.raises(AdapterTrainingError, match="is over"):
        training_cancel(scope=scope_for(admin), actor=admin, adapter_id=row.pk)


@pytest.mark.full
def test_no_gain_changes_nothing_and_says_so(admin, monkeypatch):
    """Questions that find everything already."""
    home = make_set("plain", owners=[admin])
    ingest(admin, home, **{word: f"The {word} stands in hall {word}." for word in WORDS})
    rows = [GoldenRow(question=f"The {word} stands in which hall?", relevant=(word,)) for word in WORDS]
    golden_import(tenant=admin.tenant, name="plain", rows=rows).golden_set.sets.add(home)

    row = trained(admin, home)

    assert (row.state, row.weights) == ("no_gain", None)
    page = signed_in(admin).get(f"{reverse('admin:evaluation_adapters_set')}?set={home.pk}").content.decode()
    assert "Nothing was changed" in page
    assert "Switch on" not in page


def test_too_little_to_learn_from_is_said(admin, golden, radio):
    empty = make_set("empty", owners=[admin])
    one = make_set("one", owners=[admin])
    ingest(admin, one, only="The only document is about beams.")
    rows = [GoldenRow(question=f"What is beam number {n}, at all?", relevant=("only",)) for n in range(30)]
    golden_import(tenant=admin.tenant, name="one", rows=rows).golden_set.sets.add(one)

    reasons = {home.code: trained(admin, home).error_data.get("reason") for home in (empty, one)}
    GoldenSet.objects.get(name="radio").cases.all()[5:].count()
    golden.cases.filter(pk__gt=golden.cases.order_by("pk")[4].pk).delete()
    reasons["radio"] = trained(admin, radio).error_data.get("reason")

    assert reasons == {"empty": "empty", "one": "documents", "radio": "few"}
    with pytest.raises(AdapterTrainingError, match="at least one kind"):
        training_start(scope=scope_for(admin), actor=admin, set_id=radio.pk, origins=[])


def test_a_training_that_is_broken_off_again_and_again_ends(admin, radio, golden):
    row = start(admin, radio)
    QueryAdapter.objects.filter(pk=row.pk).update(starts=trainings.MOST_STARTS)
    training_advance(adapter_id=row.pk)
    row.refresh_from_db()
    assert (row.state, row.error_data["reason"]) == ("failed", "lost")


class Younger(TrainingWork[QueryAdapter]):
    """Has the training, and is at work on it."""

    error = AdapterTrainingError

    def run(self):
        self.alive(round=3)


class Elder(Younger):
    """Is overtaken by a younger worker because its own lease had lapsed."""

    def run(self):
        rows = QueryAdapter.objects.all()
        rows.update(leased_until=timezone.now() - timedelta(seconds=1))
        assert training_work(rows, pk=self.row.pk, work=Younger, error=self.error)
        self.goes_on()


def refused(work):
    raise AdapterTrainingError("few", found=1, least=2)


@pytest.mark.parametrize(
    "goes_on", [lambda work: work.alive(round=7), lambda work: work.finish(round=7, state="ready"), refused]
)
def test_a_worker_whose_lease_lapsed_writes_nothing_once_another_one_trains(admin, radio, golden, monkeypatch, goes_on):
    row = start(admin, radio)
    monkeypatch.setattr(Elder, "goes_on", goes_on, raising=False)

    training_work(QueryAdapter.objects.all(), pk=row.pk, work=Elder, error=AdapterTrainingError)

    row.refresh_from_db()
    assert (row.state, row.round, row.starts, row.error_code) == ("training", 3, 2, "")
    assert row.leased_until > timezone.now()


def test_only_owners_train_and_who_lost_the_set_teaches_it_nothing(admin, radio, golden):
    stranger, owner = make_user("stranger", tenant=admin.tenant), make_user("owner", tenant=admin.tenant)
    with pytest.raises(NotAllowedError):
        start(stranger, radio)
    radio.owners.add(owner)
    row = start(owner, radio)
    with pytest.raises(NotFoundError):
        training_cancel(scope=scope_for(stranger), actor=stranger, adapter_id=row.pk)
    radio.owners.remove(owner)

    training_advance(adapter_id=row.pk)

    row.refresh_from_db()
    assert (row.state, row.error_code) == ("failed", "not_allowed")


@pytest.mark.full
@pytest.mark.django_db(transaction=True)  # answers use the database from several threads
def test_golden_sets_that_guard_the_set_are_asked_first(admin, radio, golden):
    row = trained(admin, radio)
    GoldenSet.objects.filter(pk=golden.pk).update(guards=True)
    with pytest.raises(MeasuredFirstError):
        adapter_publish(scope=scope_for(admin), actor=admin, adapter_id=row.pk)
    change = GatedChange.objects.get()
    for run in change.runs.all():
        while run_advance(run_id=run.pk):
            pass
    page = signed_in(admin).get(reverse("admin:evaluation_gatedchange_change", args=[change.pk])).content.decode()
    assert "Fitted query vectors" in page

    change_publish(scope=scope_for(admin), actor=admin, change=change)

    row.refresh_from_db()
    assert row.state == "live"


def test_pairs_come_from_all_there_is_within_the_rights_of_who_asks(admin, radio, golden):
    kept = lambda *origins: pairs_collect(  # noqa: E731
        scope=scope_for(admin), knowledge_set=radio, origins=origins, alive=lambda: None
    )
    assert {pair.origin for pair in kept("golden", "title").pairs} == {"golden", "title"}
    asked = kept("golden").pairs
    assert {pair.documents for pair in asked} == {(pair.documents[0],) for pair in asked}
    outsider = make_user("outsider", tenant=make_tenant())
    none = pairs_collect(scope=scope_for(outsider), knowledge_set=radio, origins=["golden"], alive=lambda: None)
    assert (none.pairs, none.dropped) == ([], {})


def test_cases_of_a_long_document_renew_the_lease_and_prepare_each_passage_once(admin, radio, golden, monkeypatch):
    ingest(admin, radio, **{WORDS[0]: "\n\n".join(f"# Shelf {n}\n\nShelf {n} of {WORDS[0]}. " * 90 for n in range(4))})
    case = golden.cases.get(relevant=[WORDS[0]])
    for n in range(5):
        golden.cases.create(question=f"{case.question} {n}", relevant=case.relevant, answers=[f"Shelf {n} of"])
    monkeypatch.setattr(adapter_pairs, "CASES_AT_ONCE", 2)
    monkeypatch.setattr(adapter_passages, "squeeze", squeezed := Mock(side_effect=adapter_passages.squeeze))
    alive = Mock()

    pairs_collect(scope=scope_for(admin), knowledge_set=radio, origins=["golden"], alive=alive)

    texts = list(SetPassages(scope=scope_for(admin), set_id=radio.pk).rows().values_list("text", flat=True))
    asked = Counter(call.args[0] for call in squeezed.call_args_list)
    assert len(texts) > len(radio.documents.all())  # one document has several passages
    assert max(asked[text] for text in texts) == 1
    assert alive.call_count >= golden.cases.count() // 2


@pytest.mark.parametrize(("low", "is_said"), [(-0.01, True), pytest.param(0.02, False, marks=pytest.mark.full)])
def test_a_gain_that_may_be_chance_is_called_so(admin, radio, golden, low, is_said):
    row = trained(admin, radio)
    row.figures["overall"] = {name: {**one, "low": low} for name, one in row.figures["overall"].items()}
    row.save(update_fields=["figures"])

    page = signed_in(admin).get(f"{reverse('admin:evaluation_adapters_set')}?set={radio.pk}").content.decode()

    assert ("This may be chance" in page) is is_said


def test_a_version_in_use_is_shown_however_many_trainings_follow(admin, radio):
    mine = {"tenant_id": radio.tenant_id, "knowledge_set": radio}
    QueryAdapter.objects.create(**mine, number=1, state="live", live_since=timezone.now())
    for number in range(2, adapters.SHOWN + 2):
        QueryAdapter.objects.create(**mine, number=number, state="cancelled")

    page = signed_in(admin).get(f"{reverse('admin:evaluation_adapters_set')}?set={radio.pk}").content.decode()

    assert "Restore original vectors" in page
    assert "Questions use the original vectors." not in page


def test_the_reason_for_a_version_that_has_not_passed_is_in_the_audit_log(admin, radio, golden):
    row = trained(admin, radio)
    GoldenSet.objects.filter(pk=golden.pk).update(guards=True)
    with pytest.raises(MeasuredFirstError):
        adapter_publish(scope=scope_for(admin), actor=admin, adapter_id=row.pk)
    GatedChange.objects.update(state="failed")

    change_publish(scope=scope_for(admin), actor=admin, change=GatedChange.objects.get(), reason="Held-out says more.")

    event = AuditEvent.objects.get(action="adapter.switch_on")
    assert event.data["reason"] == "Held-out says more."


def test_the_pages_start_follow_and_switch(admin, radio, golden):
    client = signed_in(admin)
    page = f"{reverse('admin:evaluation_adapters_set')}?set={radio.pk}"
    act = reverse("admin:evaluation_adapters_act")
    assert radio.name in client.get(reverse("admin:evaluation_adapters")).content.decode()
    assert "No training" in client.get(page).content.decode()
    assert (
        client.post(reverse("admin:evaluation_adapters_start"), {"set": radio.pk, "origins": ["golden"]}).status_code
        == 302
    )
    row = QueryAdapter.objects.get()
    assert "Collecting pairs" in client.get(page).content.decode()
    training_advance(adapter_id=row.pk)

    shown = client.get(page).content.decode()
    assert "<polyline" in shown
    assert "Switch on" in shown
    client.post(act, {"id": row.pk, "act": "publish"})
    assert "Restore original vectors" in client.get(page).content.decode()
    client.post(act, {"id": radio.pk, "act": "off"})
    assert "Switch on again" in client.get(page).content.decode()

    assert client.get(act).status_code == 405
    assert client.post(act, {"id": 10**9, "act": "cancel"}).status_code == 404
    assert client.post(act, {"id": row.pk, "act": "erase"}).status_code == 404
    stranger = make_user("stranger", tenant=admin.tenant, is_staff=True)
    assert signed_in(stranger).get(page).status_code == 403
    make_set("theirs", owners=[stranger])
    assert signed_in(stranger).get(page).status_code == 404
    assert signed_in(stranger).post(act, {"id": row.pk, "act": "publish"}).status_code == 404
