"""The language model for judging finds the passage that bears the answer, and is believed only as far as it quotes."""

from __future__ import annotations

import json
import re

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import translation

from evaluation.admin.diagnosis_words import diagnosis_view
from evaluation.models import Diagnosis
from evaluation.services import judge_client
from evaluation.services.bearing import JUDGED, NEAR, Wanted
from evaluation.services.case_diagnosis import diagnosis_run_start
from evaluation.services.diagnosis import NOT_JUDGED_THERE, answer_diagnose, diagnosis_store
from feedback.models import BadCase
from knowledge import queue
from knowledge.services.edits import chunk_replace
from tests.admin.conftest import signed_in
from tests.api.world import message_make
from tests.factories import examined, ingest, make_admin, make_set, make_user, scope_of
from tests.scripted_llm import Recorded, Reply, serving
from tests.work.contract import work_off

pytestmark = pytest.mark.django_db(transaction=True)

QUESTION = "What is the upper bound on simultaneous subscribers of one sector?"
STATES = "A cell serves at most 1200 terminals at the same time."
TEXTS = {
    "capacity": f"Capacity. {STATES} Others are told to try again later.",
    "sectors": "Subscribers of a sector pay by volume. One sector has an upper bound on simultaneous calls of its own.",
    "paging": "Paging calls an idle terminal. The cell sends the paging message on the downlink.",
}


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Nothing is kept of another test, and no task goes to the broker."""
    cache.clear()
    monkeypatch.setattr(judge_client.of_diagnoses, "until", 0.0)
    monkeypatch.setattr(queue, "_send", lambda *_args: None)
    yield
    cache.clear()


@pytest.fixture
def judge(settings):
    with serving() as server:
        settings.LLM_JUDGE_BASE_URL, settings.LLM_JUDGE_MODEL = server.url, "grader"
        server.respond = quoting(STATES)
        yield server


@pytest.fixture
def reviewer():
    return make_admin("reviewer")


@pytest.fixture
def asker(db):
    return make_user("asker", clearance=1)


@pytest.fixture
def radio(reviewer):
    return make_set("radio", owners=[reviewer])


def quoting(words: str, quotation: str | None = None):
    """A judge who names the passage that has these words, and quotes them, or something else."""

    def respond(request: Recorded) -> Reply:
        shown = passages_of(request)
        named = [number for number, text in shown.items() if words in text]
        return said([{"number": number, "quotation": quotation or words} for number in named])

    return respond


def said(passages) -> Reply:
    return Reply(texts=(json.dumps({"passages": passages}),))


def passages_of(request: Recorded) -> dict[int, str]:
    context = request.body["messages"][-1]["content"].split("<context>")[-1].split("</context>")[0]
    parts = re.split(r"(?m)^\[(\d+)\] ", context)[1:]
    return {int(number): text for number, text in zip(parts[::2], parts[1::2], strict=True)}


def shown_to(judge) -> str:
    return "\n".join(text for request in judge.requests for text in passages_of(request).values())


def message_of(user, question=QUESTION, **values):
    return message_make(user, question=question, answer="I do not know.", state="done", status="refused", **values)


def diagnosed(viewer, message, wanted=None):
    found = answer_diagnose(
        scope=scope_of(viewer),
        viewer=viewer,
        message_id=str(message.pk),
        wanted=wanted or Wanted(),
        is_reviewer=True,
    )
    return found, diagnosis_store(actor=viewer, diagnosed=found, wanted=wanted or Wanted())


def test_the_judge_finds_the_passage_that_says_it_in_other_words(reviewer, radio, asker, judge):
    documents = ingest(reviewer, radio, **TEXTS)

    found, stored = diagnosed(reviewer, message_of(asker))

    assert found.bearing.expected.document == documents["capacity"]
    assert (found.bearing.way, found.bearing.quotation, found.bearing.certainty) == ("judge", STATES, JUDGED)
    assert found.passage.certainty == JUDGED
    assert stored.confidence <= JUDGED
    assert stored.evidence["found_by"] == "judge"
    assert stored.evidence["judge"] == {
        "outcome": "found",
        "passages": len(TEXTS),
        "model": "grader",
        "requests": 1,
        "tokens": 10,
    }
    page = signed_in(reviewer).get(f"{reverse('admin:evaluation_diagnosis')}?message={stored.message_id}")
    assert "found by the judge" in page.content.decode()
    assert STATES in page.content.decode()
    with translation.override("zh-hans"):
        assert "由评分模型找到" in str(diagnosis_view(stored, scope=scope_of(reviewer), shows_answer=True).facts)


def test_a_judge_that_cannot_judge_is_not_asked_and_the_page_says_so(reviewer, radio, asker, judge):
    ingest(reviewer, radio, **TEXTS)
    with examined("judge", judges=False):
        found, stored = diagnosed(reviewer, message_of(asker))

    assert judge.requests == []
    assert found.bearing is None or found.bearing.way != "judge"
    assert stored.evidence["judge"]["outcome"] == "unfit"
    page = signed_in(reviewer).get(f"{reverse('admin:evaluation_diagnosis')}?message={stored.message_id}")
    assert "its exam says that it cannot judge" in page.content.decode()


def test_without_a_judge_the_words_of_the_question_decide_as_before(reviewer, radio, asker):
    documents = ingest(reviewer, radio, **TEXTS)

    found, stored = diagnosed(reviewer, message_of(asker))

    assert found.bearing is None or found.bearing.expected.document != documents["capacity"]
    assert "judge" not in stored.evidence


def test_what_somebody_knows_of_the_answer_comes_before_the_judge(reviewer, radio, asker, judge):
    ingest(reviewer, radio, **TEXTS)

    found, _stored = diagnosed(reviewer, message_of(asker), Wanted(answers=("1200",)))
    named, _stored = diagnosed(reviewer, message_of(asker), Wanted(passage="paging"))

    assert (found.bearing.way, named.bearing.way, judge.requests) == ("answer", "document", [])


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (Reply(texts=("The first passage, I should think.",)), "invalid"),
        (Reply(texts=('{"passages": "all"}',)), "invalid"),
        (Reply(texts=('{"passages": [{"number": 7, "quotation": "A cell serves at most"}]}',)), "invalid"),
        (Reply(texts=('{"passages": [{"number": "1", "quotation": "A cell serves at most"}]}',)), "invalid"),
        (Reply(texts=('{"passages": [], "note": "none"}',)), "invalid"),
        (Reply(texts=("I cannot help with that.",)), "invalid"),
        (said([{"number": 1, "quotation": "A sector serves 5000 subscribers."}]), "quotation"),
        (said([{"number": 1, "quotation": "…"}]), "quotation"),
        (Reply(status=400), "unavailable"),
        (Reply(texts=('{"passages": [',), finish=False, cut_after=1), "unavailable"),
    ],
)
def test_what_cannot_be_used_leaves_it_to_the_words_and_the_diagnosis_says_so(
    reviewer, radio, asker, judge, reply, outcome
):
    near = ingest(reviewer, radio, **TEXTS, near=f"{QUESTION} Nobody has asked that before.")["near"]
    judge.respond, judge.default = None, reply

    found, stored = diagnosed(reviewer, message_of(asker))

    assert found.judge.told["outcome"] == outcome
    assert (found.bearing.expected.document, found.bearing.certainty, found.bearing.way) == (near, NEAR, "words")
    view = diagnosis_view(stored, scope=scope_of(reviewer), shows_answer=True)
    assert "the words of the question decided" in str(dict(view.facts)["Judge"])
    assert len(judge.requests) <= 2  # one short retry at most


def test_a_judge_that_does_not_answer_is_left_alone_for_a_while(reviewer, radio, asker, judge):
    ingest(reviewer, radio, **TEXTS)
    judge.respond, judge.default = None, Reply(status=400)
    diagnosed(reviewer, message_of(asker))
    asked = len(judge.requests)

    found, _stored = diagnosed(reviewer, message_of(asker))

    assert (len(judge.requests), found.judge.told["outcome"]) == (asked, "unavailable")


def test_where_the_judge_finds_nothing_there_is_a_gap_and_it_is_less_sure(reviewer, radio, asker, judge):
    ingest(reviewer, radio, **TEXTS, near=f"{QUESTION} Nobody has asked that before.")
    judge.respond = None
    judge.default = said([])

    found, stored = diagnosed(reviewer, message_of(asker))

    assert (found.bearing, stored.cause) == (None, "knowledge_gap")  # it has read the passage that the words would name
    assert stored.confidence <= NOT_JUDGED_THERE
    view = diagnosis_view(stored, scope=scope_of(reviewer), shows_answer=True)
    assert dict(view.facts)["Judge"] == f"It found the answer in none of {len(TEXTS) + 1} passages."


def test_a_verdict_is_kept_until_something_changes(reviewer, radio, asker, judge):
    ingest(reviewer, radio, **TEXTS)
    first, _stored = diagnosed(reviewer, message_of(asker))
    again, stored = diagnosed(reviewer, message_of(asker))
    assert (len(judge.requests), again.bearing.quotation) == (1, first.bearing.quotation)
    assert (stored.evidence["judge"]["kept"], "tokens" in stored.evidence["judge"]) == (True, False)

    ingest(reviewer, radio, another="Another page about terminals.")
    diagnosed(reviewer, message_of(asker))
    assert len(judge.requests) == 2


def test_many_passages_are_asked_about_some_at_a_time_until_one_states_the_answer(reviewer, radio, asker, judge):
    others = {f"sector-{n}": f"{QUESTION} Sector {n} has subscribers, and one sector more." for n in range(12)}
    ingest(reviewer, radio, **others, **TEXTS)

    found, _stored = diagnosed(reviewer, message_of(asker))

    assert found.bearing.way == "judge"
    assert 1 <= len(judge.requests) <= 3
    assert all(len(passages_of(request)) <= 8 for request in judge.requests)


def test_a_passage_that_the_asker_or_the_viewer_may_not_read_never_reaches_the_judge(reviewer, radio, asker, judge):
    secret = "A sector has 9999 simultaneous subscribers, which is the upper bound."
    ingest(reviewer, radio, clearance=3, secret=secret)
    ingest(reviewer, radio, **TEXTS)
    judge.respond = quoting("9999")

    found, stored = diagnosed(reviewer, message_of(asker))
    assert "9999" not in shown_to(judge)
    assert STATES in shown_to(judge)
    assert found.bearing is None or found.bearing.way == "words"
    assert "9999" not in json.dumps(stored.evidence)

    low = make_user("low", clearance=1, is_staff=True)
    boss = make_user("boss", clearance=4)
    diagnosed(low, message_of(boss))
    assert "9999" not in shown_to(judge)


def test_at_night_the_judge_has_the_rights_of_the_asker_and_owners_add_only_what_was_hidden(
    reviewer, radio, asker, judge
):
    secret = f"{QUESTION} The upper bound is 9999."
    ingest(reviewer, radio, clearance=3, secret=secret)
    ingest(reviewer, radio, **TEXTS, near=f"{QUESTION} Nobody has asked that before.")
    judge.respond = None
    judge.default = said([])
    message = message_of(asker)
    BadCase.objects.create(message=message)

    run = diagnosis_run_start(scope=scope_of(reviewer), actor=reviewer)
    work_off(run)

    assert (run.state, run.done) == ("done", 1)
    causes = Diagnosis.objects.order_by("pk").values_list("cause", "document__external_id")
    assert list(causes) == [("knowledge_gap", None), ("permission", "secret")]
    assert len(judge.requests) == 1
    assert "9999" not in shown_to(judge)


def test_a_quotation_is_shown_only_while_it_stands_in_the_passage(reviewer, radio, asker, judge):
    documents = ingest(reviewer, radio, **TEXTS)
    _found, stored = diagnosed(reviewer, message_of(asker))
    facts = lambda: dict(diagnosis_view(stored, scope=scope_of(reviewer), shows_answer=True).facts)  # noqa: E731
    assert facts()["Quotation of the judge"] == STATES

    chunk = documents["capacity"].live_version.chunks.get()
    chunk_replace(scope=scope_of(reviewer), actor=reviewer, chunk_id=chunk.pk, text="Capacity is secret.")

    assert "Quotation of the judge" not in facts()
