"""Why an answer failed: failures are planted one stage at a time, and the diagnosis names the stage."""

from __future__ import annotations

from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from accounts.errors import NotFoundError
from chat.models import Message
from chat.turns.lifecycle import answer_now
from chat.types import AnswerRequest
from evaluation.models import Diagnosis
from evaluation.services.bearing import Wanted, bearing_find
from evaluation.services.diagnosis import answer_diagnose, diagnosis_store
from knowledge.models import Chunk
from knowledge.services.edits import chunk_disable, chunk_questions_set
from tests.factories import ingest, make_admin, make_set, make_user, scope_of

pytestmark = pytest.mark.django_db(transaction=True)

QUESTION = "How many preambles does a cell have?"
RACH = "A cell has 64 preambles for random access. The terminal chooses one of them at random."
TEXTS = {
    "rach": RACH,
    "ca": "Carrier aggregation combines several component carriers to raise the data rate of one terminal.",
    "handover": "A handover moves a terminal from one cell to another without dropping its connection.",
    "paging": "Paging calls an idle terminal. The cell sends the paging message on the downlink.",
}


@pytest.fixture
def reviewer():
    return make_admin("reviewer")


@pytest.fixture
def radio(reviewer):
    return make_set("radio", owners=[reviewer])


@pytest.fixture
def documents(reviewer, radio):
    return ingest(reviewer, radio, **TEXTS)


@pytest.fixture
def asker(db):
    return make_user("asker", clearance=1)


def asked(user, question=QUESTION, **request) -> Message:
    request = {"cache": False, "personal": False, **request}
    stored = async_to_sync(answer_now)(
        scope=scope_of(user), user=user, request=AnswerRequest(query=question, **request)
    )
    return Message.objects.get(pk=stored.message.pk)


def diagnosed(reviewer, message, passage="rach", answers=("64",), points=()):
    return answer_diagnose(
        scope=scope_of(reviewer),
        viewer=reviewer,
        message_id=str(message.pk),
        wanted=Wanted(passage=passage, answers=answers, points=points),
        is_reviewer=True,
    )


def cause(reviewer, message, **wanted) -> tuple[str, str, str]:
    found = diagnosed(reviewer, message, **wanted).diagnosis
    return found.cause, found.subcause, found.detail


def test_a_right_answer_is_told_to_be_right(reviewer, documents, asker):
    found = diagnosed(reviewer, asked(asker))

    assert found.diagnosis.cause == "none"
    assert found.passage.whereabouts == "source"


def test_what_nobody_has_written_is_a_gap(reviewer, documents, asker):
    message = asked(asker, "Who won the world cup of curling?")

    assert cause(reviewer, message, passage="", answers=("Canada",))[0] == "knowledge_gap"


def test_a_document_above_the_asker_is_a_matter_of_rights(reviewer, radio, asker):
    ingest(reviewer, radio, clearance=3, rach=RACH)
    ingest(reviewer, radio, ca=TEXTS["ca"])

    assert cause(reviewer, asked(asker))[0] == "permission"


def test_a_passage_that_the_reviewer_may_not_read_is_not_told(radio, asker):
    owner, other = make_admin("owner"), make_user("curious", clearance=1, is_staff=True)
    ingest(owner, radio, clearance=3, rach=RACH)
    message = asked(asker)

    with pytest.raises(NotFoundError):
        diagnosed(other, message)
    assert cause(other, message, passage="", answers=("64",))[0] == "knowledge_gap"


def test_another_set_than_the_one_that_was_asked(reviewer, documents, asker):
    kitchen = make_set("kitchen", owners=[reviewer])
    ingest(reviewer, kitchen, cake="A cake of apples needs flour, butter, sugar and forty minutes in the oven.")

    assert cause(reviewer, asked(asker, sets=(kitchen.pk,))) == ("retrieval", "missed retrieval", "filter")


def test_a_passage_that_an_owner_took_out_of_searches(reviewer, documents, asker):
    chunk = Chunk.objects.get(version=documents["rach"].live_version)
    chunk_disable(scope=scope_of(reviewer), actor=reviewer, chunk_id=chunk.pk)

    assert cause(reviewer, asked(asker)) == ("retrieval", "missed retrieval", "disabled passage")


@pytest.mark.parametrize("name", ["rach", "#{document}:1"])
def test_a_passage_that_was_edited_is_followed_as_it_is_now(reviewer, documents, name):
    """Edits replace passages; the ones before them are no longer searched, and nobody took them out."""
    document = documents["rach"]
    chunk = Chunk.objects.get(version=document.live_version)
    for questions in (["How often is it tried?"], []):
        chunk = chunk_questions_set(scope=scope_of(reviewer), actor=reviewer, chunk_id=chunk.pk, questions=questions)
    wanted = Wanted(passage=name.format(document=document.pk), answers=("64 preambles",))

    def found():
        return bearing_find(scope=scope_of(reviewer), question=QUESTION, wanted=wanted)

    assert Chunk.objects.filter(version=document.live_version).count() == 3
    assert (found().is_disabled, found().text) == (False, chunk.text)
    chunk_disable(scope=scope_of(reviewer), actor=reviewer, chunk_id=chunk.pk)
    assert found().is_disabled


def test_a_passage_below_the_limit_of_the_result(reviewer, documents, asker):
    message = asked(asker, "How does paging call an idle terminal?", top_k=1, max_chunks=1)

    assert cause(reviewer, message)[0] == "reranking"


def test_a_refusal_although_the_source_was_there(reviewer, documents, asker):
    message = asked(asker)
    Message.objects.filter(pk=message.pk).update(status="refused", answer="The documents do not say.", sentences=[])

    assert cause(reviewer, message) == ("generation", "abstention failure", "answerability")


@pytest.mark.parametrize(
    ("answer", "points", "subcause"),
    [
        ("A cell has 32 preambles [1].", ("64",), "numerical error"),
        ("A cell has many preambles, which the operator buys [1].", ("chosen at random",), "fabricated content"),
        ("A cell has 64 preambles [1].", ("64", "chooses one of them at random"), "incomplete answer"),
    ],
)
def test_a_text_that_says_something_else(reviewer, documents, asker, answer, points, subcause):
    message = asked(asker)
    sentences = [{"text": answer, "support": "unsupported"}] if subcause == "fabricated content" else []
    Message.objects.filter(pk=message.pk).update(answer=answer, status="answered", sentences=sentences)

    assert cause(reviewer, message, answers=(), points=points)[:2] == ("generation", subcause)


def expecting_refusal(reviewer, message) -> tuple[str, str, str]:
    found = answer_diagnose(
        scope=scope_of(reviewer),
        viewer=reviewer,
        message_id=str(message.pk),
        wanted=Wanted(expects_refusal=True),
        is_reviewer=True,
    ).diagnosis
    return found.cause, found.subcause, found.detail


def test_an_answer_in_the_place_of_a_refusal(reviewer, documents, asker):
    message = asked(asker)
    assert expecting_refusal(reviewer, message) == ("generation", "abstention failure", "answered")

    Message.objects.filter(pk=message.pk).update(status="refused", answer="The documents do not say.", sentences=[])
    assert expecting_refusal(reviewer, message)[0] == "none"


def test_a_figure_that_is_quoted_from_another_source_is_not_a_wrong_figure(reviewer, radio, asker):
    cells = "A cell has 12 neighbours, and each of the neighbours is measured by the terminal."
    ingest(reviewer, radio, **TEXTS, cells=cells)
    message = asked(asker, "How many preambles and how many neighbours does a cell have?")
    other = message.citations.get(document__external_id="cells")
    Message.objects.filter(pk=message.pk).update(
        answer=f"A cell has 12 neighbours [{other.number}].", status="answered", sentences=[]
    )
    message.citations.update(cited=False)
    message.citations.filter(pk=other.pk).update(cited=True)

    assert cause(reviewer, message)[:2] == ("generation", "contextual misalignment")


def test_of_several_passages_the_one_with_what_is_missing_is_followed(reviewer, documents, asker):
    message = asked(asker, "How does paging call an idle terminal?", top_k=1, max_chunks=1)
    wanted = Wanted(passage="paging", also=("rach",), answers=(f"{TEXTS['paging']} {RACH}",))

    found = answer_diagnose(
        scope=scope_of(reviewer), viewer=reviewer, message_id=str(message.pk), wanted=wanted, is_reviewer=True
    )

    assert found.bearing.expected.document == documents["rach"]
    assert found.diagnosis.cause == "reranking"


def test_names_that_lead_nowhere_are_left_out_beside_one_that_does(reviewer, documents, asker):
    message = asked(asker)
    wanted = Wanted(passage="no such document", also=("rach",), answers=("64",))

    found = answer_diagnose(
        scope=scope_of(reviewer), viewer=reviewer, message_id=str(message.pk), wanted=wanted, is_reviewer=True
    )

    assert found.bearing.expected.document == documents["rach"]


def test_a_diagnosis_is_kept_with_what_it_rests_on(reviewer, documents, asker):
    message = asked(asker)
    found = diagnosed(reviewer, message)

    stored = diagnosis_store(actor=reviewer, diagnosed=found, wanted=Wanted(passage="rach", answers=("64",)))

    assert Diagnosis.objects.get() == stored
    assert (stored.document, stored.ordinal, stored.answers) == (documents["rach"], 0, ["64"])
    assert timezone.now() - stored.created < timedelta(minutes=1)
