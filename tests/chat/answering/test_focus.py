"""A follow-up is looked for in the documents that the answer before it cited, too, unless the subject changed."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from accounts.selectors import scope_for
from chat.answering import answerability
from chat.models import Conversation, Message, MessageCitation
from chat.selectors import chunks_cited_before
from knowledge.models import Chunk
from knowledge.services import retrieval
from ragcore.answerability.model import Answerability
from ragcore.answerability.nearness import Nearness
from tests.chat.conftest import World, world_make
from tests.factories import ingest, make_set

LABORATORY = (
    "The interlock of the test chamber must not be bridged. Where a test needs it, the laboratory manager approves "
    "the bypass on form LB-4. The bypass lasts at most 8 hours."
)
TEXTS = {
    "laboratory": LABORATORY,
    "canteen": "The canteen opens at 11:30. Lunch costs 4 euros. On Saturdays only cold meals are served.",
    "parking": "Parking permits last for 12 months. The reception desk approves a second car.",
    "loans": "A loan of a demo unit lasts at most 21 days. The sales manager approves loans.",
}


@pytest.fixture
def world(shared_rows, redis_client) -> World:
    return shared_rows(world_with_rules)


def world_with_rules() -> World:
    plain = world_make()
    return replace(plain, documents=ingest(plain.owner, plain.knowledge_set, **TEXTS))


@pytest.fixture
def documents(world):
    return {name: one.pk for name, one in world.documents.items()}


@pytest.fixture
def searches(monkeypatch):
    """The filters of every search, in order."""
    asked, real = [], retrieval.retrieve_many

    def noted(*, request, **options):
        asked.append(request.filters.documents)
        return real(request=request, **options)

    monkeypatch.setattr(retrieval, "retrieve_many", noted)
    return asked


async def conversation(api, *questions, **options):
    """The answers to questions of one conversation."""
    key = str(uuid.uuid4())
    return [await api.generate(question, conversation_id=key, cache=False, **options) for question in questions]


def cited(answer):
    return [one["document_id"] for one in answer["citations"]]


@pytest.mark.parametrize(
    ("first", "document", "answer"),
    [
        ("How long does a loan of a demo unit last?", "loans", "The sales manager approves"),
        ("How long does a parking permit last?", "parking", "The reception desk approves"),
    ],
)
async def test_a_follow_up_is_answered_from_the_document_before(api, documents, first, document, answer):
    _first, then = await conversation(api, first, "who approves")

    assert cited(then) == [documents[document]]
    assert answer in then["answer"]


async def test_without_a_conversation_the_same_question_is_answered_from_everywhere(api, documents):
    alone = await api.generate("who approves", cache=False)

    assert {documents["loans"], documents["parking"], documents["laboratory"]} <= set(cited(alone))


async def test_a_question_about_something_else_is_not_dragged_back(api, documents):
    _first, canteen, lunch, off_topic = await conversation(
        api,
        "May the interlock of the test chamber be bridged?",
        "When does the canteen open?",
        "How much is lunch?",
        "Who won the world cup in 2018?",
    )

    assert cited(canteen) == cited(lunch) == [documents["canteen"]]
    assert off_topic["status"] == "refused"


async def test_a_follow_up_is_searched_inside_the_documents_and_in_both_readings_and_a_first_turn_once(
    api, documents, searches
):
    loans = documents["loans"]

    await conversation(api, "How long does a loan of a demo unit last?")
    assert searches == [()]
    searches.clear()
    await conversation(api, "How long does a loan of a demo unit last?", "who approves")
    assert searches == [(), (), (loans,), (), (loans,)]  # as it was written, and with the subject of the turn before


async def test_a_name_that_was_not_spoken_of_is_searched_for_everywhere_alone(api, documents, searches):
    await conversation(api, "How long does a loan of a demo unit last?", "When does procedure TC-RA-003 pass?")

    assert searches == [(), ()]


async def test_the_focus_stays_inside_the_filters_of_the_question(api, documents, searches):
    inside = [documents["canteen"], documents["parking"]]
    key = str(uuid.uuid4())
    await api.generate("How long does a loan of a demo unit last?", conversation_id=key, cache=False)

    then = await api.generate("who approves", conversation_id=key, cache=False, filters={"documents": inside})

    assert (documents["loans"],) not in searches
    assert documents["loans"] not in cited(then)


@pytest.fixture
def closed_document(world):
    """A document that the reader may not read."""
    closed = make_set("closed", owners=[world.owner], visibility="members")
    made = ingest(world.owner, closed, cellar="The cellar manager approves visits. A visit lasts one hour.")
    return made["cellar"].pk


async def test_what_may_no_longer_be_read_is_not_looked_into(api, documents, closed_document, searches):
    key = str(uuid.uuid4())
    first = await api.generate("How long does a loan of a demo unit last?", conversation_id=key, cache=False)
    await MessageCitation.objects.filter(message=first["message_id"]).aupdate(document=closed_document)

    then = await api.generate("who approves", conversation_id=key, cache=False)

    assert (closed_document,) in searches
    assert closed_document not in cited(then)
    assert "cellar" not in then["answer"]


def test_a_page_of_search_results_names_no_document(world, documents):
    conversation = Conversation.objects.create(user=world.reader, tenant=world.reader.tenant)
    answered = message(conversation, "answered", documents["loans"])
    listed = message(conversation, "search_results", documents["canteen"], parent=answered)
    refused = message(conversation, "refused", documents["canteen"], parent=listed)

    for parent, expected in ((answered, ("loans",)), (listed, ("loans",)), (refused, ()), (None, ())):
        following = Message(conversation=conversation, parent=parent)
        found = chunks_cited_before(scope=scope_for(world.reader), message=following)
        assert tuple(document for document, _chunk in found) == tuple(documents[name] for name in expected)
    assert chunks_cited_before(scope=scope_for(world.owner), message=listed) == ()  # of somebody else


def message(conversation, status, document, parent=None):
    """A turn that cites the first passage of a document."""
    made = Message.objects.create(conversation=conversation, question="?", status=status, parent=parent)
    chunk = Chunk.objects.filter(version__document=document).first()
    MessageCitation.objects.create(
        message=made, number=1, chunk=chunk, document_id=document, version_id=chunk.version_id
    )
    return made


@pytest.mark.parametrize(("probability", "inside"), [(0.9, True), (0.3, False)])
async def test_what_surely_answers_about_the_subject_is_quoted_from_the_documents_before(
    api, documents, monkeypatch, probability, inside
):
    verdict = Answerability(score=probability, nearness=Nearness(is_near=True))
    monkeypatch.setattr(answerability, "score_answerability", lambda *_given, **_options: verdict)

    _first, then = await conversation(api, "How long does a parking permit last?", "How many euros does it cost?")

    assert (set(cited(then)) == {documents["parking"]}) == inside
