"""Where a failed answer recovers when its passage is put in at each place."""

from __future__ import annotations

import pytest

from chat.models import Message
from evaluation.errors import NoRightAnswerKnownError
from evaluation.models import Diagnosis
from evaluation.services.counterfactual import case_recover, is_right
from feedback.models import BadCase
from knowledge.models import Chunk
from knowledge.services.edits import chunk_disable
from tests.evaluation.test_diagnosis import TEXTS, asked
from tests.factories import ingest, make_admin, make_set, make_user, scope_of

pytestmark = pytest.mark.django_db(transaction=True)


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


def case_of(message, document, answers=("64",)) -> BadCase:
    Diagnosis.objects.create(
        message=message,
        document=document,
        ordinal=0,
        cause="retrieval",
        subcause="missed retrieval",
        detail="x",
        confidence=0.9,
        answers=list(answers),
    )
    return BadCase.objects.create(message=message, accepted=list(answers))


def recovers(reviewer, case) -> str:
    found = case_recover(scope=scope_of(reviewer), viewer=reviewer, case=case, is_reviewer=True)
    assert Diagnosis.objects.get(pk=found.pk).evidence["recovers"] == found.evidence["recovers"]
    return found.evidence["recovers"]


def test_an_answer_that_is_right_today_has_recovered(reviewer, documents, asker):
    assert recovers(reviewer, case_of(asked(asker), documents["rach"])) == "as_it_is"


def test_a_passage_outside_of_the_asked_set_recovers_when_its_document_is_searched(reviewer, documents, asker):
    kitchen = make_set("kitchen", owners=[reviewer])
    ingest(reviewer, kitchen, cake="A cake of apples needs flour, butter, sugar and forty minutes in the oven.")

    assert recovers(reviewer, case_of(asked(asker, sets=(kitchen.pk,)), documents["rach"])) == "search"


def test_a_passage_below_the_limit_recovers_without_cut_off(reviewer, documents, asker):
    question = "How does paging call an idle terminal, and how many preambles does a cell have?"
    case = case_of(asked(asker, question, top_k=1, max_chunks=1), documents["ca"], ("component carriers",))

    assert recovers(reviewer, case) in ("cutoff", "search", "context", "nowhere")  # which one is the ranking's matter


def test_a_passage_that_is_out_of_searches_recovers_as_a_source(reviewer, documents, asker):
    chunk = Chunk.objects.get(version=documents["rach"].live_version)
    chunk_disable(scope=scope_of(reviewer), actor=reviewer, chunk_id=chunk.pk)

    assert recovers(reviewer, case_of(asked(asker), documents["rach"])) == "context"


def test_a_passage_without_the_answer_recovers_nowhere_and_nothing_is_stored(reviewer, documents, asker):
    case = case_of(asked(asker), documents["rach"], ("ninety",))
    before = Message.objects.count()

    assert recovers(reviewer, case) == "nowhere"
    assert Message.objects.count() == before


def test_one_accepted_answer_and_all_key_points_make_a_text_right():
    text = "A cell has 64 preambles; paging calls the terminal."

    assert is_right(text, answers=["ninety", "64"], points=["paging"])
    assert not is_right(text, answers=["64"], points=["paging", "handover"])
    assert not is_right(text, answers=["ninety"], points=["paging"])
    assert is_right(text, answers=[], points=["64 preambles"])


def test_it_needs_a_right_answer(reviewer, documents, asker):
    case = case_of(asked(asker), documents["rach"], ())
    with pytest.raises(NoRightAnswerKnownError):
        recovers(reviewer, case)
