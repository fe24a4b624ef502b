"""Modes and strategies as lists of stages."""

import pytest

from chat.answering.stage_plans import answer_steps, context_steps, is_loop_off, understanding_steps, wants_rewrites
from ragcore.answering import stages  # noqa: F401 (registers the stages)
from ragcore.answering.pipeline import build_stages, run_stages
from ragcore.options import MODES, STRATEGIES, AnswerOptions
from ragcore.types.answering import AnswerState, Question
from tests.ragcore.compression.stage_ports import ports, ranked


def names(steps):
    return [name for name, _options in steps]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("loop", ["none", "agentic", "self_rag", "iterative"])
def test_every_list_can_be_built(mode, strategy, loop):
    options = AnswerOptions(mode=mode, strategy=strategy, compression_method="hybrid", whole_sections=True)

    assert build_stages(understanding_steps(options, rewrites=True))
    assert build_stages(answer_steps(options, streaming=False, rewrites=True, loop=loop))


def test_basic_is_one_search():
    assert names(answer_steps(AnswerOptions(), streaming=False, rewrites=False)) == ["search", "context.build"]


@pytest.mark.parametrize(("overflow", "kept"), [("", 2), ("top_k", 2), ("truncate", 3), ("summarise", 4)])
async def test_the_option_decides_what_happens_to_passages_that_do_not_fit(overflow, kept):
    text = "The random access procedure of the cell has four steps in all releases. " * 10
    passages = tuple(ranked(text, chunk=number, score=1 - number / 10) for number in range(4))
    options = AnswerOptions(overflow=overflow, context_tokens=400)
    state = AnswerState(question=Question(text="How many steps?"), passages=passages)

    state = await run_stages(build_stages(context_steps(options)), state, ports())

    assert len(state.sources) == kept
    assert state.sources[0].text == text.strip()
    assert state.stats.get("compress", {}).get("overflow", "") == overflow


def test_a_loop_takes_the_place_of_search_and_context():
    assert names(answer_steps(AnswerOptions(mode="agentic"), streaming=False, rewrites=True)) == [
        "rewrite",
        "loop.agentic",
    ]
    assert (
        names(answer_steps(AnswerOptions(strategy="self_rag"), streaming=False, rewrites=True))[-1] == "loop.self_rag"
    )


@pytest.mark.parametrize(
    ("method", "loop", "hasty"),
    [("hyde", "self_rag", False), ("hyde", "agentic", False), ("auto", "agentic", True), ("hyde", "none", True)],
)
def test_in_a_stream_only_a_loop_that_shows_its_steps_waits_for_a_possible_answer(method, loop, hasty):
    options = AnswerOptions(rewrite_method=method)

    (_name, given) = answer_steps(options, streaming=True, rewrites=True, loop=loop)[0]

    assert given["streaming"] is hasty


def test_the_ultimate_mode_stops_earlier():
    options = AnswerOptions(mode="ultimate", max_agentic_iterations=3, confidence_threshold=0.8)

    (_name, given) = answer_steps(options, streaming=False, rewrites=True)[-1]

    assert (given["rounds"], given["enough"]) == (2, 0.7)


def test_other_forms_are_asked_for_by_modes_and_by_who_has_chosen_a_method():
    assert not wants_rewrites(AnswerOptions(), {"rewrite_method": "default"}, in_conversation=False)
    assert wants_rewrites(AnswerOptions(), {"rewrite_method": "default"}, in_conversation=True)
    assert wants_rewrites(AnswerOptions(rewrite_method="multi"), {"rewrite_method": "request"}, in_conversation=False)
    assert wants_rewrites(AnswerOptions(mode="enhanced"), {}, in_conversation=False)
    assert wants_rewrites(AnswerOptions(strategy="adaptive"), {}, in_conversation=False)


@pytest.mark.parametrize(
    ("options", "loops"),
    [
        ({"mode": "ultimate", "agentic": "off"}, False),
        ({"mode": "agentic", "agentic": "off"}, False),
        ({"mode": "enhanced", "agentic": "on"}, True),
        ({"mode": "basic", "agentic": "on"}, True),
        ({"mode": "enhanced"}, False),
        ({"mode": "agentic"}, True),
    ],
)
def test_rounds_are_a_switch_of_their_own(options, loops):
    built = AnswerOptions(**options)

    assert (names(answer_steps(built, streaming=False, rewrites=True))[-1] == "loop.agentic") is loops
    assert is_loop_off(built) is (options["mode"] in ("agentic", "ultimate") and not loops)


def test_self_rag_has_rounds_of_its_own_whatever_the_switch_says():
    options = AnswerOptions(mode="agentic", agentic="off", strategy="self_rag")

    assert names(answer_steps(options, streaming=False, rewrites=True))[-1] == "loop.self_rag"
    assert not is_loop_off(options)


def test_only_the_ultimate_mode_limits_the_other_forms_of_a_question():
    for mode, most in (("ultimate", 2), ("agentic", None)):
        (_name, given), *_ = answer_steps(AnswerOptions(mode=mode), streaming=False, rewrites=True)
        assert given["most"] == most
