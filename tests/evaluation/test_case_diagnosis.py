"""All cases are diagnosed at night and on demand: none twice, none lost, with the asker's rights."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse
from django.utils import timezone

from evaluation.jobs import diagnose_cases
from evaluation.jobs.diagnose_cases import DiagnoseCases
from evaluation.models import Diagnosis, GoldenCase, GoldenSet
from evaluation.selectors import diagnosis_latest
from evaluation.services import case_diagnosis
from evaluation.services.case_diagnosis import (
    cases_without_diagnosis,
    diagnosis_run_start,
    diagnosis_runs_at_night,
)
from evaluation.services.lab.replay import replay_get
from feedback.models import BadCase
from ragcore.errors import RagError
from tests.admin.conftest import signed_in
from tests.api.world import message_make
from tests.evaluation.test_diagnosis import QUESTION, RACH, TEXTS
from tests.factories import ingest, make_admin, make_set, make_user, scope_of
from tests.migrating import long_released, migrations_apply, migrations_unapply
from tests.work.contract import KindContract, due
from work import queue
from work.claims import jobs_sweep
from work.models import Job
from work.runner import slice_run

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def reviewer():
    return make_admin("reviewer")


@pytest.fixture
def asker(db):
    return make_user("asker", clearance=1)


@pytest.fixture
def pauses():
    """Seconds for which a run has rested after its cases."""
    return []


@pytest.fixture(autouse=True)
def sent(monkeypatch, pauses):
    """Slices that would go to the broker."""
    tasks = []

    def send(name, kwargs, options):
        if name != queue.RUN_SLICE:  # upkeep that ingestion starts
            return
        tasks.append((name, kwargs, options["queue"]))
        if options["countdown"]:
            pauses.append(options["countdown"])

    monkeypatch.setattr(queue, "send", send)
    return tasks


def case_of(asker, question=QUESTION, answer="I do not know.", **values) -> BadCase:
    message = message_make(asker, question=question, answer=answer, state="done", status="refused", **values)
    return BadCase.objects.create(message=message)


def worked_off(run, sent) -> None:
    """As a worker would: a slice for each that was sent, and no rests."""
    while sent:
        name, kwargs, _queue = sent.pop()
        assert name == "work.run_slice"
        due(run)
        slice_run(**kwargs)


def test_a_run_diagnoses_every_case_once_and_few_at_a_time(reviewer, asker, sent, monkeypatch):
    monkeypatch.setattr(DiagnoseCases, "slice_seconds", 0)
    ingest(reviewer, make_set("radio", owners=[reviewer]), **TEXTS)
    cases = [case_of(asker, QUESTION if n else "Who won the curling?") for n in range(3)]
    done = case_of(asker)
    done.state = "closed"
    done.save()

    run = diagnosis_run_start(scope=scope_of(reviewer), actor=reviewer)
    assert sent == [("work.run_slice", {"job_id": run.pk, "attempt": 0}, "diagnosis")]
    worked_off(run, sent)

    run.refresh_from_db()
    assert (run.total, run.done, run.figures) == (3, 3, {"diagnosed": 3})
    assert run.finished is not None
    assert sorted(Diagnosis.objects.values_list("message_id", "cause")) == sorted(
        (case.message_id, "knowledge_gap" if n == 0 else "reranking") for n, case in enumerate(cases)
    )


def test_a_case_that_was_opened_again_is_diagnosed_again(reviewer, asker, sent):
    ingest(reviewer, make_set("radio", owners=[reviewer]), **TEXTS)
    case = case_of(asker)
    worked_off(diagnosis_run_start(scope=scope_of(reviewer), actor=None), sent)
    assert not cases_without_diagnosis(tenant_id=reviewer.tenant_id).exists()

    BadCase.objects.filter(pk=case.pk).update(reopened=timezone.now())

    worked_off(diagnosis_run_start(scope=scope_of(reviewer), actor=None), sent)
    assert Diagnosis.objects.filter(message=case.message).count() == 2
    assert not cases_without_diagnosis(tenant_id=reviewer.tenant_id).exists()


def test_two_starts_make_one_run_and_nothing_to_do_is_over_at_once(reviewer, asker, sent):
    assert diagnosis_run_start(scope=scope_of(reviewer), actor=reviewer).finished is not None
    case_of(asker)

    first = diagnosis_run_start(scope=scope_of(reviewer), actor=reviewer)
    second = diagnosis_run_start(scope=scope_of(reviewer), actor=None)

    assert (first.pk, len(sent)) == (second.pk, 1)


class TestDiagnoseCases(KindContract):
    @pytest.fixture(autouse=True)
    def _cases(self, reviewer, asker):
        self.reviewer = reviewer
        for number in range(3):
            case_of(asker, f"Who won the curling of {number}?")

    def start(self):
        return diagnosis_run_start(scope=scope_of(self.reviewer), actor=self.reviewer)

    def outcome(self, job):
        diagnoses = Diagnosis.objects.order_by("message__question").values_list("message__question", flat=True)
        return list(diagnoses), job.done

    def whole(self):
        return [f"Who won the curling of {number}?" for number in range(3)], 3


def test_a_case_that_cannot_be_diagnosed_does_not_stop_the_others(reviewer, asker, sent, monkeypatch):
    broken, fine = case_of(asker, "Who won the curling?"), case_of(asker, "Who lost the curling?")
    diagnosed = case_diagnosis.answer_diagnose

    def breaking(**values):
        if values["message_id"] == str(broken.message_id):
            raise RagError
        return diagnosed(**values)

    monkeypatch.setattr(case_diagnosis, "answer_diagnose", breaking)
    run = diagnosis_run_start(scope=scope_of(reviewer), actor=None)
    worked_off(run, sent)

    run.refresh_from_db()
    assert (run.done, run.figures) == (2, {"diagnosed": 1, "failed": 1})
    assert Diagnosis.objects.get().message == fine.message


def test_the_night_takes_every_tenant_that_has_cases(reviewer, asker, sent):
    assert diagnosis_runs_at_night() == 0
    case_of(asker)

    assert diagnosis_runs_at_night() == 1

    assert Job.objects.get().author is None


def test_a_run_of_the_night_works_a_quarter_of_the_time_and_one_that_somebody_waits_for_all_of_it(
    reviewer, asker, sent, pauses, monkeypatch
):
    for number in range(3):
        case_of(asker, f"Who won the curling of {number}?")
    took = iter((1.0, 0.5, 60.0))
    clock = [0.0]
    monkeypatch.setattr(diagnose_cases, "clock", lambda: clock[0])
    diagnosed = diagnose_cases.case_diagnosed

    def slow(case):
        clock[0] += next(took)
        return diagnosed(case)

    monkeypatch.setattr(diagnose_cases, "case_diagnosed", slow)
    diagnosis_runs_at_night()
    worked_off(Job.objects.get(), sent)

    assert pauses == [3.0, 1.5, 5.0]  # three times as long as it worked, up to a limit

    took = iter((1.0,))
    case_of(asker, "Who lost the curling?")
    pauses.clear()
    worked_off(diagnosis_run_start(scope=scope_of(reviewer), actor=reviewer), sent)
    assert pauses == []


def test_a_reviewer_who_asks_for_the_run_of_the_night_ends_its_pauses(reviewer, asker, sent, pauses):
    for number in range(4):
        case_of(asker, f"Who won the curling of {number}?")
    diagnosis_runs_at_night()
    _name, kwargs, _queue = sent.pop()
    slice_run(**kwargs)
    assert len(pauses) == 1

    run = diagnosis_run_start(scope=scope_of(reviewer), actor=reviewer)
    worked_off(run, sent)

    run.refresh_from_db()
    assert (Job.objects.count(), run.done, run.author) == (1, 4, reviewer)
    assert len(pauses) == 1


def test_what_only_owners_may_open_is_a_matter_of_rights_and_told_only_to_those_who_may(reviewer, asker, sent):
    ingest(reviewer, make_set("radio", owners=[reviewer]), clearance=3, rach=RACH)
    case = case_of(asker)
    golden = GoldenSet.objects.create(tenant=asker.tenant, name="radio")
    GoldenCase.objects.create(golden_set=golden, question=QUESTION, answers=["64"], relevant=["rach"])

    worked_off(diagnosis_run_start(scope=scope_of(reviewer), actor=None), sent)

    assert diagnosis_latest(scope=scope_of(reviewer), message=case.message).cause == "permission"
    told = diagnosis_latest(scope=scope_of(asker), message=case.message)
    assert (told.cause, told.answers, told.points) == ("knowledge_gap", [], [])
    assert "64" not in json.dumps(told.evidence)
    assert diagnosis_latest(scope=scope_of(reviewer), message=case.message).answers == ["64"]


def test_a_question_of_a_conversation_is_searched_for_as_it_was_understood(reviewer, asker, sent):
    ingest(reviewer, make_set("radio", owners=[reviewer]), rach=RACH)
    case = case_of(asker, question="How many does it have?", metadata={"understood": QUESTION})
    golden = GoldenSet.objects.create(tenant=asker.tenant, name="radio")
    GoldenCase.objects.create(golden_set=golden, question=QUESTION, answers=["64"], relevant=["rach"])

    worked_off(diagnosis_run_start(scope=scope_of(reviewer), actor=None), sent)

    replay = replay_get(scope=scope_of(asker), message_id=str(case.message_id), is_reviewer=False)
    told = diagnosis_latest(scope=scope_of(asker), message=case.message)
    assert replay.question.text == QUESTION
    assert (told.answers, told.document.external_id) == (["64"], "rach")


def test_the_list_of_cases_starts_a_run_and_shows_how_far_it_is(reviewer, asker, sent):
    case_of(asker)
    client, cases = signed_in(reviewer), reverse("admin:feedback_badcase_changelist")
    assert "Diagnose 1 case" in client.get(cases).content.decode()

    client.post(reverse("admin:feedback_badcase_diagnose"))

    assert "Diagnosing: 0 of 1 case" in client.get(cases).content.decode()
    assert (
        signed_in(make_user("other", is_staff=True)).post(reverse("admin:feedback_badcase_diagnose")).status_code == 403
    )


def test_a_case_whose_message_is_deleted_is_gone(reviewer, asker, sent):
    case = case_of(asker)
    run = diagnosis_run_start(scope=scope_of(reviewer), actor=None)
    case.message.conversation.delete()

    worked_off(run, sent)

    run.refresh_from_db()
    assert (run.done, run.finished is not None) == (0, True)


RUNS = ("evaluation", "0021")


@long_released
def test_runs_of_before_become_jobs_and_what_is_under_way_goes_on_behind_its_last_case(reviewer, asker, sent):
    cases = [case_of(asker, f"Who won the curling of {number}?") for number in range(3)]
    try:
        runs = migrations_unapply(*RUNS).get_model("evaluation", "DiagnosisRun").objects
        tenant = {"tenant_id": reviewer.tenant_id}
        runs.create(**tenant, total=4, done=3, failed=1, takes=2, finished=timezone.now(), requested_by_id=reviewer.pk)
        runs.create(**tenant, total=3, done=1, last_case=cases[0].pk, takes=1)
        started = list(runs.order_by("pk").values_list("started", flat=True))
    finally:
        migrations_apply(*RUNS)

    jobs = Job.objects.order_by("pk")
    assert list(jobs.values_list("state", "done", "total", "author", "attempt", "figures")) == [
        ("done", 4, 4, reviewer.pk, 2, {"diagnosed": 3, "failed": 1}),
        ("queued", 1, 3, None, 1, {"diagnosed": 1}),
    ]
    assert list(jobs.values_list("created", flat=True)) == started
    assert jobs_sweep() == 1
    worked_off(jobs.last(), sent)
    last = jobs.last()
    assert (last.state, last.done, last.figures) == ("done", 3, {"diagnosed": 3})
    assert {one.message for one in Diagnosis.objects.all()} == {case.message for case in cases[1:]}
    try:
        runs = migrations_unapply(*RUNS).get_model("evaluation", "DiagnosisRun").objects
        back = list(runs.order_by("pk").values_list("done", "failed", "last_case"))
    finally:
        migrations_apply(*RUNS)
    assert back == [(3, 1, 0), (3, 0, cases[-1].pk)]
