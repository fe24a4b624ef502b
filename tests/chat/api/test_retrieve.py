"""`/rag/retrieve`: the trace, its cost, profiles and odd questions."""

import json

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from accounts.services import api_key_create
from chat.answering import retrieval
from chat.concurrency.executors import run_db
from chat.models import Conversation, Message
from chat.serializers import serialize_hits
from chat.turns.lifecycle import answer_now
from chat.types import AnswerRequest
from knowledge.models import Document
from knowledge.services import document_delete, retrieve
from knowledge.types import RetrievalRequest
from tests.chat.conftest import Api
from tests.factories import ingest, make_set, make_user, scope_of

QUESTION = "How many steps does the random access procedure have?"


async def asked(api, query=QUESTION, **body):
    response = await api.post("/api/v1/rag/retrieve", {"query": query, **body})
    assert response.status_code == 200, response.content
    return response.json()


# ── the trace ───────────────────────────────────────────────────────────────────────────────────


async def test_the_trace_tells_every_score_and_rank_of_a_candidate(api):
    trace = (await asked(api, trace=True))["trace"]

    first = trace["candidates"][0]
    assert {"lexical", "coarse", "dense", "fuse.rsf", "rerank"} <= first["scores"].keys()
    assert first["scores"].keys() == first["ranks"].keys()
    assert first["score"] == first["scores"]["rerank"]
    assert (first["via"], first["boost"]) == ({}, None)
    fused = next(stage for stage in trace["stages"] if stage["stage"] == "fuse.rsf")
    assert {"alpha", "formula", "trust", "shift", "style", "by"} <= fused["note"].keys()


async def test_the_trace_tells_where_and_why_a_passage_was_dropped_and_with_which_scores(api):
    trace = (await asked(api, trace=True, top_k=1))["trace"]

    drop = next(drop for drop in trace["dropped"] if drop["stage"] == "cutoff.top_k")
    assert drop["reason"] == "below the best 1"
    assert drop["count"] == len(drop["chunk_ids"]) == len(drop["candidates"]) > 0
    assert "fuse.rsf" in drop["candidates"][0]["scores"]


@pytest.mark.parametrize("mode", ["vector", "bm25"])
async def test_a_search_by_one_arm_is_reranked_where_the_client_says_so(api, mode):
    hits = {asks: (await asked(api, mode=mode, **asks_with))["hits"] for asks, asks_with in RERANKS.items()}

    assert all("rerank" in hit["scores"] for hit in hits["yes"])
    assert not any("rerank" in hit["scores"] for hit in [*hits["no"], *hits["unsaid"]])


RERANKS = {"yes": {"rerank": True}, "no": {"rerank": False}, "unsaid": {}}


async def test_a_boost_is_shown_with_its_reason(api, world):
    await run_db(User.objects.filter(pk=world.reader.pk).update, product="BTS")
    await run_db(Document.objects.filter(pk=world.documents["ra"].pk).update, metadata={"product": "BTS"})

    boosts = {c["document_id"]: c["boost"] for c in (await asked(api, trace=True))["trace"]["candidates"]}

    assert boosts[world.documents["ra"].pk]["why"] == ["product: BTS"]
    assert boosts[world.documents["ho"].pk] is None


async def test_the_trace_names_nothing_that_the_caller_may_not_see(api, world):
    low = await run_db(make_user, clearance=0)
    _, key = await run_db(api_key_create, user=low, name="x")
    closed = await run_db(make_set, "closed", owners=[world.owner], visibility="members")
    secrets = await run_db(ingest, world.owner, world.knowledge_set, clearance=3, s1=f"Zanzibar. {QUESTION}")
    secrets |= await run_db(ingest, world.owner, closed, s2=f"Mozambique. {QUESTION}")

    said = json.dumps(await asked(Api(key), f"zanzibra mozambiqe {QUESTION}", trace=True)).lower()

    hidden = {document.pk for document in secrets.values()}
    trace = json.loads(said)["trace"]
    assert hidden.isdisjoint(c["document_id"] for c in trace["candidates"])
    assert hidden.isdisjoint(c["document_id"] for drop in trace["dropped"] for c in drop["candidates"])
    assert "zanzibar" not in said
    assert "mozambique" not in said.replace("mozambiqe", "")


async def test_a_passage_that_was_withdrawn_during_the_search_is_only_counted(api, world, monkeypatch):
    scope = await run_db(scope_of, world.owner)

    def and_meanwhile(*, scope, request, on_stage=None, _owner=scope):
        def withdraw(record):
            if record.stage == "fuse.rsf":
                document_delete(scope=_owner, actor=world.owner, document_id=world.documents["ra"].pk)

        return retrieve(scope=scope, request=request, on_stage=withdraw)

    monkeypatch.setattr(retrieval, "retrieve", and_meanwhile)

    trace = (await asked(api, trace=True))["trace"]

    drop = next(drop for drop in trace["dropped"] if drop["stage"] == "load.passages")
    assert (drop["count"], drop["chunk_ids"], drop["candidates"]) == (1, [], [])


# ── what it costs ───────────────────────────────────────────────────────────────────────────────


def queries_of(user, **request):
    """How many statements a search runs."""
    request = RetrievalRequest(**{"query": QUESTION, **request})
    retrieve(scope=scope_of(user), request=request)  # counts and models are remembered
    with CaptureQueriesContext(connections["default"]) as captured:
        retrieve(scope=scope_of(user), request=request)
    return [query["sql"] for query in captured if not query["sql"].startswith(("SAVEPOINT", "RELEASE"))]


@pytest.mark.parametrize("mode", ["hybrid", "vector", "bm25"])
async def test_the_number_of_statements_does_not_grow_with_the_passages(world, mode, nothing_expires):
    await run_db(queries_of, world.reader, mode=mode, top_k=2)  # what a process reads once
    few = await run_db(queries_of, world.reader, mode=mode, top_k=2)
    more = {f"more{n}": f"The random access procedure has {n} steps more." for n in range(12)}
    await run_db(ingest, world.owner, world.knowledge_set, **more)
    many = await run_db(queries_of, world.reader, mode=mode, top_k=14)

    assert len(many) <= len(few) <= 22


async def test_a_trace_costs_no_statement(world):
    def presented():
        found = retrieve(scope=scope_of(world.reader), request=RetrievalRequest(query=QUESTION))
        with CaptureQueriesContext(connections["default"]) as captured:
            assert serialize_hits(found, trace=True)["trace"]["candidates"]
        return len(captured)

    assert await run_db(presented) == 0


# ── whose profile ───────────────────────────────────────────────────────────────────────────────


async def test_recent_sets_lift_their_passages_unless_the_question_names_its_sets(api, world):
    def recently():
        Conversation.objects.create(tenant=world.reader.tenant, user=world.reader).sets.set([world.knowledge_set])

    await run_db(recently)

    everywhere = (await asked(api, trace=True))["trace"]["candidates"][0]["boost"]
    named = (await asked(api, trace=True, sets=[world.knowledge_set.pk]))["trace"]["candidates"][0]["boost"]

    assert everywhere["why"] == ["recent set"]
    assert named is None


async def test_who_switches_the_profile_off_gets_what_everybody_gets(api, world):
    await run_db(Document.objects.filter(pk=world.documents["ho"].pk).update, metadata={"product": "BTS"})
    plain = await asked(api)
    await run_db(User.objects.filter(pk=world.reader.pk).update, product="BTS", use_profile=False)

    assert [hit["scores"] for hit in (await asked(api))["hits"]] == [hit["scores"] for hit in plain["hits"]]


@pytest.mark.parametrize("personal", [True, False])
async def test_a_measurement_leaves_the_profile_of_who_runs_it_out(world, personal):
    await run_db(User.objects.filter(pk=world.reader.pk).update, product="BTS")
    await run_db(Document.objects.filter(pk=world.documents["ra"].pk).update, metadata={"product": "BTS"})
    user = await run_db(User.objects.select_related("tenant").get, pk=world.reader.pk)
    request = AnswerRequest(query=QUESTION, personal=personal, cache=False)

    answer = await answer_now(scope=await run_db(scope_of, user), user=user, request=request)

    message = await run_db(Message.objects.get, pk=answer.message.pk)
    assert any(candidate["boost"] for candidate in message.trace["candidates"]) is personal


async def test_the_style_of_an_answer_steers_its_search(api):
    answer = await api.generate("What is the preamble of the random access procedure?", style="advanced")

    message = await run_db(Message.objects.get, pk=answer["message_id"])
    assert "merge.queries" in [stage["stage"] for stage in message.trace["stages"]]
    assert answer["metadata"]["rewritten_queries"] == ["preamble random access procedure"]


# ── bad and odd input ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "query",
    [
        "the of and",
        "的 了 吗",
        "?!…",
        "。，、！",
        "😀😀🚀",
        "a & b | !c:*",
        '"random access" AND NOT (handover OR *)',
        "random 接入 доступ アクセス 랜덤",
        "x" * 2000,
        "随机接入" * 500,
        "random access " * 142,
        "'; DROP TABLE knowledge_chunk; --",
        "%_\\ LIKE",
        "\u202erandom access\u200b",
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "bm25"])
async def test_odd_questions_are_answered(api, query, mode):
    body = await asked(api, query, mode=mode, trace=True)

    assert [stage["stage"] for stage in body["trace"]["stages"] if stage["error"]] == []
    assert isinstance(body["hits"], list)


@pytest.mark.parametrize("query", ['"random access" AND NOT (*)', "random 接入 доступ", "random access " * 142])
async def test_what_is_odd_does_not_hide_what_is_asked(api, query):
    assert (await asked(api, query))["hits"][0]["external_id"] == "ra"


@pytest.mark.parametrize(
    "body",
    [
        {"filters": {"colour": "red"}},
        {"filters": {"axis": "Q"}},
        {"filters": {"metadata": []}},
        {"mode": "telepathy"},
        {"top_k": 0},
        {"top_k": 51},
        {"query": ""},
        {"query": "?" * 2001},
        {"options": {"vector_weight": 1}},
        {"style": "precise"},
        {"profile": {"product": "BTS"}},
    ],
)
async def test_what_nobody_knows_is_422(api, body):
    response = await api.post("/api/v1/rag/retrieve", {"query": QUESTION, **body})

    assert response.status_code == 422
    assert response.json()["error"]["details"]


async def test_graph_mode_explains_that_there_is_no_graph(api):
    response = await api.post("/api/v1/rag/retrieve", {"query": QUESTION, "mode": "graph"})

    assert response.status_code == 422
    assert "graph" in response.json()["error"]["message"]
