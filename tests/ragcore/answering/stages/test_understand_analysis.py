from ragcore.answering.pipeline import build_stages, run_stages
from ragcore.answering.stages import question as _registered  # noqa: F401
from ragcore.understanding.analysis import analyse_by_rules
from tests.ragcore.grading.world import World, model_server, says, state_of, tokenizer

SAID = '{"type": "comparison", "complexity": 5, "cue": "comparison", "target": "subject"}'


async def run(world, state=None, *, llm=None, **options):
    stages = build_stages([("understand.analysis", options)])
    return await run_stages(stages, state or state_of("What is PRACH?"), world.ports(llm=llm))


async def test_the_analysis_is_set_told_and_in_the_figures():
    world = World()

    state = await run(world)

    assert state.analysis == analyse_by_rules("What is PRACH?", tokenizer=tokenizer())
    assert state.stats["understand.analysis"]["strategy"] == "direct"
    assert state.records[0].note["kind"] == "simple_fact"
    assert world.named("analysis") == list(state.steps)


async def test_the_question_without_its_conversation_is_analysed():
    state = await run(World(), state_of("And TDD?", standalone="What is the difference between FDD and TDD?"))

    assert state.analysis.kind == "comparison"


async def test_a_given_target_wins_and_a_wrong_one_does_not():
    assert (await run(World(), target="relationship")).analysis.target == "relationship"
    assert (await run(World(), target="verb")).analysis.target == (await run(World())).analysis.target


async def test_a_model_is_asked_unless_that_is_switched_off():
    with model_server(says(SAID)) as (server, client):
        off = await run(World(), llm=client, model=False)
        asked_before = len(server.requests)
        on = await run(World(), llm=client)

    assert (off.analysis.by, asked_before) == ("rules", 0)
    assert (on.analysis.by, on.analysis.kind) == ("model", "comparison")
