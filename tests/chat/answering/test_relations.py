"""Answers where documents are related: what holds now is cited, an older edition where it is asked for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from accounts.services import api_key_create
from knowledge.selectors.relations import successors
from knowledge.services import document_delete, retrieve
from knowledge.services.relations.by_hand import relation_add
from knowledge.types import Filters, RetrievalRequest
from tests.chat.conftest import Api
from tests.chat.mcp.conftest import called
from tests.factories import ingest, make_set, make_user, scope_of

TEXTS = {
    "allowance-2024": "Travel allowance 2024. The daily allowance for domestic trips is 40 euros per day.",
    "allowance-2026": "Travel allowance 2026. The daily allowance for domestic trips is 55 euros per day.",
    "supplement": "Supplement to the travel allowance. For trips to islands the daily allowance rises by 12 euros.",
    "F77-design": "Design of the handover guard. The handover guard waits 20 ms before it rejects a second request.",
    "F77-tests": "Test cases. One sends two requests within 20 ms and expects that the handover guard rejects one.",
    "F88-tests": "Test cases. Case nine measures the battery under load and expects seven hours.",
}
QUESTION = "How much is the daily allowance for domestic trips?"
pytestmark = pytest.mark.django_db(transaction=True)


def corpus_make():
    owner, reader = make_user(), make_user(clearance=1)
    common = make_set("travel", owners=[owner])
    documents = ingest(owner, common, **TEXTS)
    documents |= ingest(owner, common, clearance=3, secret="Allowance 2030: the daily allowance is 99 euros per day.")
    pairs = [
        ("allowance-2026", "replaces", "allowance-2024"),
        ("supplement", "extends", "allowance-2026"),
        ("F77-design", "tested_by", "F77-tests"),
        ("secret", "replaces", "supplement"),
    ]
    for one, kind, other in pairs:
        relation_add(
            scope=scope_of(owner), actor=owner, document_id=documents[one].pk, kind=kind, other_id=documents[other].pk
        )
    _row, key = api_key_create(user=reader, name="tests")
    return SimpleNamespace(owner=owner, reader=reader, common=common, documents=documents, key=key)


@pytest.fixture
def corpus(shared_rows, redis_client):
    return shared_rows(corpus_make)


@pytest.fixture
def asked(corpus):
    async def ask(question, **fields):
        body = {"query": question, "cache": False, **fields}
        answer = await Api(corpus.key).post("/api/v1/rag/generate", body)
        assert answer.status_code == 200, answer.content
        return answer.json()

    return ask


def plain(answer):
    """The text without what makes a figure bold."""
    return answer["answer"].replace("*", "")


def found(user, query, **filters):
    result = retrieve(scope=scope_of(user), request=RetrievalRequest(query=query, filters=Filters(**filters)))
    return {candidate.passage.external_id for candidate in result.state.candidates}


async def test_only_the_edition_that_holds_is_cited(asked):
    answer = await asked(QUESTION)

    assert "55 euros" in plain(answer)
    assert "40 euros" not in plain(answer)
    assert "allowance-2024" not in {citation["external_id"] for citation in answer["citations"]}
    assert all(citation["replaced_by"] is None for citation in answer["citations"])


@pytest.mark.parametrize("question", ["How much was the daily allowance for domestic trips in 2024?", QUESTION])
async def test_an_older_edition_is_cited_where_it_is_asked_for_and_marked(asked, corpus, question):
    older = corpus.documents["allowance-2024"]
    filters = {"documents": [older.pk]} if question == QUESTION else {}

    answer = await asked(question, filters=filters)

    assert "40 euros" in plain(answer)
    marked = [one["replaced_by"] for one in answer["citations"] if one["document_id"] == older.pk]
    newer = corpus.documents["allowance-2026"]
    assert marked
    assert marked == [{"document_id": newer.pk, "title": newer.title, "external_id": newer.external_id}] * len(marked)
    assert f"replaced by {newer.title}" in answer["formatted_citations"]


def test_a_supplement_leaves_the_base_where_it_is(corpus):
    assert {"allowance-2026", "supplement"} <= found(corpus.reader, QUESTION)


def test_a_successor_that_the_asker_may_not_open_changes_nothing_for_them(corpus):
    supplement = corpus.documents["supplement"]

    assert "supplement" in found(corpus.reader, "daily allowance on islands")
    assert "supplement" not in found(corpus.owner, "daily allowance on islands")
    assert successors(scope=scope_of(corpus.reader), document_ids=[supplement.pk]) == {}
    assert successors(scope=scope_of(corpus.owner), document_ids=[supplement.pk])[supplement.pk].title == "secret"


def test_the_older_edition_holds_again_once_its_successor_is_deleted(corpus):
    document_delete(scope=scope_of(corpus.owner), actor=corpus.owner, document_id=corpus.documents["allowance-2026"].pk)

    assert "allowance-2024" in found(corpus.reader, QUESTION)


def test_an_edition_between_that_is_gone_does_not_bring_the_oldest_back(corpus):
    newest = ingest(corpus.owner, corpus.common, newest="Travel allowance 2027. The daily allowance is 60 euros.")
    act = {"scope": scope_of(corpus.owner), "actor": corpus.owner}
    middle = corpus.documents["allowance-2026"]
    relation_add(**act, document_id=newest["newest"].pk, kind="replaces", other_id=middle.pk)

    document_delete(**act, document_id=middle.pk)

    assert "allowance-2024" not in found(corpus.reader, QUESTION)


def test_a_search_beside_a_document(corpus):
    design = corpus.documents["F77-design"].pk

    assert found(corpus.reader, "expects", related_to=design, relations=("tested_by",)) == {"F77-tests"}
    assert found(corpus.reader, "expects", related_to=design, relations=("replaced_by",)) == set()
    assert found(corpus.reader, "expects", related_to=corpus.documents["secret"].pk) == set()


@pytest.mark.parametrize("question", ["What do the test cases of F77 expect?", "test cases for F77"])
async def test_the_tests_of_a_named_document_are_asked_for_in_words(asked, question):
    answer = await asked(question)

    assert {citation["external_id"] for citation in answer["citations"]} <= {"F77-tests"}
    assert "F88" not in answer["answer"]
    assert "battery" not in answer["answer"]


@pytest.mark.parametrize("question", ["What are the test cases of this design?", "这个设计的测试用例有哪些？"])
async def test_the_tests_of_the_document_that_the_answer_before_cited(asked, question):
    first = await asked("How long does the handover guard wait?", conversation_id="talk", filters={})
    assert {citation["external_id"] for citation in first["citations"]} == {"F77-design"}

    second = await asked(question, conversation_id="talk")

    assert {citation["external_id"] for citation in second["citations"]} == {"F77-tests"}


@pytest.mark.parametrize("body", [{"relations": ["married_to"]}, {"related_to": 0}, {"related_to": "x"}])
async def test_bad_relations_are_refused(corpus, body):
    answer = await Api(corpus.key).post("/api/v1/rag/retrieve", {"query": "x", "filters": body})

    assert answer.status_code == 422


async def test_a_page_of_results_says_what_replaces_a_hit(corpus):
    body = {"query": QUESTION, "filters": {"documents": [corpus.documents["allowance-2024"].pk]}}

    answer = await Api(corpus.key).post("/api/v1/rag/retrieve", body)

    assert [hit["replaced_by"]["title"] for hit in answer.json()["hits"]] == ["allowance-2026"]


async def test_agents_are_told_what_replaces_a_hit(corpus):
    older, newer = corpus.documents["allowance-2024"], corpus.documents["allowance-2026"]

    answer = await called(corpus.key, "search", query="How much was the daily allowance for domestic trips in 2024?")

    marked = [hit["replaced_by"] for hit in answer.structured_content["hits"] if hit["document_id"] == older.pk]
    assert marked == [{"document_id": newer.pk, "title": newer.title, "external_id": newer.external_id}] * len(marked)
    assert marked
    assert f"replaced by {newer.title}, document_id {newer.pk}" in answer.content[0].text
