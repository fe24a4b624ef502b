"""What an answer costs, and that it never costs more than is allowed: through the whole path."""

import json
from decimal import Decimal

import pytest
from django.test import AsyncClient
from prometheus_client.parser import text_string_to_metric_families

from chat.concurrency.executors import run_db
from chat.models import Message
from knowledge import model_registry
from ragcore.llm.fallback import FallbackGenerator, TieredGenerator
from ragcore.llm.generators import LLMAnswerGenerator
from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.llm.tiers import Price, build_tier
from tests.scripted_llm import Reply, serving

QUESTION = "How many steps does the random access procedure have?"
ANSWER = "The random access procedure has four steps [1]."
GRADES = json.dumps(dict.fromkeys(("relevance", "accuracy", "completeness", "clarity", "citation_quality"), 9))


@pytest.fixture
def tiers(monkeypatch, llm):
    """A standard model, dear, and an advanced one, dearer still; the first is the usual scripted one."""
    with serving() as advanced:
        prices = {"standard": 10, "advanced": 1000}
        models = {"standard": (llm, "scripted"), "advanced": (advanced, "large")}
        made = {
            name: build_tier(name, models[name][1], Price(prompt=Decimal(price), completion=Decimal(price)))
            for name, price in prices.items()
        }

        async def at_once(seconds):
            return None

        def generator(tier):
            return LLMAnswerGenerator(OpenAIChatModel(models[tier.name][0].url, "", tier.model, sleep=at_once))

        rungs = [TieredGenerator(tier=tier, generator=generator(tier)) for tier in made.values()]
        monkeypatch.setattr(model_registry, "tiers", lambda: tuple(made.values()))
        monkeypatch.setattr(model_registry, "generator", lambda: FallbackGenerator(rungs, is_limited=False))
        monkeypatch.setattr(
            model_registry,
            "generator_for",
            lambda choice: FallbackGenerator(rungs) if choice.tier else model_registry.extractive_generator(),
        )
        llm.default = advanced.default = Reply(texts=(ANSWER,))
        yield llm, advanced


def limit(cost):
    return {"constraints": {"max_cost_per_query": cost}}


async def test_the_cost_is_counted_and_the_tier_explained(api, tiers):
    answer = await api.generate(QUESTION, use_tiered_generation=True)

    metadata = answer["metadata"]
    assert (metadata["tier"], metadata["model"]) == ("standard", "scripted")
    assert metadata["cost"] == pytest.approx(10 * 10 / 1_000_000)
    chosen = answer["agentic_steps"][-1]
    assert (chosen["name"], chosen["detail"]["reasons"]) == ("tier", ["simple", "missing"])


async def test_a_fallback_that_would_cost_more_than_allowed_is_not_asked(api, tiers):
    standard, advanced = tiers
    standard.default = Reply(status=500)

    answer = await api.generate(QUESTION, **limit(0.1))

    assert answer["status"] == "degraded"
    assert "four steps" in answer["answer"]
    assert advanced.requests == []


async def test_without_a_limit_the_dearer_model_takes_over(api, tiers):
    standard, advanced = tiers
    standard.default = Reply(status=500)

    answer = await api.generate(QUESTION, use_tiered_generation=True)

    assert (answer["status"], answer["metadata"]["model"]) == ("answered", "large")
    assert len(advanced.requests) == 1


async def test_where_no_model_is_cheap_enough_the_sources_speak_and_that_is_said(api, tiers):
    answer = await api.generate(QUESTION, **limit(0.000001))

    assert answer["status"] == "degraded"
    assert "exceed the cost limit" in answer["metadata"]["error_message"]
    assert "four steps" in answer["answer"]
    assert tiers[0].requests == tiers[1].requests == []


async def test_a_strict_client_gets_an_error_instead(api, tiers):
    response = await api.post("/api/v1/rag/generate", {"query": QUESTION, "strict": True, **limit(0.000001)})

    assert response.status_code >= 500
    assert response.json()["error"]["code"] == "model_unavailable"


@pytest.mark.parametrize("way", [{"mode": "agentic"}, {"mode": "ultimate"}, {"strategy": "self_rag"}])
async def test_loops_stay_within_the_cost_with_all_that_they_ask(api, tiers, way):
    answer = await api.generate(QUESTION, **way, **limit(0.05))

    assert answer["metadata"]["cost"] <= 0.05
    assert tiers[1].requests == []


async def test_texts_that_a_loop_threw_away_are_counted_and_all_tokens_split_by_purpose(api, llm, stored):
    llm.script(
        Reply(texts=('{"grade": 9}',)),
        Reply(texts=("A first attempt [1].",)),
        Reply(texts=(GRADES.replace("9", "3"),)),
        Reply(texts=(ANSWER,)),
        Reply(texts=(GRADES,)),
    )

    answer = await api.generate(QUESTION, strategy="self_rag", rewrite_method="none")

    assert answer["answer"] == ANSWER
    split = (await stored(answer))["usage_by_purpose"]
    assert {name: part["total_tokens"] for name, part in split.items()} == {"judging": 30, "writing": 20}
    assert answer["metadata"]["usage"]["total_tokens"] == 10 * len(llm.requests) == 50


async def test_rewriting_and_compression_are_counted(api, llm, stored):
    llm.default = Reply(texts=('{"queries": ["steps of random access", "random access procedure steps"]}',))

    answer = await api.generate(QUESTION, rewrite_method="multi", compression_method="llm_compression")

    split = (await stored(answer))["usage_by_purpose"]
    assert {"rewriting", "compression", "writing"} <= set(split)
    assert answer["metadata"]["usage"]["total_tokens"] == 10 * len(llm.requests)


async def test_an_answer_without_a_model_used_nothing(api, stored):
    answer = await api.generate(QUESTION)

    assert answer["metadata"]["usage"]["total_tokens"] == 0
    assert answer["metadata"]["cost"] is None
    assert (await stored(answer))["usage_by_purpose"] == {}


async def test_cost_tokens_and_passages_are_figures_for_prometheus(api, tiers):
    before = await figures()

    answer = await api.generate(QUESTION, use_tiered_generation=True)

    after, metadata = await figures(), answer["metadata"]
    model = (("model", "scripted"),)
    for name, labels, wanted in (
        ("cost_total", model, metadata["cost"]),
        ("tokens_total", (("kind", "prompt"), *model), metadata["usage"]["prompt_tokens"]),
        ("tokens_total", (("kind", "completion"), *model), metadata["usage"]["completion_tokens"]),
        ("chunks_sum", (), metadata["chunks_found"]),
        ("chunks_count", (), 1),
    ):
        key = (f"ragsite_answer_{name}", labels)
        assert wanted
        assert after[key] - before.get(key, 0) == pytest.approx(wanted)


async def test_what_was_spent_and_chosen_is_told_to_clients(api, tiers):
    metadata = (await api.generate(QUESTION, use_tiered_generation=True))["metadata"]

    assert metadata["usage_by_purpose"]["writing"]["cost"] == metadata["cost"]
    assert metadata["choice"]
    assert metadata["choice_reason"]
    assert metadata["is_cut"] is False


async def figures():
    """The figures of answers as Prometheus reads them: by name and labels."""
    page = (await AsyncClient().get("/metrics")).content.decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.name.startswith("ragsite_answer_")
    }


@pytest.fixture
def stored():
    """The stored metadata of an answer."""

    async def read(answer):
        return (await run_db(Message.objects.get, pk=answer["message_id"])).metadata

    return read
