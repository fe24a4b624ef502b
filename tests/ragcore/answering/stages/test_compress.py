from dataclasses import replace

from ragcore.answering.pipeline import build_stages, run_stages
from ragcore.answering.stages import context as _registered  # noqa: F401
from ragcore.types.answering import AnswerState, Question
from tests.ragcore.compression.stage_ports import ports, ranked
from tests.ragcore.compression.test_compress import MEDIUM, QUESTION


async def run(**options):
    state = AnswerState(question=Question(text=QUESTION), passages=(ranked(MEDIUM), ranked(MEDIUM, chunk=2, score=0.4)))
    return await run_stages(build_stages([("compress", options)]), state, ports())


async def test_passages_are_shortened_and_the_figures_told():
    state = await run(method="sentence_extraction", ratio=0.5)

    figures = state.stats["compress"]
    assert figures["method"] == "sentence_extraction"
    assert figures["ratio"] <= 0.5
    assert figures["tokens_after"] < figures["tokens_before"]
    assert all(len(item.passage.text) < len(MEDIUM) for item in state.passages)
    assert state.records[0].note == figures


async def test_without_a_method_nothing_is_done():
    state = await run()

    assert state.passages[0].passage.text == MEDIUM
    assert "compress" not in state.stats


async def test_what_does_not_fit_is_cut_where_an_overflow_strategy_is_set():
    state = await run(overflow="truncate", budget_tokens=100)

    assert state.stats["compress"]["tokens_after"] <= 100
    assert state.stats["compress"]["overflow"] == "truncate"


async def test_a_wrong_method_is_recorded_and_the_passages_stay():
    state = await run(method="zip")

    assert state.records[0].error == "invalid_options"
    assert state.passages[0].passage.text == MEDIUM


async def test_only_passages_that_can_come_into_the_context_are_shortened():
    state = await run(method="sentence_extraction", ratio=0.5, most=1)

    assert [item.score for item in state.passages] == [max(item.score for item in (await run()).passages)]


async def test_what_a_round_before_has_shortened_is_taken_from_there():
    kept = {}
    using = replace(ports(), compressed=kept)
    stages = build_stages([("compress", {"method": "sentence_extraction", "ratio": 0.5})])
    passages = (ranked(MEDIUM), ranked(MEDIUM, chunk=2, score=0.4))
    state = AnswerState(question=Question(text=QUESTION), passages=passages[:1])

    first = await run_stages(stages, state, using)
    second = await run_stages(stages, replace(state, passages=passages), using)

    assert (first.stats["compress"]["reused"], second.stats["compress"]["reused"]) == (0, 1)
    assert second.passages[0].passage == first.passages[0].passage
    assert second.passages[1].passage.chunk == 2
    assert second.stats["compress"]["tokens_before"] == 2 * first.stats["compress"]["tokens_before"]
