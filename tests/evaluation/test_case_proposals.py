"""Golden cases made from documents: looked for within rights, decided on by people."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.errors import NotFoundError
from accounts.models import AuditEvent, User
from accounts.selectors import scope_for
from evaluation.errors import CaseProposalError, InvalidGoldenCaseError
from evaluation.models import GoldenCase, GoldenSet, ProposedCase
from evaluation.services.case_proposals import (
    proposal_decide,
    proposals_cancel,
    proposals_latest,
    proposals_shown,
    proposals_start,
)
from tests.admin.conftest import signed_in
from tests.factories import ingest, make_admin, make_set, make_user
from tests.migrating import long_released, migrations_apply, migrations_unapply
from tests.scripted_llm import Reply, serving
from tests.work.contract import KindContract, due, work_off
from work import queue
from work.claims import jobs_sweep
from work.models import Job
from work.runner import slice_run

SLICE = "A network slice is a logical network with its own resources."
TEXTS = {
    "slice": f"# Slices\n\n## Basics\n\n{SLICE} It is ordered by a tenant of the operator.",
    "timers": "# Timers\n\n| Timer | Start value |\n|---|---|\n| T300 guard timer | 400 ms |\n",
    "rach": "# 随机接入\n\n随机接入是指终端与基站建立上行同步的过程。",
}


@pytest.fixture(autouse=True)
def sent(monkeypatch):
    """Tasks that would go to the broker; the tests are the worker."""
    monkeypatch.setattr(queue, "send", lambda *_args: None)


def golden_set_make() -> tuple[User, GoldenSet]:
    admin = make_admin("admin")
    home = make_set("radio", owners=[admin])
    ingest(admin, home, **TEXTS)
    made = GoldenSet.objects.create(tenant=admin.tenant, name="radio", created_by=admin)
    made.sets.add(home)
    return admin, made


pytestmark = pytest.mark.starts_from(make=golden_set_make)


@pytest.fixture
def admin(request, db) -> User:
    return request.getfixturevalue("kept_rows")[0] if "kept_rows" in request.fixturenames else make_admin("admin")


@pytest.fixture
def golden_set(kept_rows) -> GoldenSet:
    return kept_rows[1]


def started(admin, golden_set, *, wanted=10, with_model=False, styles=()) -> Job:
    return proposals_start(
        scope=scope_for(admin),
        actor=admin,
        golden_set=golden_set,
        wanted=wanted,
        with_model=with_model,
        styles=styles,
    )


def worked_off(run: Job) -> list[ProposedCase]:
    due(run)
    work_off(run)
    return list(ProposedCase.objects.filter(golden_set=run.arguments["golden_set_id"]))


def test_passages_are_looked_at_by_rules_and_every_quotation_stands_in_its_document(admin, golden_set):
    run = started(admin, golden_set)

    found = {one.document.external_id: one for one in worked_off(run)}

    assert (run.state, run.done, run.checkpoint["position"]) == ("done", 3, len(run.arguments["chunks"]))
    assert (found["slice"].question, found["slice"].key_points) == ("What is a network slice?", [SLICE])
    assert (found["timers"].origin, found["timers"].answers) == ("table", ["400 ms"])
    assert found["rach"].question == "随机接入是什么？"
    assert found["rach"].quotation in TEXTS["rach"]


class TestProposeCases(KindContract):
    @pytest.fixture(autouse=True)
    def _passages(self, admin, golden_set):
        self.admin, self.golden_set = admin, golden_set

    def start(self):
        return started(self.admin, self.golden_set)

    def outcome(self, job):
        return sorted(self.golden_set.proposals.values_list("document__external_id", flat=True)), job.done

    def whole(self):
        return ["rach", "slice", "timers"], 3


def test_nothing_is_proposed_that_is_known_or_was_decided(admin, golden_set):
    golden_set.cases.create(question="What is a network slice?", answers=["a logical network"])
    worked_off(started(admin, golden_set))
    first = golden_set.proposals.get(document__external_id="timers")
    decide(admin, golden_set, first, None)

    again = worked_off(started(admin, golden_set))

    assert {one.document.external_id for one in again} == {"timers", "rach"}
    assert proposals_latest(golden_set=golden_set).done == 0


def decide(user, golden_set, proposal, values):
    return proposal_decide(
        scope=scope_for(user), actor=user, golden_set=golden_set, proposal_id=proposal.pk, values=values
    )


def test_an_accepted_case_has_what_the_person_left_and_its_other_phrasings(admin, golden_set):
    worked_off(started(admin, golden_set, styles=["summarised", "with_errors"]))
    proposal = golden_set.proposals.get(document__external_id="timers")
    values = {"question": proposal.question, "answers": ["400 ms", " 0.4 s ", ""], "key_points": []}

    made = decide(admin, golden_set, proposal, values)

    assert [case.style for case in made] == ["original", "summarised", "with_errors"]
    assert {tuple(case.answers) for case in made} == {("400 ms", "0.4 s")}
    assert {(tuple(case.relevant), tuple(case.passages)) for case in made} == {
        (("timers",), ("T300 guard timer | 400 ms",))
    }
    assert AuditEvent.objects.filter(action="golden_case.accept").exists()
    with pytest.raises(NotFoundError):
        decide(admin, golden_set, proposal, values)
    assert GoldenCase.objects.count() == 3


def test_a_changed_question_has_no_phrasings_of_the_old_one(admin, golden_set):
    worked_off(started(admin, golden_set, styles=["summarised", "with_errors"]))
    proposal = golden_set.proposals.get(document__external_id="timers")

    (case,) = decide(
        admin, golden_set, proposal, {"question": "How long is T300?", "answers": ["400 ms"], "key_points": []}
    )

    assert (case.question, case.style) == ("How long is T300?", "original")
    other = golden_set.proposals.get(document__external_id="slice")
    with pytest.raises(InvalidGoldenCaseError):
        decide(admin, golden_set, other, {"question": " ", "answers": [], "key_points": []})
    assert proposals_shown(scope=scope_for(admin), golden_set=golden_set).count() == 2


def test_what_one_may_not_open_is_neither_looked_at_nor_shown_nor_decided(admin, golden_set):
    home = golden_set.sets.get()
    ingest(admin, home, clearance=3, secret="A secret slice is a network that nobody may know.")
    low = make_user("low", clearance=0, is_staff=True)
    home.owners.add(low)
    worked_off(started(low, golden_set))
    assert "secret" not in {one.document.external_id for one in ProposedCase.objects.all()}

    worked_off(started(admin, golden_set))
    hidden = ProposedCase.objects.get(document__external_id="secret")

    assert hidden not in proposals_shown(scope=scope_for(low), golden_set=golden_set)
    with pytest.raises(NotFoundError):
        decide(low, golden_set, hidden, None)


def test_one_search_at_a_time_and_it_can_be_cancelled(admin, golden_set):
    run = started(admin, golden_set)
    with pytest.raises(CaseProposalError, match="already"):
        started(admin, golden_set)

    proposals_cancel(actor=admin, golden_set=golden_set)

    assert not slice_run(job_id=run.pk)
    assert started(admin, golden_set).pk != run.pk


@pytest.mark.parametrize("wanted", [0, 301])
def test_a_number_out_of_range_is_refused(admin, golden_set, wanted):
    with pytest.raises(CaseProposalError, match="1 to 300"):
        started(admin, golden_set, wanted=wanted)


def test_without_passages_or_without_a_model_it_says_so(admin, golden_set):
    with pytest.raises(CaseProposalError, match="no language model"):
        started(admin, golden_set, with_model=True)
    golden_set.sets.set([make_set("empty", owners=[admin])])
    with pytest.raises(CaseProposalError, match="no passage"):
        started(admin, golden_set)


def test_a_language_model_writes_cases_and_what_it_makes_up_is_dropped(admin, golden_set, settings):
    written = {
        "question": "What is a network slice with its own resources?",
        "answer": "a logical network",
        "key_points": [],
        "quotation": SLICE,
    }
    with serving() as server:
        server.default = Reply(texts=(json.dumps(written),))
        settings.LLM_BASE_URL, settings.LLM_MODEL = server.url, "writer"
        run = started(admin, golden_set, with_model=True)
        (found,) = worked_off(run)

    assert (found.document.external_id, found.origin, found.answers) == ("slice", "model", ["a logical network"])
    assert run.figures["failed"] == len(run.arguments["chunks"]) - 1  # the quotation stands in no other document


def test_passages_wait_for_a_model_that_does_not_answer(admin, golden_set, settings):
    written = {"question": "What is a network slice?", "answer": "a logical network", "quotation": SLICE}
    with serving() as server:
        settings.LLM_BASE_URL, settings.LLM_MODEL = server.url, "writer"
        server.default = Reply(status=400)
        run = started(admin, golden_set, with_model=True)
        work_off(run)
        assert (run.state, run.checkpoint, run.figures, run.failures) == ("queued", {}, {}, 0)
        assert run.not_before > timezone.now()  # the model is left alone for a minute
        assert jobs_sweep() == 0
        server.default = Reply(texts=(json.dumps(written),))

        assert len(worked_off(run)) == 1


def test_the_page_starts_shows_and_decides(admin, golden_set):
    client, page = signed_in(admin), reverse("admin:evaluation_goldenset_proposals", args=[golden_set.pk])
    assert (
        "Propose cases"
        in client.get(reverse("admin:evaluation_goldenset_change", args=[golden_set.pk])).content.decode()
    )

    client.post(page, {"act": "start", "wanted": "5", "styles": ["with_errors"]})
    run = Job.objects.get()
    assert "Waiting" in client.get(page).content.decode()
    worked_off(run)
    shown = client.get(page).content.decode()
    proposal = golden_set.proposals.get(document__external_id="slice")
    values = {"proposal": proposal.pk, "question": proposal.question, "key_points": SLICE, "answers": ""}
    done = client.post(page, {"act": "accept", **values}, follow=True).content.decode()
    client.post(page, {"act": "reject", "proposal": golden_set.proposals.filter(state="open").first().pk})

    assert "3 of 5 cases proposed" in shown
    assert SLICE in shown
    assert "2 golden cases were added." in done
    assert golden_set.proposals.filter(state="open").count() == 1
    assert client.post(page, {"act": "start", "wanted": "many"}, follow=True).content.decode().count("Ask for 1 to 300")


def test_the_page_is_for_those_who_keep_the_golden_set(admin, golden_set):
    other = make_user("other", is_staff=True)
    make_set("own", owners=[other])
    page = reverse("admin:evaluation_goldenset_proposals", args=[golden_set.pk])

    assert signed_in(other).get(page).status_code == 404
    assert signed_in(other).post(page, {"act": "start", "wanted": "5"}).status_code == 404
    assert not Job.objects.exists()


SEARCHES = ("evaluation", "0022")


@long_released
@pytest.mark.django_db(transaction=True)
def test_searches_of_before_become_jobs_and_what_is_under_way_goes_on_behind_its_last_passage(admin, golden_set):
    chunks = started(admin, golden_set).arguments["chunks"]
    Job.objects.all().delete()
    try:
        runs = migrations_unapply(*SEARCHES).get_model("evaluation", "ProposalRun").objects
        common = {"golden_set_id": golden_set.pk, "requested_by_id": admin.pk, "chunks": chunks}
        over = {"made": 1, "position": 9, "finished": timezone.now()}
        runs.create(**common, **over, wanted=4, dropped=2, failed=1, takes=3, state="done", with_model=True)
        runs.create(**common, wanted=9, made=0, position=1, takes=1, styles=["with_errors"])
        created = list(runs.order_by("pk").values_list("created", flat=True))
    finally:
        migrations_apply(*SEARCHES)

    jobs = Job.objects.order_by("pk")
    assert list(jobs.values_list("state", "done", "total", "checkpoint", "figures", "author")) == [
        ("done", 1, 4, {"position": 9}, {"dropped": 2, "failed": 1}, admin.pk),
        ("queued", 0, 9, {"position": 1}, {}, admin.pk),
    ]
    assert list(jobs.values_list("created", flat=True)) == created
    assert jobs_sweep() == 1
    assert work_off(jobs.last()).state == "done"
    made = ProposedCase.objects.all()
    assert len(made) == 2  # not of the first passage
    assert all(set(one.styles) <= {"with_errors"} for one in made)
    try:
        runs = migrations_unapply(*SEARCHES).get_model("evaluation", "ProposalRun").objects
        back = list(runs.order_by("pk").values_list("state", "made", "position", "with_model"))
    finally:
        migrations_apply(*SEARCHES)
    assert back == [("done", 1, 9, True), ("done", 2, len(chunks), False)]
