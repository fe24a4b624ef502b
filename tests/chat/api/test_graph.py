"""Entities in searches and answers: mode graph, kg_context, and what a stored answer keeps of them."""

import pytest

from chat.concurrency.executors import run_db
from tests.knowledge.fills import entities_tend

QUESTION = "What is sent on PRACH?"


@pytest.mark.parametrize("mode", ["basic", "enhanced", "agentic", "ultimate"])
async def test_an_answer_of_every_mode_tells_what_the_graph_knows(api, world, mode):
    await run_db(entities_tend)

    answer = await api.generate(QUESTION, enable_kg_enhancement=True, mode=mode, cache=False)

    told = answer["kg_context"]
    assert told["query_entities"] == ["PRACH"]
    assert {"name", "score", "in_question"} == set(told["connected_entities"][0])
    assert {"relation_chains", "paths_to_query_entities"} <= set(told)
    assert "enable_kg_enhancement" not in answer["metadata"]["unused_options"]


async def test_without_it_or_without_entities_nothing_is_told(api, world):
    assert (await api.generate(QUESTION, enable_kg_enhancement=True, cache=False))["kg_context"] is None
    await run_db(entities_tend)
    assert (await api.generate(QUESTION, enable_kg_enhancement=False, cache=False))["kg_context"] is None


async def test_a_search_over_the_graph_alone(api, world):
    await run_db(entities_tend)

    body = (await api.post("/api/v1/rag/retrieve", {"query": QUESTION, "mode": "graph", "trace": True})).json()

    assert body["hits"][0]["external_id"] == "ra"
    scores = [hit["score"] for hit in body["hits"]]
    assert scores == sorted(scores, reverse=True)
    stages = {stage["stage"]: stage for stage in body["trace"]["stages"]}
    assert stages["search.graph"]["note"]["linked"] == 1
    assert "rank.graph" in stages
