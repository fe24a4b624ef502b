from ragcore.answering.pipeline import build_stages, run_stages
from ragcore.answering.stages import loops as _registered  # noqa: F401
from tests.ragcore.grading.world import World, model_server, says, state_of

QUESTION = "Who directed the film that was shot in Leland in 1986?"
LIBRARY = (
    ("Maximum Overdrive", "Maximum Overdrive is a horror film. It was shot in Leland in 1986."),
    ("Stephen King", "Stephen King wrote novels and directed Maximum Overdrive."),
    ("Lunch menu", "On Friday the canteen serves fish."),
)


async def run(world, *, llm=None, **options):
    stages = build_stages([("loop.iterative", options)])
    return await run_stages(stages, state_of(QUESTION), world.ports(llm=llm))


async def test_what_the_first_search_reveals_is_searched_for_together_with_the_question():
    world = World(library=LIBRARY)

    state = await run(world)

    (hop,) = state.stats["loop.iterative"]["queries"]
    assert "Maximum Overdrive" in hop
    assert world.queries[1] == (QUESTION, (hop,))
    assert state.rewrites[0].method == "hop"
    assert {ranked.passage.title for ranked in state.passages} >= {"Maximum Overdrive", "Stephen King"}
    assert state.answer_text is None


async def test_a_second_search_that_fails_leaves_what_the_first_has_found():
    world = World(library=LIBRARY, failing_searches={2})

    state = await run(world)

    assert state.passages[0].passage.title == "Maximum Overdrive"
    assert state.stats["loop.iterative"]["stopped"] == "failed"
    assert state.rewrites == ()


async def test_a_first_search_that_fails_is_recorded_as_such():
    state = await run(World(library=LIBRARY, failing_searches={1}))

    assert state.records[0].error == "ConnectionError"


async def test_nothing_new_ends_the_search():
    world = World(library=LIBRARY[2:])

    state = await run(world)

    assert (len(world.queries), state.stats["loop.iterative"]["stopped"]) == (1, "nothing_new")


async def test_a_model_chooses_the_steps_and_says_when_it_is_enough():
    world = World(library=LIBRARY)
    with model_server(says('{"query": "Maximum Overdrive director"}'), says('{"query": ""}')) as (_, client):
        state = await run(world, llm=client, rounds=4)

    assert state.stats["loop.iterative"]["queries"] == ["Maximum Overdrive director"]
    assert len(world.queries) == 2
