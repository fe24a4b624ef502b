"""Fitting query vectors: started, trained, broken off, resumed, cancelled, refused, and switched on after the gate."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar
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
from evaluation.jobs import train_adapter
from evaluation.models import GatedChange, GoldenSet
from evaluation.services import adapter_pairs, adapter_passages, trainings
from evaluation.services.adapter_passages import SetPassages
from evaluation.services.adapter_training import training_cancel, training_start
from evaluation.services.gates import change_publish
from evaluation.services.golden import golden_import
from evaluation.services.golden_files import GoldenRow
from knowledge.errors import MeasuredFirstError
from knowledge.models import QueryAdapter
from tests.admin.conftest import signed_in
from tests.evaluation.pairs_at_once import pairs_collect
from tests.evaluation.runs import run_work_off
from tests.evaluation.topics import ASKING, WORDS, letters_make
from tests.evaluation.trained import at_round, died, ended, job_of
from tests.factories import ingest, make_admin, make_set, make_tenant, make_user
from tests.work.contract import KindContract
from work.errors import JobStateError
from work.models import Job
from work.runner import slice_run
from work.services import work_retry
from work.versions import version_activate

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


@pytest.fixture
def few_rounds(monkeypatch):
    """A training ends three rounds after its best one, where its figures do not matter."""
    monkeypatch.setattr(train_adapter, "PATIENCE", 3)


def trained(admin, radio, *origins) -> QueryAdapter:
    return ended(start(admin, radio, *origins))


def test_what_finds_more_on_held_out_documents_is_ready(admin, radio, golden):
    row = trained(admin, radio)

    assert row.state == "ready", (job_of(row).error_data, row.figures)
    recall = row.figures["overall"]["recall@10"]
    assert recall["after"] > recall["before"]
    assert row.curve[0]["recall"] == pytest.approx(recall["before"], abs=1e-3)
    assert row.figures["pairs"] == {"golden": len(WORDS)}
    assert row.figures["held_out"] == len(WORDS)
    assert row.figures["discrimination"]["after"] > row.figures["discrimination"]["before"]
    assert (row.pairs, row.checkpoint) == ([], None)  # people's words are not kept
    assert not QueryAdapter.objects.filter(state="live").exists()  # nothing changed for anybody

    version_activate(kind="query_adapter", scope=scope_for(admin), actor=admin, version_id=row.pk)

    row.refresh_from_db()
    assert row.state == "live"
    assert set(AuditEvent.objects.filter(action__startswith="adapter.").values_list("action", flat=True)) == {
        "adapter.train",
        "adapter.switch_on",
    }


class TestTrainAdapter(KindContract):
    numbers: ClassVar[list] = []

    @pytest.fixture(autouse=True)
    def _letters(self, admin, radio, golden, monkeypatch):
        self.admin, self.radio = admin, radio
        monkeypatch.setattr(trainings, "STORED_SECONDS", 0.0)
        monkeypatch.setattr(train_adapter, "PATIENCE", 2)

    def start(self):
        return job_of(start(self.admin, self.radio))

    def outcome(self, job):
        row = QueryAdapter.objects.get(pk=job.arguments["version_id"])
        return row.curve, row.best_round, None if row.weights is None else bytes(row.weights)

    def whole(self):
        if not self.numbers:  # the letters are the same rows in each test
            row = trained(self.admin, self.radio)
            assert row.weights is not None
            self.numbers.append(self.outcome(job_of(row)))
        return self.numbers[0]


@pytest.mark.parametrize("reached", [lambda data: data.get("searched") == 9, at_round(7)], ids=["pairs", "rounds"])
@pytest.mark.full
def test_a_killed_training_goes_on_and_ends_with_the_same_numbers(admin, radio, golden, monkeypatch, reached):
    whole = trained(admin, radio)
    monkeypatch.setattr(trainings, "STORED_SECONDS", 0.0)
    row = start(admin, radio)

    job = died(row, monkeypatch, reached)
    ended(row)

    assert (job.state, job.failures) == ("running", 0)
    assert (row.state, row.best_round, row.curve) == (whole.state, whole.best_round, whole.curve)
    assert bytes(row.weights) == bytes(whole.weights)


@pytest.mark.full
def test_others_come_between_two_checkpoints_and_the_numbers_are_the_same(admin, radio, golden, monkeypatch):
    monkeypatch.setattr(train_adapter, "PATIENCE", 2)
    whole = trained(admin, radio)
    monkeypatch.setattr(trainings, "STORED_SECONDS", 0.0)
    monkeypatch.setattr(train_adapter.TrainAdapter, "slice_seconds", 0.0)
    row = start(admin, radio)

    assert slice_run(job_id=job_of(row).pk)
    between = job_of(row).state
    ended(row)

    assert between == "queued"
    assert job_of(row).attempt > len(WORDS)
    assert (row.state, row.curve, row.best_round) == (whole.state, whole.curve, whole.best_round)


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
@pytest.mark.usefixtures("few_rounds")
def test_a_cancelled_training_leaves_nothing_and_may_be_tried_again(admin, radio, golden, monkeypatch):
    monkeypatch.setattr(trainings, "STORED_SECONDS", 0.0)
    who = {"scope": scope_for(admin), "actor": admin}
    row = start(admin, radio)
    job = died(row, monkeypatch, at_round(3))
    training_cancel(**who, adapter_id=row.pk)

    row.refresh_from_db()
    assert (row.state, row.reason, row.pairs, row.checkpoint, row.weights) == ("dropped", "cancelled", [], None, None)
    assert not slice_run(job_id=job.pk)
    with pytest.raises(AdapterTrainingError, match="is over"):
        training_cancel(**who, adapter_id=row.pk)
    other = start(admin, radio)
    with pytest.raises(JobStateError, match="already waiting or running"):
        work_retry(**who, job_id=job.pk)
    training_cancel(**who, adapter_id=other.pk)

    work_retry(**who, job_id=job.pk)

    assert QueryAdapter.objects.get(pk=row.pk).state == "building"
    assert ended(row).state == "ready"


@pytest.mark.full
def test_no_gain_changes_nothing_and_says_so(admin, monkeypatch):
    """Questions that find everything already."""
    home = make_set("plain", owners=[admin])
    ingest(admin, home, **{word: f"The {word} stands in hall {word}." for word in WORDS})
    rows = [GoldenRow(question=f"The {word} stands in which hall?", relevant=(word,)) for word in WORDS]
    golden_import(tenant=admin.tenant, name="plain", rows=rows).golden_set.sets.add(home)

    row = trained(admin, home)

    assert (row.state, row.weights) == ("dropped", None)
    assert row.reason == "no_gain"
    page = signed_in(admin).get(f"{reverse('admin:evaluation_adapters_set')}?set={home.pk}").content.decode()
    assert "Nothing was changed" in page
    assert "Switch on" not in page


def test_too_little_to_learn_from_is_said(admin, golden, radio):
    empty = make_set("empty", owners=[admin])
    one = make_set("one", owners=[admin])
    ingest(admin, one, only="The only document is about beams.")
    rows = [GoldenRow(question=f"What is beam number {n}, at all?", relevant=("only",)) for n in range(30)]
    golden_import(tenant=admin.tenant, name="one", rows=rows).golden_set.sets.add(one)

    reasons = {home.code: job_of(trained(admin, home)).error_data.get("reason") for home in (empty, one)}
    GoldenSet.objects.get(name="radio").cases.all()[5:].count()
    golden.cases.filter(pk__gt=golden.cases.order_by("pk")[4].pk).delete()
    reasons["radio"] = job_of(trained(admin, radio)).error_data.get("reason")

    assert reasons == {"empty": "empty", "one": "documents", "radio": "few"}
    with pytest.raises(AdapterTrainingError, match="at least one kind"):
        training_start(scope=scope_for(admin), actor=admin, set_id=radio.pk, origins=[])


def test_only_owners_train_and_who_lost_the_set_teaches_it_nothing(admin, radio, golden):
    stranger, owner = make_user("stranger", tenant=admin.tenant), make_user("owner", tenant=admin.tenant)
    with pytest.raises(NotAllowedError):
        start(stranger, radio)
    radio.owners.add(owner)
    row = start(owner, radio)
    with pytest.raises(NotFoundError):
        training_cancel(scope=scope_for(stranger), actor=stranger, adapter_id=row.pk)
    radio.owners.remove(owner)

    ended(row)

    assert (row.reason, job_of(row).error_code) == ("failed", "not_allowed")


@pytest.mark.full
@pytest.mark.django_db(transaction=True)  # answers use the database from several threads
def test_golden_sets_that_guard_the_set_are_asked_first(admin, radio, golden):
    row = trained(admin, radio)
    GoldenSet.objects.filter(pk=golden.pk).update(guards=True)
    with pytest.raises(MeasuredFirstError):
        version_activate(kind="query_adapter", scope=scope_for(admin), actor=admin, version_id=row.pk)
    change = GatedChange.objects.get()
    for run in change.runs.all():
        run_work_off(run)
    page = signed_in(admin).get(reverse("admin:evaluation_gatedchange_change", args=[change.pk])).content.decode()
    assert "Fitted query vectors" in page

    change_publish(scope=scope_for(admin), actor=admin, change=change)

    row.refresh_from_db()
    assert row.state == "live"


def test_pairs_come_from_all_there_is_within_the_rights_of_who_asks(admin, radio, golden):
    kept = lambda *origins: pairs_collect(scope=scope_for(admin), knowledge_set=radio, origins=origins)  # noqa: E731
    assert {pair.origin for pair in kept("golden", "title").pairs} == {"golden", "title"}
    asked = kept("golden").pairs
    assert {pair.documents for pair in asked} == {(pair.documents[0],) for pair in asked}
    outsider = make_user("outsider", tenant=make_tenant())
    none = pairs_collect(scope=scope_for(outsider), knowledge_set=radio, origins=["golden"])
    assert (none.pairs, none.dropped) == ([], {})


@pytest.mark.full
def test_cases_of_a_long_document_prepare_each_passage_once(admin, radio, golden, monkeypatch):
    ingest(admin, radio, **{WORDS[0]: "\n\n".join(f"# Shelf {n}\n\nShelf {n} of {WORDS[0]}. " * 90 for n in range(4))})
    case = golden.cases.get(relevant=[WORDS[0]])
    for n in range(5):
        golden.cases.create(question=f"{case.question} {n}", relevant=case.relevant, answers=[f"Shelf {n} of"])
    monkeypatch.setattr(adapter_pairs, "CASES_AT_ONCE", 2)
    monkeypatch.setattr(adapter_passages, "squeeze", squeezed := Mock(side_effect=adapter_passages.squeeze))

    pairs_collect(scope=scope_for(admin), knowledge_set=radio, origins=["golden"])

    texts = list(SetPassages(scope=scope_for(admin), set_id=radio.pk).rows().values_list("text", flat=True))
    asked = Counter(call.args[0] for call in squeezed.call_args_list)
    assert len(texts) > len(radio.documents.all())  # one document has several passages
    assert max(asked[text] for text in texts) == 1


@pytest.mark.full
@pytest.mark.usefixtures("few_rounds")
@pytest.mark.parametrize(("low", "is_said"), [(-0.01, True), (0.02, False)])
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
        QueryAdapter.objects.create(**mine, number=number, state="dropped", reason="cancelled")

    page = signed_in(admin).get(f"{reverse('admin:evaluation_adapters_set')}?set={radio.pk}").content.decode()

    assert "Restore original vectors" in page
    assert "Questions use the original vectors." not in page


@pytest.mark.full
@pytest.mark.usefixtures("few_rounds")
def test_the_reason_for_a_version_that_has_not_passed_is_in_the_audit_log(admin, radio, golden):
    row = trained(admin, radio)
    GoldenSet.objects.filter(pk=golden.pk).update(guards=True)
    with pytest.raises(MeasuredFirstError):
        version_activate(kind="query_adapter", scope=scope_for(admin), actor=admin, version_id=row.pk)
    GatedChange.objects.update(state="failed")

    change_publish(scope=scope_for(admin), actor=admin, change=GatedChange.objects.get(), reason="Held-out says more.")

    event = AuditEvent.objects.get(action="adapter.switch_on")
    assert event.data["reason"] == "Held-out says more."


@pytest.mark.usefixtures("few_rounds")
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
    waiting = client.get(page).content.decode()
    assert "Waiting for a worker" in waiting
    assert "Collecting pairs" not in waiting
    Job.objects.update(state=Job.State.RUNNING)
    assert "Collecting pairs" in client.get(page).content.decode()
    Job.objects.update(state=Job.State.QUEUED)
    ended(row)

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
