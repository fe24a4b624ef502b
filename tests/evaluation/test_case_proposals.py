"""Golden cases made from documents: looked for within rights, decided on by people."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.errors import NotFoundError
from accounts.models import AuditEvent, User
from accounts.selectors import scope_for
from evaluation.errors import CaseProposalError, InvalidGoldenCaseError
from evaluation.models import GoldenCase, GoldenSet, ProposalRun, ProposedCase
from evaluation.services import case_proposals
from evaluation.services.case_proposals import (
    proposal_decide,
    proposals_advance,
    proposals_cancel,
    proposals_resume,
    proposals_shown,
    proposals_start,
)
from knowledge import queue
from tests.admin.conftest import signed_in
from tests.factories import ingest, make_admin, make_set, make_user
from tests.scripted_llm import Reply, serving

SLICE = "A network slice is a logical network with its own resources."
TEXTS = {
    "slice": f"# Slices\n\n## Basics\n\n{SLICE} It is ordered by a tenant of the operator.",
    "timers": "# Timers\n\n| Timer | Start value |\n|---|---|\n| T300 guard timer | 400 ms |\n",
    "rach": "# 随机接入\n\n随机接入是指终端与基站建立上行同步的过程。",
}


@pytest.fixture(autouse=True)
def sent(monkeypatch):
    """Tasks that would go to the broker; the tests are the worker."""
    monkeypatch.setattr(queue, "_send", lambda *_args: None)


@pytest.fixture
def admin(db) -> User:
    return make_admin("admin")


@pytest.fixture
def golden_set(admin) -> GoldenSet:
    home = make_set("radio", owners=[admin])
    ingest(admin, home, **TEXTS)
    made = GoldenSet.objects.create(tenant=admin.tenant, name="radio", created_by=admin)
    made.sets.add(home)
    return made


def started(admin, golden_set, *, wanted=10, with_model=False, styles=()) -> ProposalRun:
    return proposals_start(
        scope=scope_for(admin),
        actor=admin,
        golden_set=golden_set,
        wanted=wanted,
        with_model=with_model,
        styles=styles,
    )


def worked_off(run: ProposalRun) -> list[ProposedCase]:
    while proposals_advance(run_id=run.pk):
        run.refresh_from_db()
        if run.state != "running":
            break
    run.refresh_from_db()
    return list(run.golden_set.proposals.all())


def test_passages_are_looked_at_by_rules_and_every_quotation_stands_in_its_document(admin, golden_set):
    run = started(admin, golden_set)

    found = {one.document.external_id: one for one in worked_off(run)}

    assert (run.state, run.made, run.position) == ("done", 3, len(run.chunks))
    assert (found["slice"].question, found["slice"].key_points) == ("What is a network slice?", [SLICE])
    assert (found["timers"].origin, found["timers"].answers) == ("table", ["400 ms"])
    assert found["rach"].question == "随机接入是什么？"
    assert found["rach"].quotation in TEXTS["rach"]


def test_a_lost_worker_loses_nothing_and_nothing_is_made_twice(admin, golden_set, monkeypatch):
    run = started(admin, golden_set)
    real = case_proposals._Work._row
    monkeypatch.setattr(case_proposals._Work, "_row", lambda *_args: (_ for _ in ()).throw(SystemExit))
    with pytest.raises(SystemExit):
        proposals_advance(run_id=run.pk)
    assert not proposals_advance(run_id=run.pk)  # the lease of the lost worker
    ProposalRun.objects.update(leased_until=None)
    monkeypatch.setattr(case_proposals._Work, "_row", real)

    assert proposals_resume() == 1
    assert len(worked_off(run)) == 3
    assert not proposals_advance(run_id=run.pk)


def test_nothing_is_proposed_that_is_known_or_was_decided(admin, golden_set):
    golden_set.cases.create(question="What is a network slice?", answers=["a logical network"])
    worked_off(started(admin, golden_set))
    first = golden_set.proposals.get(document__external_id="timers")
    decide(admin, golden_set, first, None)

    again = worked_off(started(admin, golden_set))

    assert {one.document.external_id for one in again} == {"timers", "rach"}
    assert golden_set.proposal_runs.first().made == 0


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

    proposals_cancel(actor=admin, run=run)

    assert not proposals_advance(run_id=run.pk)
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
    assert run.failed == len(run.chunks) - 1  # the quotation stands in no other document


def test_passages_wait_for_a_model_that_does_not_answer(admin, golden_set, settings):
    written = {"question": "What is a network slice?", "answer": "a logical network", "quotation": SLICE}
    with serving() as server:
        settings.LLM_BASE_URL, settings.LLM_MODEL = server.url, "writer"
        server.default = Reply(status=400)
        run = started(admin, golden_set, with_model=True)
        proposals_advance(run_id=run.pk)
        run.refresh_from_db()
        assert (run.state, run.position, run.failed) == ("running", 0, 0)
        assert proposals_resume() == 0  # the model is left alone for a minute
        ProposalRun.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
        assert proposals_resume() == 1
        server.default = Reply(texts=(json.dumps(written),))

        assert len(worked_off(run)) == 1


def test_the_page_starts_shows_and_decides(admin, golden_set):
    client, page = signed_in(admin), reverse("admin:evaluation_goldenset_proposals", args=[golden_set.pk])
    assert (
        "Propose cases"
        in client.get(reverse("admin:evaluation_goldenset_change", args=[golden_set.pk])).content.decode()
    )

    client.post(page, {"act": "start", "wanted": "5", "styles": ["with_errors"]})
    run = ProposalRun.objects.get()
    assert "Running" in client.get(page).content.decode()
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
    assert not ProposalRun.objects.exists()
