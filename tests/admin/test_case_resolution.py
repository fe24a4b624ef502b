"""What reviewers find about cases: one at a time and many at once, undone, and as golden cases."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent
from chat.answers.approval import question_key
from chat.models import ApprovedAnswer
from evaluation.models import Diagnosis, GoldenCase, GoldenSet, RemedyApplication
from evaluation.services.case_diagnosis import known_answer
from evaluation.services.case_remedies import remedies_offered
from feedback.models import BadCase
from feedback.resolutions import MOST_AT_ONCE
from feedback.services import vote_record
from tests.admin.conftest import signed_in
from tests.admin.test_case_desk import act, again, asked, asker, desk, documents, page_of, reviewer
from tests.factories import make_admin, scope_of

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["asker", "desk", "documents", "reviewer"]  # fixtures
LIST = "admin:feedback_badcase_changelist"
OFF_TOPIC = "How do I reset my Windows password?"


@pytest.fixture
def golden(reviewer) -> GoldenSet:
    return GoldenSet.objects.create(tenant=reviewer.tenant, name="Refusals", created_by=reviewer)


def case_with(asker, status: str, question: str = OFF_TOPIC) -> BadCase:
    """A case whose answer has this status; what was found for it does not matter."""
    case = asked(asker, question)
    case.message.status = status
    case.message.save(update_fields=["status"])
    return case


def messages_of(answer) -> list[str]:
    return [str(message) for message in answer.context["messages"]]


def close_many(user, cases, **values):
    data = {"action": "close", "_selected_action": [case.pk for case in cases], "confirmed": "yes", **values}
    return signed_in(user).post(reverse(LIST), data, follow=True)


def test_a_refusal_that_was_right_is_closed_and_becomes_a_golden_case(reviewer, asker, documents, golden):
    case = case_with(asker, "refused")

    act(reviewer, case, "resolve", resolution="right_refusal", note="Not ours.", close="1", golden_set=golden.pk)

    case.refresh_from_db()
    assert (case.state, case.resolution, case.note) == ("closed", "right_refusal", "Not ours.")
    saved = GoldenCase.objects.get()
    assert (saved.question, saved.expects_refusal, saved.relevant, saved.answers) == (OFF_TOPIC, True, [], [])
    assert case.moves.get().resolution == "right_refusal"
    assert AuditEvent.objects.filter(action="case.resolve", actor=reviewer).exists()
    assert "Rightly refused" in page_of(reviewer, case)


def test_an_answer_that_should_have_been_refused_is_diagnosed_as_such_and_stays_in_progress(
    reviewer, asker, documents, golden
):
    case = case_with(asker, "answered")
    assert "Should have been refused" in page_of(reviewer, case)

    act(reviewer, case, "resolve", resolution="should_refuse", close="", golden_set=golden.pk)

    case.refresh_from_db()
    assert (case.state, case.resolution, case.assignee) == ("in_work", "should_refuse", reviewer)
    found = Diagnosis.objects.latest("pk")
    assert (found.subcause, found.detail) == ("abstention failure", "answered")
    assert known_answer(case).expects_refusal
    assert GoldenCase.objects.get().expects_refusal
    assert "Likely cause: answered instead of refused" in page_of(reviewer, case)
    case.message.conversation.sets.set(documents["rach"].sets.all())
    offered = remedies_offered(scope=scope_of(reviewer), actor=reviewer, case=case)
    (options,) = [one.offer for one in offered if one.remedy.code == "option"]
    assert {value.partition("=")[0] for value, _label in options.fields[1].choices} == {"min_cosine", "min_match"}
    assert options.is_advised


def test_asked_again_it_is_right_when_it_is_refused(reviewer, asker, documents):
    case = case_with(asker, "answered", "What is the weather in Paris tomorrow?")
    act(reviewer, case, "resolve", resolution="should_refuse", close="")

    assert "Refused now" in again(reviewer, case)


@pytest.mark.parametrize(
    ("status", "resolution", "words"),
    [("refused", "should_refuse", "was refused"), ("answered", "right_refusal", "was answered"), ("answered", "x", "")],
)
def test_a_resolution_that_does_not_fit_the_answer_is_refused(reviewer, asker, documents, status, resolution, words):
    case = case_with(asker, status)

    answer = act(reviewer, case, "resolve", follow=True, resolution=resolution, close="1")

    case.refresh_from_db()
    assert (case.state, case.resolution) == ("open", "")
    assert words in messages_of(answer)[0]


def test_a_case_that_is_opened_again_has_no_resolution(reviewer, asker, documents):
    case = case_with(asker, "refused")
    act(reviewer, case, "resolve", resolution="right_refusal", close="1")

    vote_record(scope=scope_of(asker), user=asker, message_id=case.message_id, vote="down")

    case.refresh_from_db()
    assert (case.state, case.resolution) == ("open", "")


def test_many_cases_are_closed_at_once_and_opened_again(reviewer, asker, documents, golden):
    refused = [case_with(asker, "refused", f"Where is depot {number}?") for number in range(3)]
    answered = case_with(asker, "answered")
    page = signed_in(reviewer).post(
        reverse(LIST), {"action": "close", "_selected_action": [case.pk for case in [*refused, answered]]}
    )
    assert "Close 4 cases" in page.content.decode()
    assert BadCase.objects.filter(state="open").count() == 4

    told = messages_of(
        close_many(reviewer, [*refused, answered], resolution="right_refusal", note="n", golden_set=golden.pk)
    )

    assert told[0] == "3 cases closed. 3 golden cases saved."
    assert told[1].startswith("1 case: The question was answered.")
    assert OFF_TOPIC in told[1]
    assert BadCase.objects.filter(state="closed", resolution="right_refusal", note="n").count() == 3
    assert golden.cases.filter(expects_refusal=True).count() == 3
    BadCase.objects.get(pk=refused[0].pk)
    act(reviewer, refused[0], "fix", fix="somebody has worked on it since")

    listed = signed_in(reviewer).get(reverse(LIST))
    batch = listed.context["batch"]
    assert "You closed 3 cases: Rightly refused." in listed.content.decode()
    other = make_admin("other")
    undo = reverse("admin:feedback_badcase_undo")
    assert "not yours" in messages_of(signed_in(other).post(undo, {"batch": batch.pk}, follow=True))[0]
    undone = messages_of(signed_in(reviewer).post(undo, {"batch": batch.pk}, follow=True))

    assert undone == ["2 cases are as before.", "1 case stays: somebody has worked on it since."]
    assert BadCase.objects.filter(state="open", resolution="", note="").count() == 3
    assert golden.cases.count() == 1
    assert RemedyApplication.objects.filter(undone=None).count() == 1


def test_bulk_closing_skips_what_is_closed_and_what_may_have_been_refused_by_mistake(reviewer, asker, documents):
    plain, said, mistaken, approved, closed = (case_with(asker, "refused", f"Where is depot {n}?") for n in range(5))
    reasons = {"vote": "down", "reasons": ["not_found"]}
    vote_record(scope=scope_of(asker), user=asker, message_id=said.message_id, **reasons)
    Diagnosis.objects.create(
        message=mistaken.message, cause="generation", subcause="abstention failure", detail="model", confidence=0.8
    )
    ApprovedAnswer.objects.create(
        tenant=reviewer.tenant,
        question=approved.message.question,
        keys=[question_key(approved.message.question)],
        answer="Depot 3.",
        expires=timezone.now() + timedelta(days=9),
    )
    act(reviewer, closed, "resolve", resolution="no_fault", close="1")
    everything = f"{reverse(LIST)}?case=all"
    chosen = {"action": "close", "_selected_action": [case.pk for case in (plain, said, mistaken, approved, closed)]}
    page = signed_in(reviewer).post(everything, chosen)
    assert "Close 4 cases" in page.content.decode()
    assert "1 chosen case is closed already" in page.content.decode()
    assert set(page.context["doubtful"]) == {said, mistaken, approved}
    assert f'action="{everything}"' in page.content.decode()

    sent = {**chosen, "confirmed": "yes", "resolution": "right_refusal"}
    told = messages_of(signed_in(reviewer).post(everything, sent, follow=True))

    assert told[0] == "1 case closed."
    assert [text.split(":")[0] for text in sorted(told[1:])] == ["1 case", "3 cases"]
    assert all(case.message.question in " ".join(told) for case in (said, mistaken, approved, closed))
    assert set(BadCase.objects.filter(state="closed")) == {plain, closed}
    assert BadCase.objects.get(pk=closed.pk).resolution == "no_fault"
    listed = signed_in(reviewer).get(reverse(LIST))
    assert set(listed.context["cl"].result_list) == {said, mistaken, approved}
    assert "refused by mistake" in listed.content.decode()


def test_more_cases_than_one_act_takes_are_refused_with_their_number(reviewer, asker, documents, monkeypatch):
    cases = [case_with(asker, "refused", f"Where is depot {number}?") for number in range(3)]
    monkeypatch.setattr("feedback.resolutions.MOST_AT_ONCE", 2)

    told = messages_of(close_many(reviewer, cases, resolution="other"))

    assert told == ["At most 2 cases are closed at once; you chose 3."]
    assert MOST_AT_ONCE > 100
    assert BadCase.objects.filter(state="open").count() == 3
