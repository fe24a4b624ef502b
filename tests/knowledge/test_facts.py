import json
import re

import pytest
from django.utils import timezone

from knowledge.models import FactReading, Triple, TripleVector
from knowledge.queue import READ_FACTS
from knowledge.selectors.facts import RETRY_PAUSE
from knowledge.selectors.triples import triples_askable
from knowledge.services import document_delete, facts, model_slots
from knowledge.services.facts import MOST_TRIES
from knowledge.services.triple_search import triples_retrieve_and_rewrite
from ragcore.graph.extraction import extract_facts
from ragcore.graph.model_extraction import MODEL_RULES
from ragcore.llm.openai_chat import OpenAIChatModel
from tests.factories import ingest, make_set, make_tenant, make_user, scope_of
from tests.knowledge.fills import triples_tend
from tests.knowledge.locks import apart
from tests.scripted_llm import Reply, serving
from tests.work.contract import KindContract
from work.upkeep import due_start

pytestmark = pytest.mark.django_db
TEXT = "The Control Unit is part of the base station. VSWR faults causes power loss."
READ = {"facts": {"reading": "model"}}


@pytest.fixture
def owner():
    return make_user()


def seen(user):
    return set(triples_askable(scope=scope_of(user)).values_list("subject", flat=True))


def test_documents_of_a_set_are_read_where_the_set_says_so(owner):
    into, other = make_set(owners=[owner], options=READ), make_set(owners=[owner])
    ingest(owner, into, read=TEXT)
    ingest(owner, other, unread="The Power Unit is part of the rack.")

    triples_tend()

    assert seen(owner) == {"Control Unit", "VSWR faults"}
    one = Triple.objects.get(subject="Control Unit")
    assert (one.document.external_id, one.sentence) == ("read", "The Control Unit is part of the base station.")
    found = triples_retrieve_and_rewrite(scope=scope_of(owner), question="What is the Control Unit part of?")
    assert found.answer.chain.answers == ("base station",)


def test_facts_have_the_confidence_of_their_rule_or_the_same_where_the_set_says_so(owner):
    into = make_set(owners=[owner], options={"facts": {"reading": "rules"}})
    ingest(owner, into, doc=f"{TEXT} RedCap is a reduced capability device class.")
    triples_tend()
    of_rules = dict(Triple.objects.values_list("rule", "confidence"))
    assert of_rules == {"cue": 0.75, "definition": 0.8}

    for wanted, confidences in (("equal", {0.7}), ("measured", {0.75, 0.8})):
        into.options = {"facts": {"reading": "rules", "confidence": wanted}}
        into.save()
        triples_tend()
        assert set(Triple.objects.values_list("confidence", flat=True)) == confidences
        made = FactReading.objects.get().made
        triples_tend()
        assert FactReading.objects.get().made == made  # it is read once


def test_reading_goes_on_where_it_was_and_reads_new_versions(owner):
    into = make_set(owners=[owner], options=READ)
    ingest(owner, into, doc=TEXT)
    triples_tend()
    [first] = FactReading.objects.values_list("made", flat=True)

    triples_tend()
    assert list(FactReading.objects.values_list("made", flat=True)) == [first]

    ingest(owner, into, doc="The Antenna Unit is part of the mast.")
    assert seen(owner) == set()  # facts of the old version are visible to nobody
    triples_tend()
    assert seen(owner) == {"Antenna Unit"}


def slow_reading(monkeypatch, meanwhile):
    """Once, while the text with the Control Unit is read."""
    done = []

    def read_slowly(text, **given):
        if "Control Unit" in text and not done:
            done.append(True)
            meanwhile()
        return extract_facts(text, **given)

    monkeypatch.setattr("knowledge.services.facts.extract_facts", read_slowly)
    return done


def test_a_document_that_is_replaced_while_it_is_read_is_read_again(owner, monkeypatch):
    into = make_set(owners=[owner], options=READ)
    ingest(owner, into, doc=TEXT, other="The Power Unit is part of the rack.")
    done = slow_reading(monkeypatch, lambda: ingest(owner, into, doc="The Antenna Unit is part of the mast."))

    triples_tend()

    assert done
    assert seen(owner) == {"Power Unit", "Antenna Unit"}


@pytest.mark.django_db(transaction=True)  # the row goes in a transaction of its own
def test_a_document_that_is_erased_while_it_is_read_leaves_nothing(owner, monkeypatch):
    into = make_set(owners=[owner], options=READ)
    document = ingest(owner, into, doc=TEXT, other="The Power Unit is part of the rack.")["doc"]
    done = slow_reading(monkeypatch, lambda: apart(document.delete))

    triples_tend()

    assert done
    assert seen(owner) == {"Power Unit"}
    assert not Triple.objects.filter(subject="Control Unit").exists()


def test_facts_go_with_the_option_and_with_the_document(owner):
    into = make_set(owners=[owner], options=READ)
    document = ingest(owner, into, doc=TEXT)["doc"]
    triples_tend()
    document_delete(scope=scope_of(owner), actor=owner, document_id=document.pk)
    assert seen(owner) == set()

    into.options = {}
    into.save()
    triples_tend()
    assert (Triple.objects.count(), FactReading.objects.count()) == (0, 0)


def test_facts_of_a_document_above_the_clearance_are_not_seen(owner):
    into = make_set(owners=[owner], options=READ)
    ingest(owner, into, clearance=3, doc=TEXT)
    triples_tend()

    assert seen(make_user(clearance=3)) == {"Control Unit", "VSWR faults"}
    assert seen(make_user(clearance=2)) == set()


# ── by a language model ─────────────────────────────────────────────────────────────────────────


@pytest.fixture
def model(monkeypatch):
    with serving() as server:
        client = OpenAIChatModel(server.url, "key", "scripted", sleep=at_once)
        monkeypatch.setattr(model_slots, "light_model", lambda: client)
        yield server


async def at_once(seconds):
    return None


def said(*facts):
    return Reply(texts=(json.dumps({"facts": list(facts)}),))


FACT = {
    "subject": "Relay Board",
    "relation": "is fed by",
    "object": "Rectifier",
    "quote": "The Rectifier feeds the Relay Board.",
}


def by_model():
    return list(Triple.objects.filter(rule="model").values_list("subject", "object"))


@pytest.mark.django_db(transaction=True)  # requests to the model run in threads
def test_a_model_reads_passages_once_and_what_it_invents_is_dropped(owner, model):
    into = make_set(owners=[owner], options=READ)
    ingest(owner, into, doc="The Rectifier feeds the Relay Board.")
    model.default = said(FACT, {**FACT, "object": "Moon", "quote": "The Moon feeds the Relay Board."})

    triples_tend()

    assert by_model() == [("Relay Board", "Rectifier")]
    assert len(model.requests) == 1
    triples_tend()
    assert len(model.requests) == 1
    found = triples_retrieve_and_rewrite(scope=scope_of(owner), question="What is the Relay Board fed by?")
    assert found.answer.chain.answers == ("Rectifier",)


@pytest.mark.django_db(transaction=True)
def test_reading_by_a_model_that_is_away_goes_on_later_and_asks_no_more_than_it_may(owner, model, monkeypatch):
    monkeypatch.setattr(facts, "MOST_ASKED", 2)
    into = make_set(owners=[owner], options=READ)
    texts = (f"# Part {n}\n\n" + f"The Rectifier {n} feeds the Relay Board {n} of the cabinet. " * 60 for n in range(5))
    document = ingest(owner, into, doc="\n\n".join(texts))["doc"]
    assert document.live_version.chunks.filter(kind="body").count() > 2
    model.default = Reply(status=503)

    for _ in range(MOST_TRIES + 1):
        triples_tend()
    assert FactReading.objects.values_list("ordinal", "tries").get() == (-1, 0)  # nothing counts against the document

    model.requests.clear()
    model.default = said()
    triples_tend()
    assert len(model.requests) == 2
    triples_tend()
    assert len(model.requests) == 2


def numbered(server, *silent_about):
    """The model quotes the Rectifier of each passage, but does not answer for these."""

    def respond(asked):
        passage = asked.body["messages"][0]["content"]
        if any(f"Rectifier {n} " in passage for n in silent_about):
            return Reply(status=503)
        found = re.search(r"The Rectifier (\d+) feeds the Relay Board \d+", passage)
        if found is None:
            return said()
        n = found[1]
        return said({**FACT, "subject": f"Relay Board {n}", "object": f"Rectifier {n}", "quote": found[0]})

    server.respond = respond


def parts(*numbers):
    return "\n\n".join(f"# Part {n}\n\n" + f"The Rectifier {n} feeds the Relay Board {n} here. " * 60 for n in numbers)


def tend_after_the_pause():
    FactReading.objects.exclude(tried=None).update(tried=timezone.now() - 2 * RETRY_PAUSE)
    triples_tend()


@pytest.mark.django_db(transaction=True)
def test_a_passage_for_which_the_model_did_not_answer_is_asked_about_again(owner, model):
    into = make_set(owners=[owner], options=READ)
    ingest(owner, into, doc=parts(1, 2, 3))
    numbered(model, 2)

    triples_tend()
    assert ("Relay Board 1", "Rectifier 1") in by_model()
    assert ("Relay Board 2", "Rectifier 2") not in by_model()
    assert FactReading.objects.get().model == ""
    before = len(model.requests)
    triples_tend()
    assert len(model.requests) == before  # not without a pause

    numbered(model)
    tend_after_the_pause()

    assert set(by_model()) == {(f"Relay Board {n}", f"Rectifier {n}") for n in (1, 2, 3)}
    assert FactReading.objects.values_list("model", "tries").get() == (MODEL_RULES, 0)


@pytest.mark.django_db(transaction=True)
def test_a_document_for_which_the_model_never_answers_keeps_no_other_from_it_and_is_left_out_in_the_end(
    owner, model, caplog
):
    into = make_set(owners=[owner], options=READ)
    neighbour = make_user(tenant=make_tenant())
    bad = ingest(owner, into, bad="The Rectifier 9 feeds the Relay Board 9.")["bad"]
    ingest(neighbour, make_set(owners=[neighbour], options=READ), good="The Rectifier 1 feeds the Relay Board 1.")
    numbered(model, 9)

    triples_tend()

    assert by_model() == [("Relay Board 1", "Rectifier 1")]
    reading = FactReading.objects.get(version=bad.live_version_id)
    assert (reading.model, reading.tries, reading.ordinal) == ("", 1, -1)
    for _ in range(MOST_TRIES - 1):
        tend_after_the_pause()
    reading.refresh_from_db()
    assert (reading.model, reading.tries) == (MODEL_RULES, 0)
    assert f"passage 0 of version {bad.live_version_id}" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_set_may_be_read_by_rules_alone(owner, model):
    into = make_set(owners=[owner], options={"facts": {"reading": "rules"}})
    ingest(owner, into, doc=TEXT)

    triples_tend()

    assert seen(owner) == {"Control Unit", "VSWR faults"}
    assert model.requests == []


class TestReadFacts(KindContract):
    @pytest.fixture(autouse=True)
    def _documents(self, owner):
        self.owner, into = owner, make_set(owners=[owner], options=READ)
        ingest(owner, into, doc=TEXT, other="The Power Unit is part of the rack.")

    def start(self):
        return due_start(kind=READ_FACTS)[0]

    def outcome(self, job):
        return seen(self.owner), FactReading.objects.count(), TripleVector.objects.count()

    def whole(self):
        return {"Control Unit", "VSWR faults", "Power Unit"}, 2, 3
