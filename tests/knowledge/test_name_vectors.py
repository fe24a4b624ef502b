"""Vectors of names: made in the background, and what a question means with other words than a name has."""

import pytest
from django.db import connection

from knowledge import model_registry
from knowledge.indexes.name_vectors import SCAN_SETTINGS
from knowledge.models import Entity, EntityVector, KnowledgeSet, TripleName, TripleNameVector
from knowledge.queue import FILL_NAMES
from knowledge.selectors.entities import graph_of_search
from knowledge.selectors.visibility import visible_to
from knowledge.services.answer_facts import facts_for_answer
from knowledge.services.entities import entity_reject
from knowledge.services.triple_search import triple_index, triples_retrieve_and_rewrite
from tests.factories import ingest, make_set, make_user, scope_of
from tests.knowledge.fills import entities_tend, names_tend
from tests.knowledge.test_triples import load
from tests.work.contract import KindContract
from work.models import Job
from work.upkeep import due_start

pytestmark = pytest.mark.django_db

FACTS = (
    ("employee handbook", "author", "Ada Vane"),
    ("heart attack", "cause", "blocked artery"),
    ("lead acid battery", "manufacturer", "Orion Works"),
)
HANDBOOK = "Who is the author of the handbook for employees?"
TEXTS = {
    "one": "# Power Amplifier\nThe Power Amplifier has four parts. Its mills grind oats.",
    "two": "# Rivers\nMany rivers turn a Power Amplifier. Unit 74-B measures them, and HTTP carries it.",
    "three": "# Lamp\nA lamp of Barnaby Crewe burns oil.",
}


@pytest.fixture
def owner():
    return make_user()


@pytest.fixture
def into(owner):
    return make_set(owners=[owner], visibility=KnowledgeSet.Visibility.MEMBERS)


def graph_of(user):
    scope = scope_of(user)
    model = model_registry.embedder().model
    return graph_of_search(scope=scope, visible=visible_to(scope=scope), sets=(), lexicon=None, model=model)


def near(user, text):
    vector = model_registry.embedder().embed_queries([text])[0]
    return [(node.key, cosine) for node, cosine in graph_of(user).near(vector, least=0.25, limit=3)]


# ── facts ──


def test_a_fact_answers_where_the_question_has_other_words_for_its_name(owner, into):
    load(owner, into, FACTS)
    assert facts_for_answer(scope=scope_of(owner), question=HANDBOOK) is None

    names_tend()

    found = facts_for_answer(scope=scope_of(owner), question=HANDBOOK)
    [fact] = found.facts
    assert (fact.text, fact.states) == ("The author of employee handbook is Ada Vane.", True)
    assert 0.9 <= fact.confidence < 1
    asked = triples_retrieve_and_rewrite(scope=scope_of(owner), question=HANDBOOK)
    assert [(entity.key, entity.how) for entity in asked.entities] == [("employee handbook", "meaning")]
    assert [path.answer for path in asked.paths][:1] == ["Ada Vane"]


@pytest.mark.parametrize(
    "question",
    [
        "Who is the author of the travel handbook?",  # beside it, and not the same
        "What causes a stroke?",
        "Who is the manufacturer of the lithium battery?",
        "What is the price of the handbook for employees?",  # nothing of that is known
        "Who leads?",
    ],
)
def test_what_is_only_like_a_name_does_not_answer(owner, into, question):
    load(owner, into, FACTS)
    names_tend()

    assert facts_for_answer(scope=scope_of(owner), question=question) is None


def test_names_of_facts_that_the_asker_may_not_see_are_meant_by_nothing(owner, into):
    load(owner, into, FACTS)
    names_tend()
    stranger = make_user(tenant=owner.tenant)

    assert facts_for_answer(scope=scope_of(stranger), question=HANDBOOK) is None
    vectors = model_registry.embedder().embed_documents(["handbook for employees"])
    assert triple_index(scope=scope_of(stranger)).near(vectors, limit=2) == [{}]
    [keys] = triple_index(scope=scope_of(owner)).near(vectors, limit=1)
    assert list(keys) == ["employee handbook"]


# ── entities ──


def test_an_entity_is_found_by_what_the_question_means(owner, into):
    ingest(owner, into, **TEXTS)
    entities_tend()
    assert near(owner, "that amplifier of power") == []

    names_tend()

    key, cosine = near(owner, "that amplifier of power")[0]
    assert (key, cosine > 0.25) == ("power amplifier", True)
    keys = set(Entity.objects.filter(pk__in=EntityVector.objects.values("entity_id")).values_list("key", flat=True))
    assert {"power amplifier", "one", "two", "three"} <= keys  # titles are what passages are about
    assert not keys & {"74-b", "http", "barnaby crewe"}  # nothing but letters, and what is mentioned once in passing


def test_an_entity_that_one_may_not_know_of_or_that_was_rejected_is_not_near(owner, into):
    ingest(owner, into, **TEXTS)
    entities_tend()
    names_tend()

    assert near(make_user(tenant=owner.tenant), "amplifier of power") == []
    entity_reject(scope=scope_of(owner), actor=owner, set_id=into.pk, name="Power Amplifier")
    assert "power amplifier" not in dict(near(owner, "amplifier of power"))


# ── the work ──


def test_vectors_go_with_their_names_and_those_of_another_model_are_made_anew(owner, into):
    load(owner, into, FACTS)
    ingest(owner, into, **TEXTS)
    entities_tend()
    names_tend()
    facts, entities = TripleNameVector.objects.count(), EntityVector.objects.count()
    assert (facts, entities > 2) == (6, True)

    TripleNameVector.objects.update(embedding_model="former")
    Job.objects.filter(kind=FILL_NAMES).update(checkpoint={})
    names_tend()
    assert set(TripleNameVector.objects.values_list("embedding_model", flat=True)) == {model_registry.embedder().model}

    TripleName.objects.all().delete()
    Entity.objects.all().delete()
    connection.check_constraints()
    assert (TripleNameVector.objects.count(), EntityVector.objects.count()) == (0, 0)


def test_a_job_begins_with_the_names_that_are_new(owner, into):
    load(owner, into, FACTS)
    names_tend()
    load(owner, into, [("Orion Works", "location", "Namur")])

    names_tend()

    assert TripleNameVector.objects.count() == TripleName.objects.count() == 7


def test_the_names_near_a_vector_are_read_by_the_index(owner, into):
    load(owner, into, FACTS)
    names_tend()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(SCAN_SETTINGS)
        cursor.execute(
            "EXPLAIN SELECT name_id FROM knowledge_triplenamevector v ORDER BY v.vector <=> %s::halfvec LIMIT 2",
            ["[" + ",".join(["0.05"] * 384) + "]"],
        )
        assert "knowledge_triplename_vector" in str(cursor.fetchall())


class TestEmbedNames(KindContract):
    @pytest.fixture(autouse=True)
    def _names(self, owner, into):
        load(owner, into, FACTS)
        ingest(owner, into, **TEXTS)
        entities_tend()

    def start(self):
        return due_start(kind=FILL_NAMES)[0]

    def outcome(self, job):
        return TripleNameVector.objects.count(), EntityVector.objects.count() > 2

    def whole(self):
        return 6, True
