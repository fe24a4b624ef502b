"""The triage desk: what reviewers do with a case, and what they see of it."""

from __future__ import annotations

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import Permission
from django.contrib.messages import get_messages
from django.urls import reverse
from django.utils import translation

from accounts.models import AuditEvent
from chat.models import Message
from chat.turns.lifecycle import answer_now
from chat.types import AnswerRequest
from evaluation.models import Diagnosis, GoldenCase, GoldenSet
from feedback.models import BadCase
from feedback.triage import asker_tell
from knowledge.models import Chunk, KnowledgeSet
from knowledge.selectors.options import option_label
from knowledge.services.edits import chunk_disable
from notifications.models import Notification
from tests.admin.conftest import signed_in
from tests.api.world import message_make
from tests.evaluation.test_diagnosis import QUESTION, RACH, TEXTS
from tests.factories import ingest, make_admin, make_set, make_user, scope_of

pytestmark = pytest.mark.django_db(transaction=True)
CASES = "admin:feedback_badcase_changelist"


def desk_make():
    reviewer, asker = make_admin("reviewer"), make_user("asker", clearance=1)
    radio = make_set("radio", owners=[reviewer])
    return reviewer, asker, radio, ingest(reviewer, radio, **TEXTS)


@pytest.fixture
def desk(request):
    """A reviewer, somebody who asks, a set and its documents, made once for the tests that need the documents."""
    if "documents" in request.fixturenames:
        return request.getfixturevalue("shared_rows")(desk_make)
    request.getfixturevalue("transactional_db")
    reviewer = make_admin("reviewer")
    return reviewer, make_user("asker", clearance=1), make_set("radio", owners=[reviewer]), {}


@pytest.fixture
def reviewer(desk):
    return desk[0]


@pytest.fixture
def asker(desk):
    return desk[1]


@pytest.fixture
def radio(desk) -> KnowledgeSet:
    return desk[2]


@pytest.fixture
def documents(desk):
    return desk[3]


def asked(asker, question=QUESTION, **request) -> BadCase:
    """A question really asked, with its case."""
    request = AnswerRequest(query=question, **{"cache": False, "personal": False, **request})
    stored = async_to_sync(answer_now)(scope=scope_of(asker), user=asker, request=request)
    return BadCase.objects.create(message=Message.objects.get(pk=stored.message.pk))


def page_of(user, case) -> str:
    return signed_in(user).get(reverse("admin:feedback_badcase_change", args=[case.pk])).content.decode()


def act(user, case, name, *, follow=False, **values):
    """The answer to a posted act; with `follow` the page that it leads back to, which takes ten times as long."""
    address = reverse("admin:feedback_badcase_act", args=[case.pk])
    return signed_in(user).post(address, {"act": name, **values}, follow=follow)


def again(user, case, **values) -> str:
    return signed_in(user).post(reverse("admin:feedback_badcase_again", args=[case.pk]), values).content.decode()


def marked(user, case, document, **values):
    return act(user, case, "mark", **{"passage": f"#{document.pk}:1", "accepted": "64", **values})


def test_a_mark_is_kept_and_makes_the_diagnosis_surer(reviewer, asker, documents):
    case = asked(asker)

    marked(reviewer, case, documents["rach"], right_answer="A cell has 64 preambles.")

    case.refresh_from_db()
    assert (case.marked_document, case.marked_ordinal) == (documents["rach"], 0)
    assert (case.right_answer, case.accepted) == ("A cell has 64 preambles.", ["64"])
    assert Diagnosis.objects.get().answers == ["64"]
    assert AuditEvent.objects.filter(action="case.mark", actor=reviewer).exists()
    page = page_of(reviewer, case)
    assert f"#{documents['rach'].pk}:1" in page
    assert "Nothing wrong found" in page


def test_a_document_that_is_not_there_marks_nothing(reviewer, asker, documents):
    case = asked(asker)

    page = act(reviewer, case, "mark", follow=True, passage="#99999", right_answer="x").content.decode()

    case.refresh_from_db()
    assert (case.marked_document, case.right_answer) == (None, "")
    assert "messagelist" in page or "error" in page


def test_a_passage_that_was_replaced_is_read_by_its_keepers_only(reviewer, asker, radio, documents):
    case = asked(asker)
    other = make_user("other", is_staff=True, clearance=2)
    other.user_permissions.add(Permission.objects.get(codename="change_badcase"))
    assert TEXTS["rach"] in page_of(other, case)

    ingest(reviewer, radio, rach="A cell has as many preambles as it is given.")

    for person, may_read in ((reviewer, True), (other, False)):
        page = page_of(person, case)
        assert (TEXTS["rach"] in page) == may_read
        assert ("that you may not open, so it is not shown" in page) != may_read


def test_another_reviewer_does_not_see_a_mark_on_what_they_may_not_open(reviewer, asker, documents):
    board = make_set("board", owners=[reviewer], visibility="members", members=[reviewer])
    secret = ingest(reviewer, board, secret="The board decided on 64 preambles in May.")["secret"]
    case = asked(asker, "What did the board decide?")
    marked(reviewer, case, secret, right_answer="On 64 preambles.")
    other = make_user("other", is_staff=True, clearance=2)
    other.user_permissions.add(Permission.objects.get(codename="change_badcase"))

    page = page_of(other, case)

    assert "Another reviewer has marked a document that you may not open." in page
    assert f"#{secret.pk}" not in page
    assert "On 64 preambles." not in page

    BadCase.objects.filter(pk=case.pk).update(marked_document=None)  # as when the document is purged
    assert "On 64 preambles." not in page_of(other, case)
    assert asker_tell(actor=other, case=case, is_mended=False) is False


def test_a_reviewer_who_does_not_see_a_mark_cannot_wipe_it(reviewer, asker, documents):
    board = make_set("board", owners=[reviewer], visibility="members", members=[reviewer])
    secret = ingest(reviewer, board, secret="The board decided on 64 preambles in May.")["secret"]
    case = asked(asker, "What did the board decide?")
    marked(reviewer, case, secret, right_answer="On 64 preambles.")
    other = make_user("other", is_staff=True, clearance=2)
    other.user_permissions.add(Permission.objects.get(codename="change_badcase"))

    def mark():
        case.refresh_from_db()
        return case.marked_document, case.marked_ordinal, case.was_marked, case.right_answer, case.accepted

    act(other, case, "mark", passage="", right_answer="", accepted="sixty-four")
    added = mark()
    seen = Diagnosis.objects.latest("pk")
    refused = act(other, case, "mark", follow=True, passage="", right_answer="On 32.", accepted="").content.decode()

    assert added == (secret, 0, True, "On 64 preambles.", ["64", "sixty-four"])
    assert (seen.document, seen.answers) == (None, ["sixty-four"])
    assert mark() == added
    assert "The right answer is marked in a document that you may not open." in refused
    assert "On 64 preambles." not in refused
    act(other, case, "mark", passage=f"#{documents['rach'].pk}:1", right_answer="On 64.", accepted="")
    assert mark() == (documents["rach"], 0, True, "On 64.", [])


def test_a_case_is_given_to_those_only_who_may_review_it(reviewer, asker, documents):
    case = asked(asker)
    colleague, stranger = make_admin("colleague"), make_user("stranger")

    act(reviewer, case, "assign", assignee=stranger.pk)
    case.refresh_from_db()
    assert case.assignee is None

    act(reviewer, case, "assign", assignee=colleague.pk)
    case.refresh_from_db()
    assert case.assignee == colleague
    assert Notification.objects.get().recipient == colleague


def test_a_fix_is_linked_and_an_address_can_be_opened(reviewer, asker, documents):
    case = asked(asker)

    act(reviewer, case, "fix", fix="/admin/knowledge/document/1/change/")

    assert 'href="/admin/knowledge/document/1/change/"' in page_of(reviewer, case)
    act(reviewer, case, "fix", fix="javascript:alert(1)")
    assert 'href="javascript' not in page_of(reviewer, case)


def test_the_asker_is_told_the_answer_only_with_a_right_to_its_source(reviewer, asker, documents, radio):
    case = asked(asker)
    marked(reviewer, case, documents["rach"], right_answer="A cell has 64 preambles.")
    act(reviewer, case, "tell")
    assert Notification.objects.get().data["answer"] == "A cell has 64 preambles."

    secret = ingest(reviewer, radio, clearance=3, secret="There are 64 of them, and 10 are secret.")["secret"]
    marked(reviewer, case, secret, right_answer="Ten are secret.")
    act(reviewer, case, "tell")

    told = Notification.objects.order_by("-pk").first()
    assert (told.kind, told.data["answer"]) == ("case_looked_at", "")
    assert told.recipient == asker


def test_what_the_asker_is_told_is_shown_before_and_bids_to_ask_again_only_after_a_change(reviewer, asker, documents):
    case = asked(asker)
    assert "has looked at your question “" in page_of(reviewer, case)

    act(reviewer, case, "tell")
    act(reviewer, case, "fix", fix="a document was added")
    page = page_of(reviewer, case)
    act(reviewer, case, "tell")

    mended, looked_at = Notification.objects.order_by("-pk")
    assert (looked_at.kind, mended.kind) == ("case_looked_at", "case_mended")
    assert "Ask it again." in page


def test_a_case_becomes_a_golden_case(reviewer, asker, documents):
    case, golden = asked(asker), GoldenSet.objects.create(tenant=reviewer.tenant, name="radio")
    marked(reviewer, case, documents["rach"])

    answer = act(reviewer, case, "remedy", kind="golden_case", golden_set=golden.pk)
    assert [str(said) for said in get_messages(answer.wsgi_request)] == ["Applied: Save as a golden case."]

    saved = GoldenCase.objects.get()
    assert (saved.question, saved.answers, saved.relevant) == (QUESTION, ["64"], ["rach"])


def test_a_long_written_answer_is_no_accepted_one(reviewer, asker, documents):
    case, golden = asked(asker), GoldenSet.objects.create(tenant=reviewer.tenant, name="radio")
    long = "A cell has 64 preambles, and of these some are kept for handover. " * 3
    marked(reviewer, case, documents["rach"], accepted="", right_answer=long)

    act(reviewer, case, "remedy", kind="golden_case", golden_set=golden.pk)

    assert (GoldenCase.objects.get().answers, GoldenCase.objects.get().relevant) == ([], ["rach"])


def test_testing_again_shows_what_has_changed_since(reviewer, asker, documents):
    chunk = Chunk.objects.get(version=documents["rach"].live_version)
    chunk_disable(scope=scope_of(reviewer), actor=reviewer, chunk_id=chunk.pk)
    case = asked(asker)
    marked(reviewer, case, documents["rach"])
    assert "Still not answered" in again(reviewer, case)

    ingest(reviewer, KnowledgeSet.objects.get(code="radio"), fresh=RACH)
    page = again(reviewer, case)

    assert "Answered now" in page
    assert "The documents have changed since then." in page
    assert "for random access" in page
    assert Message.objects.count() == 1  # nothing was stored
    assert AuditEvent.objects.filter(action="case.test").count() == 2


def test_settings_that_are_others_today_are_named_and_can_be_those_of_then(reviewer, asker, documents, radio):
    case = asked(asker, sets=(radio.pk,))
    radio.options = {"retrieval": {"fused_limit": 7}, "answer": {"max_chunks": 1}}
    radio.save()

    now = again(reviewer, case)
    then = again(reviewer, case, options="then")

    for group, name in (("retrieval", "fused_limit"), ("answer", "max_chunks")):
        assert option_label(group, name) in now
        assert f"{group}.{name}" not in now
        assert option_label(group, name) not in then


def test_a_draft_names_its_set_and_its_setting_in_the_language_of_the_reader(reviewer, asker, documents, radio):
    KnowledgeSet.objects.filter(pk=radio.pk).update(name_zh="无线")
    case = asked(asker)
    marked(reviewer, case, documents["rach"])
    act(reviewer, case, "remedy", kind="option", set=radio.pk, change="top_k=20")
    client = signed_in(reviewer)

    page = client.get(reverse("admin:feedback_badcase_change", args=[case.pk]), HTTP_ACCEPT_LANGUAGE="zh-CN")

    with translation.override("zh-hans"):
        words = f"无线: <b>{option_label('retrieval', 'top_k')}</b> = 20"
    assert words in page.content.decode()


def test_a_replay_finds_only_what_asker_and_reviewer_may_both_read(reviewer, asker, radio):
    ingest(reviewer, radio, clearance=3, rach=RACH)
    ingest(reviewer, radio, ca=TEXTS["ca"])
    case = asked(asker)

    page = again(reviewer, case)

    assert "64 preambles" not in page
    assert "Still not answered" in page


def test_the_replay_of_a_colleague_without_a_right_does_not_show_the_passage(reviewer, asker):
    private = make_set("private", owners=[reviewer], members=[asker], visibility="members")
    ingest(reviewer, private, rach=RACH)
    case = asked(asker)
    other = make_user("other", is_staff=True, clearance=2)
    other.user_permissions.add(Permission.objects.get(codename="change_badcase"))

    assert "64 preambles" not in again(other, case)
    assert "64 preambles" not in page_of(other, case)


def test_a_case_on_a_deleted_document_can_still_be_worked_on(reviewer, asker, documents):
    case = asked(asker)
    marked(reviewer, case, documents["rach"])
    type(documents["rach"]).objects.filter(pk=documents["rach"].pk).update(state="deleted", live_version=None)

    assert "Resolution" in page_of(reviewer, case)
    assert "again-title" in again(reviewer, case)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"cause": "generation"}, ["one?"]),
        ({"cause": "-"}, ["two?"]),
        ({"set": "SET"}, ["one?"]),
        ({"owner": "OWNER"}, ["one?"]),
        ({"reviewer": "-"}, ["one?", "two?"]),
        ({"age": "7"}, ["one?", "two?"]),
        ({"age": "older"}, []),
        ({"origin": "stop"}, ["two?"]),
    ],
)
def test_the_queue_is_filtered(reviewer, asker, radio, query, found):
    one = message_make(asker, question="one?", sets=(radio,))
    two = message_make(asker, question="two?")
    BadCase.objects.create(message=one)
    BadCase.objects.create(message=two, origin="stop")
    Diagnosis.objects.create(message=one, cause="generation", subcause="numerical error", detail="", confidence=0.9)
    values = {"SET": radio.pk, "OWNER": reviewer.pk}

    page = signed_in(reviewer).get(reverse(CASES), {name: values.get(value, value) for name, value in query.items()})

    assert sorted(case.message.question for case in page.context["cl"].result_list) == found


def test_someone_elses_case_is_not_there(asker, documents):
    case = asked(asker)
    other = make_user("clerk", is_staff=True)

    assert act(other, case, "tell").status_code in (403, 404)
    assert signed_in(other).post(reverse("admin:feedback_badcase_again", args=[case.pk])).status_code in (403, 404)


def test_an_act_that_does_not_exist_is_not_there(reviewer, asker, documents):
    assert act(reviewer, asked(asker), "explode").status_code == 404


def test_the_page_speaks_chinese(reviewer, asker, documents):
    case = asked(asker)
    marked(reviewer, case, documents["rach"])
    client = signed_in(reviewer)

    with translation.override("zh-hans"):
        answer = client.post(
            reverse("admin:feedback_badcase_again", args=[case.pk]), headers={"accept-language": "zh-hans"}
        )

    page = answer.content.decode()
    assert "重新测试" in page
    assert "Test again" not in page
