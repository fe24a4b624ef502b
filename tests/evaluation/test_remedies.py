"""Remedies of a case: offered, applied with the rights of the person, tested, and taken back."""

from __future__ import annotations

import pytest
from django.utils import translation

from accounts.models import AuditEvent
from chat.models import Message
from evaluation.errors import RemedyNotOfferedError
from evaluation.models import (
    Diagnosis,
    GatedChange,
    GoldenCase,
    GoldenSet,
    OptionsDraft,
    RemedyApplication,
    WantedDocument,
)
from evaluation.services.bearing import Wanted
from evaluation.services.case_desk import case_test_again
from evaluation.services.case_remedies import (
    case_draft_publish,
    remedies_applied,
    remedies_offered,
    remedy_apply,
    remedy_undo,
)
from evaluation.services.diagnosis import diagnosis_store
from evaluation.services.gates import change_publish
from evaluation.services.wanted_documents import wanted_document_close, wanted_documents_shown
from feedback.models import BadCase
from knowledge.errors import MeasuredFirstError
from knowledge.models import Chunk, ChunkEdit, IngestItem, LexiconTerm, OptionsChange
from knowledge.services.edits import chunk_disable, chunk_questions_set
from notifications.kinds import sentence_of
from notifications.models import Notification
from tests.api.world import message_make
from tests.evaluation.runs import run_work_off
from tests.evaluation.test_diagnosis import QUESTION, TEXTS, asked, diagnosed
from tests.factories import ingest, make_admin, make_set, make_user, run_job, scope_of

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


def case_of(message, document=None, ordinal=None, accepted=("64",)) -> BadCase:
    return BadCase.objects.create(
        message=message, marked_document=document, marked_ordinal=ordinal, accepted=list(accepted)
    )


def diagnose_with(reviewer, case) -> None:
    name = f"#{case.marked_document_id}" if case.marked_document_id else ""
    found = diagnosed(reviewer, case.message, passage=name, answers=tuple(case.accepted))
    diagnosis_store(actor=None, diagnosed=found, wanted=Wanted(passage=name, answers=tuple(case.accepted)))


def told(case, document, cause="retrieval", remedy="add_synonym", detail="missing synonym", **evidence) -> None:
    """A diagnosis as it is stored; a corpus of four documents finds everything by its vectors."""
    Diagnosis.objects.create(
        message=case.message,
        document=document,
        ordinal=0,
        cause=cause,
        subcause="missed retrieval",
        detail=detail,
        confidence=0.9,
        remedy=remedy,
        evidence=evidence,
    )


def apply(reviewer, case, kind, **values) -> RemedyApplication:
    return remedy_apply(scope=scope_of(reviewer), actor=reviewer, case=case, kind=kind, values=values)


def undo(reviewer, case, application) -> None:
    remedy_undo(scope=scope_of(reviewer), actor=reviewer, case=case, application_id=application.pk)


def offered(user, case) -> dict[str, bool]:
    rows = remedies_offered(scope=scope_of(user), actor=user, case=case)
    return {row.remedy.code: row.offer.is_advised for row in rows}


def choices(user, case, kind) -> list[str]:
    """The knowledge sets that a remedy offers."""
    found = remedies_offered(scope=scope_of(user), actor=user, case=case)
    (field,) = [field for one in found if one.remedy.code == kind for field in one.offer.fields if field.name == "set"]
    return [label for _value, label in field.choices]


def is_answered(reviewer, case) -> bool:
    return case_test_again(scope=scope_of(reviewer), viewer=reviewer, case=case, is_reviewer=True).is_answered


def work_off() -> None:
    for job in set(IngestItem.objects.filter(finished=None).values_list("job", flat=True)):
        run_job(job)


def test_a_question_in_other_words_is_added_to_the_passage_and_taken_out_again(reviewer, documents, asker):
    question = "zyqax zyqbx per zelle?"
    case = case_of(asked(asker, question), documents["rach"], 0)
    told(case, documents["rach"])
    assert offered(reviewer, case)["add_question"]
    chunk = Chunk.objects.get(version=documents["rach"].live_version)
    chunk_questions_set(scope=scope_of(reviewer), actor=reviewer, chunk_id=chunk.pk, questions=["an older one?"])

    application = apply(reviewer, case, "add_question")

    assert is_answered(reviewer, case)
    assert "add_question" not in offered(reviewer, case)
    with pytest.raises(RemedyNotOfferedError):
        apply(reviewer, case, "add_question")
    undo(reviewer, case, application)
    undo(reviewer, case, application)  # twice changes nothing more
    assert ChunkEdit.objects.get().questions == ["an older one?"]
    assert offered(reviewer, case)["add_question"]
    words = set(AuditEvent.objects.values_list("action", flat=True))
    assert {"remedy.apply", "remedy.undo", "passage.questions"} <= words


def test_a_passage_that_was_excluded_is_included_and_excluded_again(reviewer, documents, asker):
    chunk = Chunk.objects.get(version=documents["rach"].live_version)
    chunk_disable(scope=scope_of(reviewer), actor=reviewer, chunk_id=chunk.pk)
    case = case_of(asked(asker), documents["rach"], 0)
    diagnose_with(reviewer, case)
    assert offered(reviewer, case)["enable"]

    application = apply(reviewer, case, "enable")

    assert is_answered(reviewer, case)
    undo(reviewer, case, application)
    assert Chunk.objects.filter(version__document=documents["rach"], retired=None).count() == 0


def test_a_document_is_cut_anew_with_sizes_of_its_own(reviewer, asker):
    small = make_set(
        "small", owners=[reviewer], options={"chunking": {"max_tokens": 64, "min_tokens": 32, "overlap": 0}}
    )
    text = "\n\n".join(
        f"Paragraph {n} speaks of cells and of {n} other things at some length, as is usual here." * 2 for n in range(8)
    )
    document = ingest(reviewer, small, long=text)["long"]
    pieces = Chunk.objects.filter(version=document.live_version).count()
    case = case_of(asked(asker), document, 2)

    application = apply(reviewer, case, "recut", size="larger")
    assert remedies_applied(case=case)[0].is_pending
    work_off()

    document.refresh_from_db()
    case.refresh_from_db()
    assert Chunk.objects.filter(version=document.live_version).count() < pieces
    assert case.marked_ordinal is None  # passages are counted anew
    undo(reviewer, case, application)
    work_off()
    document.refresh_from_db()
    case.refresh_from_db()
    assert (document.chunking, case.marked_ordinal) == ({}, 2)
    assert Chunk.objects.filter(version=document.live_version).count() == pieces


def test_the_newest_version_is_withdrawn_and_returned(reviewer, radio, documents, asker):
    ingest(reviewer, radio, rach="The terminal chooses one of them at random. Nothing else is said here.")
    case = case_of(asked(asker), documents["rach"])
    diagnose_with(reviewer, case)

    application = apply(reviewer, case, "withdraw_version")
    work_off()

    assert is_answered(reviewer, case)
    undo(reviewer, case, application)
    work_off()
    documents["rach"].refresh_from_db()
    assert "Nothing else" in Chunk.objects.get(version=documents["rach"].live_version, retired=None).text


def test_a_draft_of_a_setting_is_tried_published_and_taken_back(reviewer, radio, documents, asker):
    case = case_of(asked(asker), documents["rach"], 0)

    type(radio).objects.filter(pk=radio.pk).update(name_zh="无线")
    with translation.override("zh-hans"):
        assert choices(reviewer, case, "option") == ["无线"]
    application = apply(reviewer, case, "option", change="top_k=20")
    draft = OptionsDraft.objects.get()
    assert draft.figures == dict.fromkeys(("now", "draft"), {"rank": 1, "is_refused": False})
    radio.refresh_from_db()
    assert radio.options == {}  # a draft changes nothing
    case_draft_publish(scope=scope_of(reviewer), actor=reviewer, case=case, draft_id=draft.pk)

    radio.refresh_from_db()
    assert radio.options == {"retrieval": {"top_k": 20}}
    undo(reviewer, case, application)
    radio.refresh_from_db()
    assert radio.options.get("retrieval", {}) == {}
    assert list(OptionsChange.objects.order_by("pk").values_list("kind", flat=True)) == ["edit", "undo"]


def test_a_draft_for_a_guarded_set_is_published_by_its_gate_and_can_be_taken_back(reviewer, radio, documents, asker):
    case = case_of(asked(asker), documents["rach"], 0)
    golden = GoldenSet.objects.create(tenant=reviewer.tenant, name="g")
    golden.sets.add(radio)
    GoldenCase.objects.create(golden_set=golden, question=QUESTION, relevant=["rach"])
    application = apply(reviewer, case, "option", change="top_k=20")
    draft = OptionsDraft.objects.get()

    with pytest.raises(MeasuredFirstError) as held:
        case_draft_publish(scope=scope_of(reviewer), actor=reviewer, case=case, draft_id=draft.pk)

    change = GatedChange.objects.get(pk=held.value.data["change"])
    radio.refresh_from_db()
    assert radio.options == {}
    for run in change.runs.all():
        run_work_off(run)
    change_publish(scope=scope_of(reviewer), actor=reviewer, change=change)
    draft.refresh_from_db()
    assert draft.state == OptionsDraft.State.PUBLISHED
    undo(reviewer, case, application)
    radio.refresh_from_db()
    assert radio.options.get("retrieval", {}) == {}


def test_owners_are_asked_for_a_document_and_say_what_became_of_it(reviewer, radio, documents, asker):
    case = case_of(message_make(asker, question="Who won the curling?", answer="–", status="refused"), accepted=())
    type(radio).objects.filter(pk=radio.pk).update(name_zh="无线")
    with translation.override("zh-hans"):
        assert choices(reviewer, case, "ask_owner") == ["无线"]
    apply(reviewer, case, "ask_owner", set=str(radio.pk), text="Results of the curling cup")

    wanted = WantedDocument.objects.get()
    owner = scope_of(reviewer)
    assert list(wanted_documents_shown(scope=owner)) == [wanted]
    assert not wanted_documents_shown(scope=scope_of(asker)).exists()
    told = Notification.objects.get(kind="document_wanted", recipient=reviewer)
    assert "radio" in sentence_of(kind=told.kind, data=told.data)
    with translation.override("zh-hans"):
        assert "无线" in sentence_of(kind=told.kind, data=told.data)
    wanted_document_close(scope=owner, actor=reviewer, wanted_id=wanted.pk, state="added")
    wanted.refresh_from_db()
    assert (wanted.state, wanted.closed_by) == ("added", reviewer)


def test_a_golden_case_is_made_and_removed_unless_somebody_has_worked_on_it(reviewer, documents, asker):
    golden = GoldenSet.objects.create(tenant=reviewer.tenant, name="g")
    case = case_of(asked(asker), documents["rach"], 0)
    first = apply(reviewer, case, "golden_case", golden_set=str(golden.pk))
    undo(reviewer, case, first)
    assert not golden.cases.exists()

    second = apply(reviewer, case, "golden_case", golden_set=str(golden.pk))
    golden.cases.update(answers=["64", "sixty-four"])
    undo(reviewer, case, second)
    assert golden.cases.count() == 1


def test_nothing_is_offered_beyond_the_rights_of_the_reviewer(reviewer, radio, documents, asker):
    owner = make_user("other", is_staff=True)
    kitchen = make_set("kitchen", owners=[owner])
    message = asked(asker, sets=())
    message.conversation.sets.add(kitchen)
    message.citations.all().delete()
    Message.objects.filter(pk=message.pk).update(document_sources=0)  # as of an answer that had none
    case = case_of(message, documents["rach"], 0)

    found = offered(owner, case)

    assert not {"add_question", "recut", "enable", "weight", "withdraw_version"} & found.keys()
    with pytest.raises(RemedyNotOfferedError):
        apply(owner, case, "add_question")


def test_a_synonym_goes_into_the_lexicon_of_the_set_and_out_of_it_again(reviewer, radio, documents, asker):
    case = case_of(asked(asker, "zyqax zyqbx per zelle?"), documents["rach"], 0)
    told(case, documents["rach"], words=["zyqax"])

    application = apply(reviewer, case, "add_synonym", term="preambles", synonym="zyqax", lexicon=str(radio.pk))

    assert LexiconTerm.objects.get(knowledge_set=radio, text="preambles").synonyms == ["zyqax"]
    undo(reviewer, case, application)
    assert not LexiconTerm.objects.filter(knowledge_set=radio, synonyms__contains=["zyqax"]).exists()


def test_a_synonym_of_a_suggested_term_is_taken_back_with_its_approval(reviewer, radio, documents, asker):
    LexiconTerm.objects.create(
        tenant=radio.tenant,
        knowledge_set=radio,
        text="preambles",
        key="preambles",
        synonyms=["zyqax"],
        status="candidate",
    )
    case = case_of(asked(asker, "zyqax zyqbx per zelle?"), documents["rach"], 0)
    told(case, documents["rach"], words=["zyqax"])

    application = apply(reviewer, case, "add_synonym", term="preambles", synonym="zyqax", lexicon=str(radio.pk))

    assert LexiconTerm.objects.get(text="preambles").status == "approved"
    undo(reviewer, case, application)
    assert LexiconTerm.objects.get(text="preambles").status == "candidate"


def test_a_synonym_is_not_offered_to_who_keeps_no_lexicon(documents, asker):
    case = case_of(asked(asker, "zyqax zyqbx per zelle?"), documents["rach"], 0)
    told(case, documents["rach"], words=["zyqax"])

    assert "add_synonym" not in offered(make_user("other", is_staff=True), case)


def test_the_right_answer_is_published_as_approved_and_withdrawn_again(reviewer, documents, asker):
    case = case_of(asked(asker), documents["rach"], 0)
    case.right_answer = "Sixty-four, all told."
    case.accepted = ["Sixty-four"]
    case.save()
    assert not is_answered(reviewer, case)

    application = apply(reviewer, case, "approve", paraphrases="How many preambles are in a cell?")

    assert is_answered(reviewer, case)
    assert "approve" not in offered(reviewer, case)
    undo(reviewer, case, application)
    assert not is_answered(reviewer, case)
