from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.answering.pipeline import build_stages, run_stages
from ragcore.answering.stages.question import BY_CUE, PLANS, build_plan
from ragcore.options import REWRITE_METHODS
from ragcore.types.answering import Analysis, QuestionKind, QuestionType, StrategyName
from tests.ragcore.grading.world import World, state_of


def test_every_strategy_and_every_cue_has_a_plan():
    assert set(PLANS) == set(get_args(StrategyName))
    assert set(BY_CUE) == set(get_args(QuestionType))
    assert all(plan.strategy == name and plan.rewrite_method in REWRITE_METHODS for name, plan in PLANS.items())


@pytest.mark.parametrize(
    ("strategy", "method", "loop"),
    [
        ("direct", "none", "none"),
        ("hyde", "hyde", "none"),
        ("decomposition", "decompose", "none"),
        ("iterative", "none", "iterative"),
        ("hybrid", "multi", "none"),
    ],
)
def test_what_follows_from_a_strategy(strategy, method, loop):
    plan = build_plan(Analysis(strategy=strategy))

    assert (plan.rewrite_method, plan.loop) == (method, loop)


def test_steps_are_read_in_whole_sections_and_collections_more_widely():
    assert build_plan(Analysis(cue="process")).whole_sections
    assert not build_plan(Analysis(cue="definition")).whole_sections
    assert build_plan(Analysis(kind="aggregation", strategy="hybrid")).top_k >= 20


@given(
    st.builds(
        Analysis,
        kind=st.sampled_from(get_args(QuestionKind)),
        cue=st.sampled_from(get_args(QuestionType)),
        strategy=st.sampled_from(get_args(StrategyName)),
    )
)
def test_a_cue_never_narrows_a_plan(analysis):
    plan, bare = build_plan(analysis), PLANS[analysis.strategy]

    assert plan.top_k >= bare.top_k
    assert plan.max_chunks >= bare.max_chunks
    assert replace(plan, top_k=0, max_chunks=0, whole_sections=False, reasons=()) == replace(
        bare, top_k=0, max_chunks=0, whole_sections=False
    )


async def test_the_plan_and_its_reasons_are_told_and_the_analysis_is_made_where_it_is_missing():
    world = World()
    stages = build_stages([("plan.adaptive", {})])

    state = await run_stages(stages, state_of("What is the difference between FDD and TDD?"), world.ports())

    figures = state.stats["plan.adaptive"]
    assert (figures["strategy"], figures["rewrite_method"]) == ("hybrid", "multi")
    assert {"kind:comparison", "cue:comparison"} <= set(figures["reasons"])
    assert state.analysis.kind == "comparison"
    assert world.named("plan")[0].detail == figures
