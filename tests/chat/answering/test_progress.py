"""Steps and reasons in the words of a reader."""

import pytest
from django.utils import translation

from chat.answering.progress import explain_reasons, step_event, tier_step
from ragcore.answering.pipeline import build_stages, run_stages
from ragcore.answering.stages.question import build_plan
from ragcore.llm.tiers import build_tier, choose_tier
from ragcore.types.answering import Analysis, AnswerState, Question, Step
from tests.ragcore.understanding.stage_ports import ports


async def test_the_forms_that_a_rewrite_adds_are_told():
    state = AnswerState(question=Question(text="How do I configure carrier aggregation?", language="en"))

    (multi,) = (await run_stages(build_stages([("rewrite", {"method": "multi"})]), state, ports())).steps
    (hyde,) = (await run_stages(build_stages([("rewrite", {"method": "hyde"})]), state, ports())).steps

    assert multi.detail["queries"]
    assert step_event(multi)["detail"] == f"Also looking for: {'; '.join(multi.detail['queries'])}"
    assert step_event(hyde)["detail"] == "Query expanded"


def test_a_tier_is_told_with_its_reasons():
    choice = choose_tier(0.9, (build_tier("fast", "m"),), max_latency=1)

    detail = step_event(tier_step(choice.reasons, "fast"))["detail"]

    assert detail.startswith("Model chosen: Fast (")
    assert "the question is complex" in detail
    assert "the fastest" in detail


def test_where_no_tier_fits_that_is_told():
    assert step_event(tier_step(("simple", "too_expensive")))["detail"].startswith("No model chosen (")


def test_a_way_is_told_with_the_signs_that_decided():
    plan = build_plan(
        Analysis(strategy="iterative", reasons=("kind:multi_hop", "sign:the director of", "difficulty:7"))
    )

    step = Step(name="plan", detail={"strategy": plan.strategy, "reasons": list(plan.reasons)})

    assert step_event(step)["detail"] == "Strategy: Several steps (the answer takes several steps; difficulty 7 of 10)"


def test_without_reasons_only_the_way_is_told():
    assert step_event(Step(name="plan", detail={"strategy": "direct"}))["detail"] == "Strategy: Direct"


@pytest.mark.parametrize("codes", [(), ("sign:cue", "cue:definition"), ("",)])
def test_codes_that_are_for_the_trace_only_have_no_words(codes):
    assert explain_reasons(codes) == ""


def test_a_model_s_word_about_the_kind_is_told_like_a_rule_s():
    assert explain_reasons(["model:comparison"]) == explain_reasons(["kind:comparison"]) == "things are compared"


def test_every_reason_of_a_tier_has_words():
    codes = ["simple", "medium", "complex", "missing", "local", "api", "latency", "too_slow", "cost", "price_unknown"]

    with translation.override("en"):
        assert all(explain_reasons([code]) for code in [*codes, "too_expensive"])
