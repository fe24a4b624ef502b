"""Remedies of answers that a language model has written wrongly: drafts of settings and of the prompt."""

from __future__ import annotations

import json
import re

import pytest
from django.urls import reverse
from django.utils import translation

from evaluation.models import Diagnosis, GatedChange, GoldenCase, GoldenSet, OptionsDraft
from evaluation.services.case_remedies import case_draft_publish
from evaluation.services.gates import change_publish
from feedback.models import BadCase
from knowledge.errors import MeasuredFirstError
from knowledge.models import KnowledgeSet
from knowledge.services.options import set_options_update
from tests.admin.conftest import signed_in
from tests.evaluation.runs import run_work_off
from tests.evaluation.test_diagnosis import QUESTION, TEXTS, asked
from tests.evaluation.test_remedies import apply, case_of, offered, undo
from tests.factories import ingest, make_admin, make_set, make_user, scope_of
from tests.scripted_llm import Recorded, Reply, serving

pytestmark = pytest.mark.django_db(transaction=True)

RIGHT, BESIDE = "A cell has 64 preambles [1].", "The terminal chooses one of them at random [1]."
PLAN = "The plan of a cell tells how many preambles a cell may have for handover and which preambles it does have."
EXACT = "Copies numbers and units from the sources exactly."


@pytest.fixture(autouse=True)
def english():
    """The language of the reviewer, in which sentences for the prompt are proposed."""
    with translation.override("en"):
        yield


@pytest.fixture
def reviewer():
    return make_admin("reviewer")


@pytest.fixture
def radio(reviewer):
    row = make_set("radio", owners=[reviewer])
    row.documents_of_test = ingest(reviewer, row, **TEXTS, plan=PLAN)
    return row


@pytest.fixture
def writer(settings):
    """A model that answers only where it is cool, is told to copy numbers, or reads little."""
    with serving() as server:
        settings.LLM_BASE_URL, settings.LLM_MODEL = server.url, "writer"
        server.respond = _writes
        yield server


def _writes(request: Recorded) -> Reply:
    prompt = json.dumps(request.body["messages"])
    is_careful = request.body.get("temperature", 1) < 0.15 or EXACT in prompt or "[Source 2]" not in prompt
    return Reply(texts=(RIGHT if is_careful else BESIDE,))


@pytest.fixture
def case(reviewer, radio) -> BadCase:
    """An answer that misses the number, and its diagnosis."""
    case = case_of(asked(make_user("asker", clearance=1)), radio.documents_of_test["rach"], 0)
    Diagnosis.objects.create(
        message=case.message,
        document=case.marked_document,
        ordinal=0,
        cause="generation",
        subcause="numerical error",
        detail="model",
        confidence=0.9,
        remedy="golden_case",
    )
    return case


def publish(reviewer, case) -> None:
    draft = OptionsDraft.objects.get(state="open")
    case_draft_publish(scope=scope_of(reviewer), actor=reviewer, case=case, draft_id=draft.pk)


def figures() -> tuple[bool, bool]:
    """Whether the answer is right today, and with the draft."""
    tried = OptionsDraft.objects.latest("pk").figures
    assert tried["now"]["status"] == tried["draft"]["status"] == "answered"
    return tried["now"]["is_right"], tried["draft"]["is_right"]


def test_a_lower_temperature_is_tried_published_and_taken_back(writer, reviewer, radio, case):
    assert offered(reviewer, case)["writing"]

    application = apply(reviewer, case, "writing", change="temperature=0.1")

    assert figures() == (False, True)
    assert KnowledgeSet.objects.get().options == {}  # a draft changes nothing
    assert "writing" not in offered(reviewer, case)  # one draft of a case at a time
    publish(reviewer, case)
    assert KnowledgeSet.objects.get().options == {"answer": {"temperature": 0.1}}
    undo(reviewer, case, application)
    assert KnowledgeSet.objects.get().options.get("answer", {}) == {}


def test_a_smaller_context_leaves_the_other_passages_out(writer, reviewer, radio, case):
    scope, options = scope_of(reviewer), {"answer": {"max_chunks": 2}}
    set_options_update(scope=scope, actor=reviewer, set_id=radio.pk, options=options)

    apply(reviewer, case, "writing", change="max_chunks=1")

    assert OptionsDraft.objects.get().options == {"max_chunks": 1}
    assert figures() == (False, True)


def test_a_temperature_is_never_raised(writer, reviewer, radio, case):
    scope, options = scope_of(reviewer), {"answer": {"temperature": 0.1}}
    set_options_update(scope=scope, actor=reviewer, set_id=radio.pk, options=options)

    application = apply(reviewer, case, "writing", change="temperature=0.2")

    assert application.values["change"] == "context_tokens=1500"  # the first that is offered


def test_a_sentence_for_the_prompt_is_proposed_by_the_cause_and_tried(writer, reviewer, radio, case):
    KnowledgeSet.objects.update(persona="the radio desk")

    application = apply(reviewer, case, "prompt")

    assert OptionsDraft.objects.get().options == {"persona": f"the radio desk {EXACT}"}
    assert figures() == (False, True)
    publish(reviewer, case)
    assert KnowledgeSet.objects.get().persona == f"the radio desk {EXACT}"
    undo(reviewer, case, application)
    assert KnowledgeSet.objects.get().persona == "the radio desk"


@pytest.mark.parametrize(("kind", "gated"), [("writing", "set_options"), ("prompt", "set_texts")])
def test_drafts_for_a_guarded_set_go_through_its_gate(writer, reviewer, radio, case, kind, gated):
    golden = GoldenSet.objects.create(tenant=reviewer.tenant, name="g")
    golden.sets.add(radio)
    GoldenCase.objects.create(golden_set=golden, question=QUESTION, relevant=["rach"], answers=["64"])
    application = apply(reviewer, case, kind)

    with pytest.raises(MeasuredFirstError) as held:
        publish(reviewer, case)

    change = GatedChange.objects.get(pk=held.value.data["change"])
    assert (change.kind, change.state) == (gated, "measuring")
    for run in change.runs.all():
        run_work_off(run)
    change_publish(scope=scope_of(reviewer), actor=reviewer, change=change)
    assert OptionsDraft.objects.get().state == "published"
    assert KnowledgeSet.objects.get().options or KnowledgeSet.objects.get().persona
    undo(reviewer, case, application)
    radio.refresh_from_db()
    assert (radio.options.get("answer", {}), radio.persona) == ({}, "")


def test_without_a_model_only_the_size_of_the_context_can_be_changed(reviewer, radio, case):
    assert "prompt" not in offered(reviewer, case)

    application = apply(reviewer, case, "writing", change="temperature=0.1")

    assert application.values["change"] == "context_tokens=1500"


def test_the_page_shows_both_answers_in_words(writer, reviewer, radio, case):
    apply(reviewer, case, "writing", change="temperature=0.1")

    address = reverse("admin:feedback_badcase_change", args=[case.pk])
    with translation.override("en"):
        page = signed_in(reviewer).get(address).content.decode()

    assert "Temperature</b> = 0.1" in page
    assert page.index("not answered rightly") < page.index(">answered rightly")
    assert "Sentences that no source supports" in page


def test_the_page_names_the_text_of_a_prompt(writer, reviewer, radio, case):
    apply(reviewer, case, "prompt")

    address = reverse("admin:feedback_badcase_change", args=[case.pk])
    with translation.override("zh-hans"):
        page = signed_in(reviewer).get(address, headers={"accept-language": "zh-hans"}).content.decode()

    shown_texts = re.findall(r"<b>([^<]*)</b> = ([^<]*)", page)
    assert ("专家角色", EXACT) in [(name, text.strip()) for name, text in shown_texts]
