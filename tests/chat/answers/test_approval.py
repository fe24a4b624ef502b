"""Approved answers: shown to the same question in other words, to people who may find every source, counted."""

from __future__ import annotations

from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from accounts.errors import NotFoundError
from accounts.models import AuditEvent
from chat.answers.approval import answer_approve, approved_check, approved_listed, approved_withdraw, question_key
from chat.errors import NotApprovableError
from chat.models import ApprovedAnswer, Conversation, Message, MessageCitation
from chat.serializers import serialize_answer
from chat.turns.lifecycle import answer_now
from chat.types import AnswerRequest
from knowledge.models import Chunk, Document
from knowledge.services import document_delete
from knowledge.services.documents import document_update
from notifications.models import Notification
from tests.factories import ingest, make_admin, make_set, make_tenant, make_user, scope_of

pytestmark = pytest.mark.django_db(transaction=True)

QUESTION = "What is the minimum password length?"
TEXTS = {
    "policy": "Passwords have at least twelve characters. They are changed once a year.",
    "soup": "The soup of the day is served at noon in the canteen.",
}


@pytest.fixture
def reviewer():
    return make_admin("reviewer")


@pytest.fixture
def documents(reviewer):
    return ingest(reviewer, make_set("it", owners=[reviewer]), **TEXTS)


@pytest.fixture
def approved(reviewer, documents) -> ApprovedAnswer:
    return approve(reviewer, documents["policy"])


def approve(reviewer, document, answer="Twelve characters, as of this year.", **values) -> ApprovedAnswer:
    chunk = Chunk.objects.select_related("version__document").get(version=document.live_version, retired=None)
    given = {"question": QUESTION, "answer": answer, "chunks": [chunk], **values}
    return answer_approve(scope=scope_of(reviewer), actor=reviewer, **given)


def asked(user, query=QUESTION, **values):
    request = AnswerRequest(query=query, personal=False, **values)
    return async_to_sync(answer_now)(scope=scope_of(user), user=user, request=request)


@pytest.mark.parametrize("query", [QUESTION, "what's the minimum password length", "Please: minimum password length?"])
def test_the_same_question_in_other_words_gets_it(approved, query):
    stored = asked(make_user("reader"), query)

    is_same = question_key(query) == question_key(QUESTION)
    assert (stored.record.metadata.approved is not None) == is_same
    if is_same:
        assert stored.record.text == "Twelve characters, as of this year. [1]"
        shown = serialize_answer(record=stored.record, request=stored.request, message=stored.message)
        assert shown["metadata"]["approved"]["by"] == "reviewer"
        assert MessageCitation.objects.get(message=stored.message.pk).document.external_id == "policy"
        approved.refresh_from_db()
        assert approved.used == 1


def test_another_answer_to_the_question_is_replaced_only_by_who_could_withdraw_it(reviewer, documents, approved):
    owner = make_user("owner", is_staff=True)
    mine = ingest(owner, make_set("kitchen", owners=[owner]), rules="Passwords of the kitchen have four characters.")

    approve(owner, mine["rules"], answer="Four.")

    approved.refresh_from_db()
    assert approved.withdrawn is None
    other = make_admin("other")
    second = approve(other, documents["policy"], answer="Twelve.", is_reviewer=True)
    approved.refresh_from_db()
    assert approved.withdrawn is not None
    told = Notification.objects.filter(recipient=reviewer, kind="approved_replaced")
    assert told.count() == 1
    audited = AuditEvent.objects.filter(action="answer.unapprove", data__answer=approved.pk)
    assert audited.count() == 1
    assert second.withdrawn is None


def test_an_answer_belongs_to_the_tenant_of_its_question(reviewer, documents):
    asker = make_user("asker", tenant=make_tenant("branch"))
    conversation = Conversation.objects.create(tenant=asker.tenant, user=asker)
    message = Message.objects.create(conversation=conversation, question=QUESTION)

    assert approve(reviewer, documents["policy"], message=message).tenant_id == asker.tenant_id


def test_one_of_which_a_source_was_purged_is_listed_for_nobody(reviewer, documents, approved):
    listed = lambda: list(approved_listed(scope=scope_of(reviewer), is_reviewer=True))  # noqa: E731
    assert listed() == [approved]

    approved.sources.all().delete()

    assert listed() == []


def test_at_least_the_two_plain_forms_are_the_same():
    assert question_key(QUESTION) == question_key("what is the minimum password length")
    assert question_key(QUESTION) != question_key("What is the maximum password length?")
    assert question_key(QUESTION) != question_key("What is not the minimum password length?")


def test_a_paraphrase_that_was_listed_gets_it_and_another_question_does_not(reviewer, documents):
    approve(reviewer, documents["policy"], paraphrases=["How long must a password be?"])
    reader = make_user("reader")

    assert asked(reader, "how long must a password be").record.metadata.approved is not None
    assert asked(reader, "How long may a password be?").record.metadata.approved is None
    assert asked(reader, QUESTION, cache=False).record.metadata.approved is None  # a fresh answer was asked for


def test_only_people_who_may_find_every_source_get_it(reviewer, documents, approved):
    closed = make_set("closed", owners=[reviewer], visibility="members")
    Document.sets.through.objects.filter(document=documents["policy"]).update(knowledgeset=closed)
    reader = make_user("reader")

    assert asked(reader).record.metadata.approved is None
    assert asked(reviewer).record.metadata.approved is not None
    closed.members.add(reader)
    assert asked(reader).record.metadata.approved is not None
    document_update(scope=scope_of(reviewer), actor=reviewer, document_id=documents["policy"].pk, clearance=4)
    assert asked(make_user("lower", clearance=1)).record.metadata.approved is None
    approved.refresh_from_db()
    assert approved.withdrawn is None  # rights are those of the reader, and no change of the source


def test_other_sets_and_other_tenants_do_not_get_it(reviewer, approved):
    other = make_set("other", owners=[reviewer])

    assert asked(make_user("reader"), sets=(other.pk,)).record.metadata.approved is None


def test_a_changed_source_withdraws_it_and_its_owner_is_told(reviewer, documents, approved):
    it = documents["policy"].sets.get()
    ingest(reviewer, it, policy="Passwords have at least sixteen characters from now on.")

    assert asked(make_user("reader")).record.metadata.approved is None

    approved.refresh_from_db()
    assert approved.withdrawal == "source"
    assert Notification.objects.filter(recipient=reviewer, kind="approved_withdrawn").count() == 1
    assert approved_check() == 0


def test_deleting_a_source_withdraws_it_at_night_and_expiry_ends_it(reviewer, documents, approved):
    second = approve(reviewer, documents["soup"], question="When is the soup served?", answer="At noon.")
    document_delete(scope=scope_of(reviewer), actor=reviewer, document_id=documents["policy"].pk)
    ApprovedAnswer.objects.filter(pk=second.pk).update(expires=timezone.now() - timedelta(seconds=1))

    assert asked(make_user("reader"), "When is the soup served?").record.metadata.approved is None
    assert approved_check() == 2
    assert set(ApprovedAnswer.objects.values_list("withdrawal", flat=True)) == {"source", "expired"}


def test_a_new_one_replaces_the_old_one_and_one_can_be_withdrawn(reviewer, documents, approved):
    newer = approve(reviewer, documents["policy"], answer="Twelve.")
    approved.refresh_from_db()
    assert approved.withdrawal == "by_hand"

    approved_withdraw(scope=scope_of(reviewer), actor=reviewer, answer_id=newer.pk, is_reviewer=True)
    assert asked(make_user("reader")).record.metadata.approved is None


def test_nothing_is_approved_without_sources_or_on_what_one_may_not_open(reviewer, documents):
    with pytest.raises(NotApprovableError):
        approve(reviewer, documents["policy"], chunks=[])
    stranger = make_user("stranger", clearance=0, is_staff=True)
    document_update(scope=scope_of(reviewer), actor=reviewer, document_id=documents["policy"].pk, clearance=3)
    with pytest.raises(NotFoundError):
        approve(stranger, documents["policy"])


def test_the_list_hides_what_rests_on_documents_that_one_may_not_open(reviewer, documents, approved):
    low = make_user("low", clearance=0, is_staff=True)
    assert list(approved_listed(scope=scope_of(low), is_reviewer=True)) == [approved]
    assert not approved_listed(scope=scope_of(low), is_reviewer=False).exists()
    document_update(scope=scope_of(reviewer), actor=reviewer, document_id=documents["policy"].pk, clearance=3)
    assert not approved_listed(scope=scope_of(low), is_reviewer=True).exists()
