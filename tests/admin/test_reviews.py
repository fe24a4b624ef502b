"""Cases, messages: what reviewers see, and what is withheld from them."""

from __future__ import annotations

import pytest
from django.urls import reverse

from accounts.models import User
from chat.models import Conversation, Message
from feedback.models import BadCase, Vote
from knowledge.models import Document
from tests.admin.conftest import make_document, signed_in
from tests.factories import make_set, make_user

CASES = "admin:feedback_badcase_changelist"


@pytest.fixture
def asker(db) -> User:
    return make_user("asker")


def make_case(asker: User, question: str, *sources: Document, state: str = "open", comment: str = "") -> BadCase:
    """A voted-down answer that cites these documents."""
    conversation = Conversation.objects.create(tenant=asker.tenant, user=asker)
    message = Message.objects.create(
        conversation=conversation,
        question=question,
        answer="The answer [1].",
        answer_html="<p>The <b>answer</b> [1].</p>",
        state="done",
        status="answered",
        trace={"note": "trace of the search"},
    )
    for number, document in enumerate(sources, 1):
        version = document.versions.get()
        message.citations.create(
            number=number, document=document, version=version, chunk=version.chunks.get(), excerpt="excerpt"
        )
    Vote.objects.create(message=message, user=asker, vote="down", reasons=["wrong"], comment=comment)
    return BadCase.objects.create(message=message, state=state)


def shown(client, **query) -> list[str]:
    return [case.message.question for case in client.get(reverse(CASES), query).context["cl"].result_list]


def test_the_list_of_cases_shows_what_is_not_closed_and_all_with_the_closed_last(reviewer, asker):
    make_case(asker, "open?")
    done = make_case(asker, "done?", state="closed")
    BadCase.objects.filter(pk=done.pk).update(closed=done.created)
    make_case(asker, "taken?", state="in_work")
    client = signed_in(reviewer)

    assert shown(client) == ["taken?", "open?"]
    assert shown(client, case="all") == ["taken?", "open?", "done?"]
    assert shown(client, case="open") == ["open?"]
    assert shown(client, case="in_work") == ["taken?"]


def test_a_case_shows_question_answer_reasons_comment_and_sources(reviewer, asker):
    document = make_document("TS 38.321", make_set())
    case = make_case(asker, "What is RA-RNTI?", document, comment="<i>not</i> true")

    page = signed_in(reviewer).get(reverse("admin:feedback_badcase_change", args=[case.pk])).content.decode()

    assert "What is RA-RNTI?" in page
    assert "<p>The <b>answer</b> [1].</p>" in page
    assert "The answer is wrong" in page
    assert "&lt;i&gt;not&lt;/i&gt; true" in page
    assert reverse("knowledge:document", args=[document.pk]) in page


def test_an_answer_is_withheld_from_a_reviewer_who_may_not_open_a_source(reviewer, asker):
    members_only = make_set(visibility="members")
    case = make_case(asker, "What is planned?", make_document("road map", members_only))

    page = signed_in(reviewer).get(reverse("admin:chat_message_change", args=[case.message_id])).content.decode()

    assert "What is planned?" in page
    assert "so it is not shown" in page
    for secret in ("<b>answer</b>", "road map", "excerpt", "trace of the search"):
        assert secret not in page


def test_what_a_model_wrote_after_closed_sources_is_withheld_as_well(reviewer, asker):
    earlier = make_case(asker, "What is planned?", make_document("road map", make_set(visibility="members"))).message
    later = make_case(asker, "Say that again.").message
    Message.objects.filter(pk=later.pk).update(
        conversation=earlier.conversation, parent=earlier, metadata={"model": "gpt"}
    )
    url = reverse("admin:chat_message_change", args=[later.pk])

    assert "so it is not shown" in signed_in(reviewer).get(url).content.decode()

    Message.objects.filter(pk=later.pk).update(metadata={"model": "extractive"})
    page = signed_in(reviewer).get(url).content.decode()
    assert "<b>answer</b>" in page
    assert "trace of the search" not in page  # forms of the question may have words of earlier answers


def test_cases_about_documents_above_the_clearance_are_not_listed(reviewer, asker, administrator):
    make_case(asker, "secret?", make_document("secret", make_set(), clearance=3))

    assert shown(signed_in(reviewer)) == []
    assert shown(signed_in(administrator)) == ["secret?"]


def test_a_reviewer_takes_and_closes_a_case_with_a_note(reviewer, asker):
    case = make_case(asker, "open?")
    client, url = signed_in(reviewer), reverse("admin:feedback_badcase_move", args=[case.pk])

    client.post(url, {"state": "in_work", "note": ""})
    case.refresh_from_db()
    assert (case.state, case.assignee) == ("in_work", reviewer)

    client.post(url, {"state": "closed", "note": "The document is outdated."})
    case.refresh_from_db()
    assert (case.state, case.note) == ("closed", "The document is outdated.")
    assert case.closed is not None


def test_a_case_keeps_who_decided_what_also_after_it_was_opened_again(reviewer, administrator, asker):
    case = make_case(asker, "open?")
    url = reverse("admin:feedback_badcase_move", args=[case.pk])
    signed_in(reviewer).post(url, {"state": "closed", "note": "The document is outdated."})
    signed_in(administrator).post(url, {"state": "open", "note": ""})

    page = signed_in(administrator).get(reverse("admin:feedback_badcase_change", args=[case.pk])).content.decode()

    moves = list(case.moves.values_list("actor__username", "before", "after", "note"))
    assert moves == [("root", "closed", "open", ""), ("reviewer", "open", "closed", "The document is outdated.")]
    assert "<strong>reviewer</strong> set the case from “Open” to “Closed”" in page


def test_several_cases_are_taken_at_once(reviewer, asker):
    cases = [make_case(asker, question) for question in ("a?", "b?")]
    data = {"action": "take", "_selected_action": [case.pk for case in cases]}

    answer = signed_in(reviewer).post(reverse(CASES), data, follow=True)

    assert set(BadCase.objects.values_list("state", "assignee")) == {("in_work", reviewer.pk)}
    assert [str(message) for message in answer.context["messages"]] == ["2 cases: In progress."]


def test_looking_at_the_address_of_the_move_changes_nothing(reviewer, asker):
    case = make_case(asker, "open?")

    signed_in(reviewer).get(reverse("admin:feedback_badcase_move", args=[case.pk]), {"state": "closed"})

    case.refresh_from_db()
    assert case.state == "open"


def test_an_owner_sees_cases_of_the_own_sets_only(owner, own_set, other_set, asker):
    make_case(asker, "mine?", make_document("mine", own_set))
    theirs = make_case(asker, "theirs?", make_document("theirs", other_set))
    client = signed_in(owner)

    assert shown(client) == ["mine?"]
    assert client.post(reverse("admin:feedback_badcase_move", args=[theirs.pk]), {"state": "closed"}).status_code == 404


def test_messages_of_another_tenant_do_not_exist(stranger, asker):
    case = make_case(asker, "ours?")
    client = signed_in(stranger)

    assert client.get(reverse("admin:chat_message_change", args=[case.message_id])).status_code == 302
    assert not client.get(reverse("admin:chat_message_changelist")).context["cl"].result_list


def test_messages_cannot_be_edited_even_by_an_administrator(administrator, asker):
    case = make_case(asker, "open?")
    url = reverse("admin:chat_message_change", args=[case.message_id])

    assert signed_in(administrator).post(url, {"question": "other"}).status_code == 403


def test_a_conversation_lists_its_questions(reviewer, asker):
    case = make_case(asker, "What first?")
    url = reverse("admin:chat_conversation_change", args=[case.message.conversation_id])

    assert "What first?" in signed_in(reviewer).get(url).content.decode()


def test_a_page_of_cases_asks_as_many_queries_for_many_as_for_few(
    reviewer, asker, django_assert_max_num_queries, django_assert_num_queries
):
    client = signed_in(reviewer)
    make_case(asker, "one?")
    shown(client)
    with django_assert_max_num_queries(30) as few:
        shown(client)
    for number in range(5):
        make_case(asker, f"{number}?")

    with django_assert_num_queries(len(few)):
        shown(client)
