"""Which way an answer was made, how sure it is, and what a strict client gets: through the API."""

import json

import pytest

from chat.answering import grounding
from chat.answering.retrieval import SearchOutcome
from chat.answering.stage_ports import AnswerPorts
from chat.concurrency.executors import run_db
from knowledge import model_registry
from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.llm.tiers import Price, build_tier
from tests.scripted_llm import Reply, serving

QUESTION = "How many steps does the random access procedure have?"
ANSWER = "The random access procedure has four steps [1]."
LOOPS = [{"mode": "agentic"}, {"mode": "enhanced", "use_agentic_rag": True}, {"strategy": "self_rag"}]
GRADES = ("relevance", "accuracy", "completeness", "clarity", "citation_quality")


@pytest.fixture
def judge(monkeypatch):
    """A judge of its own, behind another server."""
    with serving() as server:
        model = OpenAIChatModel(server.url, "", "judge")
        monkeypatch.setattr(model_registry, "judge_model", lambda: model)
        yield server


# ── strict clients ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("way", LOOPS, ids=str)
async def test_a_strict_client_gets_no_answer_that_a_loop_put_together_without_the_model(api, llm, way):
    llm.default = Reply(status=500)

    response = await api.post("/api/v1/rag/generate", {"query": QUESTION, "strict": True, **way})

    assert response.status_code == 500
    assert response.json()["error"]["code"] == "model_unavailable"


@pytest.mark.parametrize("way", LOOPS, ids=str)
async def test_a_strict_client_gets_what_the_model_wrote_in_a_loop(api, llm, way):
    llm.default = Reply(texts=(ANSWER,))

    assert (await api.generate(QUESTION, strict=True, **way))["status"] == "answered"


# ── confidence ──────────────────────────────────────────────────────────────────────────────────


async def test_the_judge_s_confidence_is_the_most_that_is_told(api, llm, judge):
    llm.default, judge.default = Reply(texts=(ANSWER,)), Reply(texts=('{"confidence": 0.2}',))

    answer = await api.generate(QUESTION, mode="agentic")

    assert (answer["status"], answer["confidence"]) == ("answered", 0.2)
    assert answer["metadata"]["mode_used"] == "agentic"


async def test_the_grade_of_self_rag_is_the_most_that_is_told(api, llm, judge):
    grades = {"grade": 9, **dict.fromkeys(GRADES, 3)}
    llm.default, judge.default = Reply(texts=(ANSWER,)), Reply(texts=(json.dumps(grades),))

    assert (await api.generate(QUESTION, strategy="self_rag"))["confidence"] == 0.3


async def test_a_judge_who_is_surer_than_the_citations_changes_nothing(api, llm, judge):
    llm.default, judge.default = Reply(texts=(ANSWER,)), Reply(texts=('{"confidence": 1.0}',))

    judged, plain = await api.generate(QUESTION, mode="agentic"), await api.generate(QUESTION)

    assert 0.5 < plain["confidence"] < 1
    assert judged["confidence"] == pytest.approx(plain["confidence"], abs=0.1)
    assert judged["confidence"] < 1


async def test_without_rounds_and_tiers_nobody_is_surer_than_the_default(api, llm):
    llm.default = Reply(texts=(ANSWER,))

    answer = await api.generate(QUESTION, mode="ultimate", use_agentic_rag=False, use_tiered_generation=False)
    tiered = await api.generate(QUESTION, mode="ultimate", use_agentic_rag=False)

    assert not any(step["round"] for step in answer["agentic_steps"])
    assert answer["confidence"] == 0.8 < tiered["confidence"]


async def test_rounds_are_made_in_the_enhanced_mode_where_somebody_wants_them(api):
    answer = await api.generate(QUESTION, mode="enhanced", use_agentic_rag=True)

    assert any(step["round"] for step in answer["agentic_steps"])
    assert answer["metadata"]["mode_used"] == "enhanced"


# ── falling back ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("way", [{}, *LOOPS], ids=str)
async def test_an_answer_in_the_place_of_a_model_that_is_down_is_a_fallback(api, llm, way):
    llm.default = Reply(status=500)

    answer = await api.generate(QUESTION, **way)

    assert (answer["status"], answer["metadata"]["mode_used"]) == ("degraded", "fallback")
    assert 0 < answer["confidence"] <= 0.3
    assert answer["citations"]


async def test_a_loop_that_breaks_leaves_the_basic_way(api, monkeypatch):
    async def broken(self, *args, **kwargs):
        raise RuntimeError("broken")

    monkeypatch.setattr(AnswerPorts, "write", broken)

    answer = await api.generate(QUESTION, mode="agentic")

    assert (answer["status"], answer["metadata"]["mode_used"]) == ("answered", "fallback")
    assert "four steps" in answer["answer"]
    assert 0 < answer["confidence"] <= 0.3


@pytest.mark.parametrize("way", LOOPS, ids=str)
async def test_a_question_that_no_document_answers_is_no_failure(api, world, way):
    await run_db(_raise_thresholds, world)

    answer = await api.generate(QUESTION, sets=[world.knowledge_set.pk], **way)

    assert answer["status"] == "search_results"
    assert answer["metadata"]["mode_used"] == way.get("mode", "basic")


def _raise_thresholds(world):
    world.knowledge_set.options = {"retrieval": {"min_match": 10.0, "min_cosine": 1.0}}
    world.knowledge_set.save()


# ── limits of cost ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("way", [{}, {"mode": "agentic", "rewrite_method": "multi"}], ids=str)
@pytest.mark.parametrize("price", [Price(prompt=1, completion=1), None], ids=["paid", "unknown"])
async def test_who_allows_no_cost_gets_no_model_that_has_one(api, llm, monkeypatch, price, way):
    monkeypatch.setattr(model_registry, "tiers", lambda: (build_tier("standard", "scripted", price),))

    answer = await api.generate(QUESTION, constraints={"max_cost_per_query": 0}, **way)

    assert llm.requests == []
    assert answer["status"] == "degraded"
    assert "exceed the cost limit" in answer["metadata"]["error_message"]
    assert answer["metadata"]["mode_used"] == way.get("mode", "basic")  # a limit is no failure


async def test_who_allows_no_cost_gets_a_model_that_is_free(api, llm, monkeypatch):
    tier = build_tier("standard", "scripted", Price(prompt=0, completion=0))
    monkeypatch.setattr(model_registry, "tiers", lambda: (tier,))
    monkeypatch.setattr(model_registry, "generator_for", lambda choice: model_registry.generator())
    llm.default = Reply(texts=(ANSWER,))

    answer = await api.generate(QUESTION, constraints={"max_cost_per_query": 0}, mode="agentic")

    assert (answer["status"], answer["metadata"]["model"]) == ("answered", "scripted")


# ── checking ────────────────────────────────────────────────────────────────────────────────────


class Broken:
    def __init__(self, *args, **kwargs):
        raise RuntimeError("broken")


async def test_an_answer_that_cannot_be_checked_is_given_without_citations(api, llm, monkeypatch):
    llm.default = Reply(texts=(ANSWER,))
    with monkeypatch.context() as patch:
        patch.setattr(grounding, "SourceSimilarity", Broken)
        answer = await api.generate(QUESTION)

    assert (answer["status"], answer["answer"]) == ("answered", ANSWER)
    assert (answer["citations"], answer["confidence"]) == ([], 0)
    assert answer["metadata"]["notes"] == ["unchecked"]
    again = await api.generate(QUESTION)  # it was not kept
    assert (again["metadata"]["cache"], len(again["citations"])) == ("none", 1)


async def test_an_answer_without_the_embedding_model_of_a_set_is_not_kept(api, llm, monkeypatch):
    llm.default = Reply(texts=(ANSWER,))
    with monkeypatch.context() as patch:
        patch.setattr(SearchOutcome, "silent_models", {"trade"})
        lacking = [(await api.generate(QUESTION))["metadata"]["cache"] for _ in range(2)]
    whole = [(await api.generate(f"Tell me: {QUESTION}"))["metadata"]["cache"] for _ in range(2)]

    assert (lacking, whole) == (["none", "none"], ["none", "exact"])


async def test_a_page_of_search_results_that_cannot_be_checked_is_shown_all_the_same(api, world, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("broken")

    await run_db(_raise_thresholds, world)
    monkeypatch.setattr(grounding, "extract_citations", broken)

    answer = await api.generate(QUESTION, sets=[world.knowledge_set.pk])

    assert (answer["status"], answer["metadata"]["notes"]) == ("search_results", ["unchecked"])
    assert "**ra**" in answer["answer"]


# ── what is told ────────────────────────────────────────────────────────────────────────────────


async def test_a_kept_answer_has_the_figures_of_its_own_request(api, llm):
    llm.default = Reply(texts=(ANSWER,))
    await api.generate(QUESTION)

    kept = (await api.generate(QUESTION))["metadata"]

    assert (kept["cache"], kept["stage_times"], kept["cost"]) == ("exact", {}, 0.0)
    assert kept["usage"]["total_tokens"] == 0
    assert kept.get("first_token_time") is None


@pytest.mark.parametrize(("given", "searched"), [({"top_k": 2}, None), ({}, 24)])
async def test_the_ultimate_mode_takes_the_client_s_number_of_passages(api, monkeypatch, given, searched):
    asked = []
    search = AnswerPorts.search.__globals__["search_for_answer"]

    async def recorded(*values, **options):
        asked.append(options["top_k"])
        return await search(*values, **options)

    monkeypatch.setattr("chat.answering.stage_ports.search_for_answer", recorded)

    await api.generate(QUESTION, mode="ultimate", rewrite_method="multi", **given)

    assert asked[0] == searched
