import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.errors import NotAllowedError, NotFoundError
from accounts.models import Tenant
from knowledge.errors import GraphNotBuiltError
from knowledge.indexes.entity_graph import MOST_INSIDE
from knowledge.jobs import read_entities
from knowledge.lexicon_errors import EntityDecisionError
from knowledge.models import Document, Entity, EntityReading, Mention
from knowledge.queue import READ_ENTITIES
from knowledge.selectors.entities import (
    entities_listed,
    entity_aliases,
    entity_counts,
    entity_named,
    entity_neighbours,
    graph_of_search,
    graph_statistics,
)
from knowledge.selectors.visibility import visible_to
from knowledge.services import document_delete, retrieve
from knowledge.services.entities import (
    entities_attributes_changed,
    entities_merge,
    entity_decision_undo,
    entity_reject,
    entity_split,
)
from knowledge.services.entities.reading import passages_read
from knowledge.types import RetrievalRequest
from tests.factories import ingest, make_set, make_tenant, make_user, scope_of
from tests.knowledge.fills import entities_tend
from tests.knowledge.locks import apart
from tests.work.contract import KindContract
from work.upkeep import due_start

pytestmark = pytest.mark.django_db

FILM = "Rain of Kolm is a film of 1961. It was directed by Bojan Hladek."
PERSON = "Bojan Hladek was a film maker. Hladek died in Ljuba after a long illness."
TOWN = "Ljuba lies on the river Sava. Many mills stand beside it."
OTHERS = {f"other{n}": f"Report {n}: the mill of Ostrava number {n} grinds flour and oats all year." for n in range(12)}
QUESTION = "Where did the director of the film Rain of Kolm die?"


@pytest.fixture
def owner():
    return make_user()


def names(user, **narrow):
    return set(entities_listed(scope=scope_of(user), **narrow).values_list("key", flat=True))


def found(user, mode="graph", question=QUESTION, **options):
    request = RetrievalRequest(query=question, mode=mode, top_k=5, options=options)
    state = retrieve(scope=scope_of(user), request=request).state
    return [c.passage.external_id for c in state.candidates], state


def library(owner, into=None, **clearance):
    into = into or make_set(owners=[owner])
    texts = {"film": FILM, "person": PERSON, "town": TOWN, **OTHERS}
    for level in {0, *clearance.values()}:
        ingest(owner, into, clearance=level, **{n: t for n, t in texts.items() if clearance.get(n, 0) == level})
    entities_tend()
    return into


def test_documents_are_read_for_entities_and_again_in_a_new_version(owner):
    into = make_set(owners=[owner])
    ingest(owner, into, film=FILM)
    entities_tend()

    assert {"bojan hladek", "film"} <= names(owner)
    [first] = EntityReading.objects.values_list("made", flat=True)
    entities_tend()
    assert list(EntityReading.objects.values_list("made", flat=True)) == [first]

    ingest(owner, into, film="The mast of Brod stands on a hill.")
    assert "bojan hladek" not in names(owner)  # of the old version, visible to nobody
    entities_tend()
    assert "brod" in names(owner)
    assert not Entity.objects.filter(key="bojan hladek").exists()


def test_a_question_that_names_who_published_it_is_led_there(owner):
    into = make_set(owners=[owner])
    ingest(owner, into, mill="Prices rise by a tenth next year.", **OTHERS)
    Document.objects.filter(external_id="mill").update(metadata={"source": "The Harbour Post"})
    Document.objects.filter(external_id="other1").update(metadata={"source": "The Harbour Post"})
    entities_tend()
    question = "What does The Harbour Post say of prices?"

    passages, state = found(owner, question=question)
    assert "The Harbour Post" in state.graph["query_entities"]
    assert "mill" in passages
    _, state = found(owner, question="Which prices rise by a tenth?")
    assert "The Harbour Post" not in [one["name"] for one in state.graph["connected_entities"]]

    document = Document.objects.get(external_id="mill")
    document.metadata = {"source": "Kolm Gazette"}
    document.save()
    entities_attributes_changed(document, former={"source": "The Harbour Post"})
    entities_tend()
    assert "kolm gazette" in names(owner)


def slow_reading(monkeypatch, meanwhile):
    """Once, while the first documents are read."""
    done = []

    def read_slowly(of, chunks, terms):
        if of.external_id == "film" and not done:
            done.append(True)
            meanwhile()
        return passages_read(of, chunks, terms)

    monkeypatch.setattr("knowledge.services.entities.reading.passages_read", read_slowly)
    return done


def test_a_document_that_is_replaced_while_it_is_read_is_read_again(owner, monkeypatch):
    into = make_set(owners=[owner])
    ingest(owner, into, film=FILM, town=TOWN)
    done = slow_reading(monkeypatch, lambda: ingest(owner, into, film="The mast of Brod stands on a hill."))

    entities_tend()

    assert done
    assert {"ljuba", "brod"} <= names(owner)
    entities_tend()
    assert not Entity.objects.filter(key="bojan hladek").exists()


@pytest.mark.django_db(transaction=True)  # the row goes in a transaction of its own
def test_a_document_that_is_erased_while_it_is_read_leaves_nothing(owner, monkeypatch):
    document = ingest(owner, into := make_set(owners=[owner]), film=FILM)["film"]
    ingest(owner, into, town=TOWN)
    done = slow_reading(monkeypatch, lambda: apart(document.delete))

    entities_tend()

    assert done
    assert "ljuba" in names(owner)
    assert not Entity.objects.filter(key="bojan hladek").exists()


def test_names_like_sql_are_entities_and_linked(owner):
    into = make_set(owners=[owner])
    ingest(
        owner, into, query="The SELECT Statement reads rows. Ana Breg wrote the SELECT Statement.", drop="DROP TABLE"
    )
    entities_tend()

    assert "select statement" in names(owner)
    question = "Who wrote the SELECT Statement'; DROP TABLE knowledge_entity; --?"
    passages, state = found(owner, question=question)
    assert passages[0] == "query"
    assert "SELECT Statement" in state.graph["query_entities"]
    for name in ("SELECT", "%", "'; --", "\\", "a & !b"):
        found(owner, question=name)


def test_mentions_stand_where_they_say(owner):
    library(owner)
    for mention in Mention.objects.select_related("chunk", "entity").exclude(start=-1):
        text = mention.chunk.text[mention.start : mention.end]
        assert text.split()[-1] in mention.entity.name
        assert mention.sentence_start <= mention.start < mention.end <= mention.sentence_end


def test_a_set_may_leave_it_out_and_a_document_takes_its_entities_with_it(owner):
    into = make_set(owners=[owner])
    document = ingest(owner, into, film=FILM)["film"]
    ingest(owner, make_set(owners=[owner], options={"facts": {"entities": False}}), person=PERSON)
    entities_tend()
    assert "bojan hladek" in names(owner)
    assert "ljuba" not in names(owner)

    document_delete(scope=scope_of(owner), actor=owner, document_id=document.pk)
    assert names(owner) == set()
    entities_tend()
    assert (Mention.objects.count(), Entity.objects.count()) == (0, 0)


def test_the_graph_leads_to_a_passage_that_the_question_has_no_word_of(owner):
    library(owner)

    ids, state = found(owner)
    assert {"film", "person"} <= set(ids[:2])
    assert "bojan hladek" in {one["name"].lower() for one in state.graph["connected_entities"]}
    assert any("directed by" in one["sentence"] for one in state.graph["relation_chains"])
    assert any(path[-1] == "Bojan Hladek" for path in state.graph["paths_to_query_entities"])
    hybrid, after = found(owner, mode="hybrid")
    assert "person" in hybrid
    assert "fuse.graph" in {record.stage for record in after.records}
    assert all(record.error is None for record in after.records)


def test_a_question_about_one_fact_keeps_the_ranking_and_no_stage_fails(owner):
    library(owner)

    _, without = found(owner, mode="hybrid", question="Who directed the film?", graph="off")
    _, state = found(owner, mode="hybrid", question="Who directed the film?")

    assert [record.error for record in state.records if record.error] == []
    assert [c.chunk for c in state.candidates] == [c.chunk for c in without.candidates]
    assert all("fuse.graph" not in c.scores for c in state.candidates)


def test_a_name_that_is_nearly_right_is_linked(owner):
    library(owner)
    _, state = found(owner, question="Where did Bojann Hladeck die?")
    assert state.graph["query_entities"] == ["Bojan Hladek"]


def test_without_entities_there_is_no_graph(owner):
    ingest(owner, make_set(owners=[owner]), film=FILM)
    with pytest.raises(GraphNotBuiltError):
        found(owner)


def test_a_search_asks_for_the_graph_once_documents_have_been_read_and_not_before(owner):
    ingest(owner, make_set(owners=[owner]), film=FILM, person=PERSON, town=TOWN, **OTHERS)
    with pytest.raises(GraphNotBuiltError):
        found(owner)  # and remembers that there is none
    with CaptureQueriesContext(connection) as asked:
        found(owner, mode="hybrid")
    assert not [query for query in asked if "knowledge_mention" in query["sql"]]

    entities_tend()

    assert {"film", "person"} <= set(found(owner)[0][:2])
    with CaptureQueriesContext(connection) as asked:
        found(owner, mode="hybrid")
    assert [query for query in asked if "knowledge_mention" in query["sql"]]


def test_a_path_through_a_passage_that_one_may_not_read_does_not_exist(owner):
    library(owner, film=3)
    insider, outsider = make_user(clearance=3), make_user(clearance=2)

    assert "person" in found(insider)[0][:2]
    ids, state = found(outsider)
    assert "film" not in ids
    assert state.graph["query_entities"] == []
    assert "rain of kolm" not in names(outsider)
    assert graph_statistics(scope=scope_of(outsider)).mentions < graph_statistics(scope=scope_of(insider)).mentions
    with pytest.raises(NotFoundError):
        entity_named(scope=scope_of(outsider), name="Rain of Kolm")
    person = entity_named(scope=scope_of(outsider), name="Bojan Hladek")
    counts = [entity_counts(scope=scope_of(user), entities=[person.pk])[person.pk] for user in (outsider, insider)]
    assert [one.documents for one in counts] == [1, 2]
    assert "kolm" not in {near.key for near, _ in entity_neighbours(scope=scope_of(outsider), entity_id=person.pk)}


def test_the_same_name_in_two_tenants_is_two_entities(owner):
    other = make_user(tenant=Tenant.objects.create(name="Elsewhere"))
    ingest(owner, make_set(owners=[owner]), film=FILM)
    ingest(other, make_set(owners=[other], tenant=other.tenant), film=FILM)
    entities_tend()

    assert Entity.objects.filter(key="bojan hladek").count() == 2
    here = entity_named(scope=scope_of(owner), name="Bojan Hladek")
    assert here.tenant_id == owner.tenant_id


def test_abbreviations_are_other_names_with_the_rights_of_their_passage(owner):
    into = make_set(owners=[owner])
    ingest(owner, into, clearance=2, long="The Mobile Session Controller (MSC) keeps sessions.")
    ingest(owner, into, short="MSC faults need a restart of the board.")
    ingest(owner, into, small="The carrier aggregation (CA) joins bands. With carrier aggregation it is fast.")
    entities_tend()

    insider, outsider = make_user(clearance=2), make_user(clearance=0)
    msc = entity_named(scope=scope_of(outsider), name="MSC")
    assert [one.other.key for one in entity_aliases(scope=scope_of(insider), entity_id=msc.pk)] == [
        "mobile session controller"
    ]
    assert not entity_aliases(scope=scope_of(outsider), entity_id=msc.pk).exists()
    assert Mention.objects.filter(entity__key="carrier aggregation").count() == 2
    question = "Which faults of the Mobile Session Controller need a restart?"
    assert "short" in found(insider, question=question)[0]


def test_decisions_hold_for_documents_that_are_read_later_and_can_be_undone(owner):
    into = library(owner)
    scope = scope_of(owner)
    ingest(owner, into, again="The Kolm Picture was restored by Ana Breg.")
    entities_tend()
    question = "Who restored the film Rain of Kolm?"

    merged = entities_merge(scope=scope, actor=owner, set_id=into.pk, name="Kolm Picture", into="Rain of Kolm")
    _, state = found(owner, question=question)
    assert "Kolm Picture" in state.graph["query_entities"]
    ingest(owner, into, again="The Kolm Picture was restored by Ana Breg in 1999.")
    entities_tend()
    assert "Kolm Picture" in found(owner, question=question)[1].graph["query_entities"]
    entity_decision_undo(scope=scope, actor=owner, decision_id=merged.pk)
    assert "Kolm Picture" not in found(owner, question=question)[1].graph["query_entities"]

    rejected = entity_reject(scope=scope, actor=owner, set_id=into.pk, name="Rain of Kolm")
    assert "Rain of Kolm" not in found(owner, question=question)[1].graph["query_entities"]
    entity_decision_undo(scope=scope, actor=owner, decision_id=rejected.pk)
    assert "Rain of Kolm" in found(owner, question=question)[1].graph["query_entities"]


def test_a_split_outweighs_what_a_passage_says(owner):
    into = make_set(owners=[owner])
    ingest(owner, into, one="The Mobile Session Controller (MSC) keeps sessions.")
    entities_tend()
    question = "What does the Mobile Session Controller keep?"

    assert "MSC" in found(owner, question=question)[1].graph["query_entities"]
    entity_split(scope=scope_of(owner), actor=owner, set_id=into.pk, name="MSC", other="Mobile Session Controller")
    assert "MSC" not in found(owner, question=question)[1].graph["query_entities"]


def test_only_owners_decide_and_only_about_what_they_may_know(owner):
    into = library(owner)
    stranger = make_user()
    with pytest.raises(NotAllowedError):
        entity_reject(scope=scope_of(stranger), actor=stranger, set_id=into.pk, name="Kolm")
    with pytest.raises(NotFoundError):
        entity_reject(scope=scope_of(owner), actor=owner, set_id=into.pk, name="no such name")
    with pytest.raises(EntityDecisionError):
        entities_merge(scope=scope_of(owner), actor=owner, set_id=into.pk, name="Ljuba", into="LJUBA")


@pytest.mark.full
def test_an_entity_of_ten_thousand_mentions_costs_no_more_than_its_limit(owner):
    library(owner)
    one = Mention.objects.select_related("entity").filter(entity__key="ljuba", start__gte=0).first()
    Mention.objects.bulk_create(
        Mention(
            tenant_id=one.tenant_id, entity=one.entity, document_id=one.document_id, version_id=one.version_id,
            chunk_id=one.chunk_id, kind=one.kind, start=number, end=number + 1, sentence_start=number,
            sentence_end=number + 1,
        )
        for number in range(10_000)
    )  # fmt: skip
    scope = scope_of(owner)
    graph = graph_of_search(scope=scope, visible=visible_to(scope=scope), sets=(), lexicon=None)

    assert len(graph.places([one.entity_id], heads=20, each=40)) <= 60
    assert graph.degrees([one.entity_id], most=100) == {one.entity_id: 100}
    assert len(graph.inside([one.chunk_id])[0]) <= MOST_INSIDE
    assert "person" in found(owner)[0]


class TestReadEntities(KindContract):
    @pytest.fixture(autouse=True)
    def _documents(self, owner, monkeypatch):
        self.owner = owner
        monkeypatch.setattr(read_entities, "BATCH", 1)
        ingest(owner, make_set(owners=[owner]), film=FILM, person=PERSON, town=TOWN)

    def start(self):
        return due_start(kind=READ_ENTITIES)[0]

    def outcome(self, job):
        return EntityReading.objects.count(), {"bojan hladek", "ljuba"} & names(self.owner)

    def whole(self):
        return 3, {"bojan hladek", "ljuba"}


def test_each_tenant_has_its_turn(owner, monkeypatch):
    monkeypatch.setattr(read_entities, "BATCH", 1)
    monkeypatch.setattr(read_entities, "TURN_SECONDS", 0.0)
    other = make_user("other", tenant=make_tenant())
    for person in (owner, other):
        ingest(person, make_set(f"of {person.username}", owners=[person], tenant=person.tenant), film=FILM, town=TOWN)
    order = []
    read = read_entities.documents_read
    monkeypatch.setattr(
        read_entities, "documents_read", lambda rows, *rest: order.append(rows[0].tenant_id) or read(rows, *rest)
    )

    entities_tend()

    first, second = sorted((owner.tenant_id, other.tenant_id))
    assert order == [first, second, first, second]
