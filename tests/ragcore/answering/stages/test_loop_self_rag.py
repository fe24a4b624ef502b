import pytest

from ragcore.answering.pipeline import build_stages, run_stages
from ragcore.answering.stages import loop_self_rag as _registered  # noqa: F401
from ragcore.errors import ModelUnavailableError
from ragcore.llm.model_profile import ModelProfile
from ragcore.types.answering import Analysis
from tests.ragcore.grading.world import ANSWER, LIBRARY, USELESS, World, model_server, says, state_of

INVENTED = "The lunar rover carries eleven spectrometers and a drill made by penguins."


def grade(value):
    return says(f'{{"grade": {value}}}')


def grades(value, critique=""):
    names = ("relevance", "accuracy", "completeness", "clarity", "citation_quality")
    return says("{" + ", ".join(f'"{name}": {value}' for name in names) + f', "critique": "{critique}"}}')


async def run(world, state=None, *, llm=None, judge=None, ports=None, **options):
    stages = build_stages([("loop.self_rag", options)])
    return await run_stages(stages, state or state_of(), world.ports(llm=llm, judge=judge, **(ports or {})))


def figures(state):
    return state.stats["loop.self_rag"]


async def test_a_good_answer_by_rules_ends_the_loop():
    world = World()

    state = await run(world)

    assert state.answer_text.text == ANSWER
    assert (figures(state)["iterations"], figures(state)["stopped"]) == (1, "quality")
    assert figures(state)["quality_score"] >= 7
    assert state.confidence == pytest.approx(figures(state)["quality_score"] / 10, abs=0.001)
    assert [step.name for step in state.steps] == ["search", "judge", "grade"]


@pytest.mark.parametrize("state", [state_of("谢谢！"), state_of(analysis=Analysis(needs_retrieval=False))])
async def test_what_needs_no_search_is_left_to_the_caller(state):
    world = World()

    after = await run(world, state)

    assert (world.queries, after.answer_text) == ([], None)
    assert figures(after)["needs_retrieval"] is False


async def test_a_low_grade_of_the_search_asks_again_before_anything_is_written():
    world = World()
    replies = [grade(3), says('{"query": "random access procedure preamble steps"}'), grade(8), grades(9)]
    with model_server(*replies) as (_, client):
        state = await run(world, llm=client)

    assert [query for query, _ in world.queries] == [state.query, "random access procedure preamble steps"]
    assert len(world.critiques) == 1
    assert figures(state)["iterations"] == 2
    assert [d["retrieval_grade"] for d in figures(state)["details"]] == [3, 8]
    assert "quality" not in figures(state)["details"][0]


async def test_the_critique_goes_into_the_next_attempt_and_the_best_answer_is_kept():
    world = World(texts=["One [1].", "Two [1].", "Three [1]."])
    replies = [grade(9), grades(4, "Cite every sentence."), grades(6, "Be brief."), grades(5)]
    with model_server(*replies) as (_, client):
        state = await run(world, llm=client)

    assert world.critiques == ["", "Cite every sentence.", "Be brief."]
    assert state.answer_text.text == "Two [1]."
    assert (figures(state)["quality_score"], figures(state)["iterations"]) == (6.0, 3)
    assert len(world.queries) == 1
    assert [d.get("critique") for d in figures(state)["details"]] == ["Cite every sentence.", "Be brief.", ""]


async def test_in_the_last_round_an_answer_is_written_from_the_best_there_is():
    world = World(library=(*LIBRARY[:1], *LIBRARY[4:]))
    replies = [
        grade(4),
        says('{"query": "random access canteen"}'),
        grade(2),
        says('{"query": "random access lunch"}'),
        grade(1),
    ]
    with model_server(*replies, grades(8)) as (_, client):
        state = await run(world, llm=client)

    assert len(world.queries) == 3
    assert state.answer_text.text == ANSWER
    assert state.passages[0].passage.title == "Random access"
    assert len(state.passages) == 1  # those of the first search, which had the best grade


async def test_each_step_is_told_before_it_begins():
    told = []
    world = World(library=(*LIBRARY[:1], *LIBRARY[4:]))

    async def tell(step):
        told.append((step.name, step.round, bool(step.detail.get("begins"))))

    with model_server(grade(3), says('{"query": "random access canteen"}'), grade(8), grades(9)) as (_, client):
        state = await run(world, llm=client, ports={"report": tell})

    assert [f"{name} {number}" for name, number, begins in told if begins] == [
        "search 1", "judge 1", "refine 1", "search 2", "judge 2", "answer 2", "grade 2",
    ]  # fmt: skip
    for step in state.steps:  # what is done was begun before, and only what is done is kept
        assert told.index((step.name, step.round, True)) < told.index((step.name, step.round, False))


async def test_the_same_text_once_more_ends_the_loop():
    world = World(texts=[INVENTED])

    state = await run(world)

    assert figures(state)["stopped"] == "unchanged"
    assert len(world.critiques) == 2
    assert "lunar rover" in world.critiques[1]


async def test_the_judge_of_its_own_grades():
    with model_server() as (writing, client), model_server(grade(9), grades(8)) as (judging, judge):
        await run(World(), llm=client, judge=judge)

    assert (len(writing.requests), len(judging.requests)) == (0, 2)


async def test_a_judge_that_cannot_judge_is_not_asked_and_the_steps_say_so():
    world = World()
    with model_server(grade(9), grades(8)) as (judging, judge):
        judge.model.profile = ModelProfile(judges=False)
        await run(world, judge=judge)

    assert judging.requests == []
    assert [step.detail.get("unfit") for step in world.told] == [None, "judge", "judge"]
    assert {step.detail["by"] for step in world.told if "by" in step.detail} == {"rules"}


async def test_where_the_tokens_end_before_a_text_the_sources_are_handed_on():
    world = World()
    with model_server(grade(2), says('{"query": "random access steps"}')) as (server, client):
        state = await run(world, llm=client, tokens=15)

    assert (state.answer_text, world.critiques) == (None, [])
    assert [source.number for source in state.sources]
    assert figures(state)["stopped"] == "tokens"
    assert len(server.requests) == 2


async def test_the_evidence_behind_the_best_answer_is_told():
    state = await run(World())

    assert figures(state)["evidence"]["status"] in ("adequate", "good", "excellent")
    assert figures(state)["evidence"]["confidence"] > 0.4
    assert figures(state)["details"][0]["evidence"]["status"] == figures(state)["evidence"]["status"]


@pytest.mark.parametrize(
    "world",
    [World(failing_searches={1}), World(texts=[ModelUnavailableError()]), World(relevant=False), World(library=())],
    ids=["no search", "no text", "not relevant", "nothing found"],
)
async def test_without_any_text_the_state_is_as_before(world):
    state = await run(world)

    assert (state.answer_text, state.sources, state.passages, state.confidence) == (None, (), (), None)
    assert figures(state)["quality_score"] is None


@pytest.mark.parametrize("reply", USELESS.values(), ids=USELESS)
async def test_with_a_model_that_says_nothing_valid_the_rules_grade(reply):
    with model_server(default=reply) as (_, client):
        state = await run(World(), llm=client)

    assert figures(state)["quality_score"] == figures(await run(World()))["quality_score"]
    assert figures(state)["details"][0]["retrieval_by"] == "rules"
