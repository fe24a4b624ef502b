import asyncio
import json
from dataclasses import replace

import pytest

from ragcore.answering.pipeline import build_stages, run_stages
from ragcore.answering.stages import loop_agentic as _registered  # noqa: F401
from ragcore.errors import ModelUnavailableError
from ragcore.llm.client import LlmClient
from ragcore.model_limits import ModelLimits
from ragcore.ports import GenerationEvent
from ragcore.prompts.refusals import refusal
from ragcore.types.answering import SearchResult
from tests.ragcore.grading.world import ANSWER, LIBRARY, USELESS, World, model_server, ranked, says, state_of

REFUSAL = refusal("report", "en")
INVENTED = "The lunar rover carries eleven spectrometers and a drill made by penguins."


def scores(**values):
    return says(json.dumps(dict.fromkeys(("relevance", "completeness", "accuracy", "coherence"), 0.9) | values))


def sure(confidence):
    return says(f'{{"confidence": {confidence}}}')


def query(text):
    return says(f'{{"query": "{text}"}}')


async def run(world, state=None, *, llm=None, judge=None, ports=None, **options):
    stages = build_stages([("loop.agentic", options)])
    return await run_stages(stages, state or state_of(), world.ports(llm=llm, judge=judge, **(ports or {})))


def figures(state):
    return state.stats["loop.agentic"]


async def test_a_good_first_round_ends_the_loop_without_any_model():
    world = World(library=LIBRARY[:1])

    state = await run(world)

    assert state.answer_text.text == ANSWER
    assert figures(state)["iterations"] == 1
    assert figures(state)["stopped"] in ("confidence", "evidence")
    assert figures(state)["evidence"]["status"] == "good"
    assert state.confidence > 0.7
    assert [source.number for source in state.sources] == [1]
    assert state.sources[0].passage.title == "Random access"
    assert [step.name for step in world.told] == ["search", "judge", "answer"]
    assert list(state.steps) == world.told


async def test_rules_refine_until_the_rounds_are_over_and_each_query_is_new():
    world = World(texts=[INVENTED], library=LIBRARY[2:])

    state = await run(world, state_of("Does the MME send a handover in idle mode when fish is served?"), rounds=3)

    asked = [query for query, _forms in world.queries]
    assert 2 <= len(asked) <= 3
    assert len(set(asked)) == len(asked)
    assert all(forms == (state.query,) for _, forms in world.queries[1:])  # the question itself is asked besides
    details = figures(state)["details"]
    assert [d["round"] for d in details] == list(range(1, len(asked) + 1))
    assert details[0]["strategies"]
    assert details[0]["tokens"] == 100
    assert [search["query"] for search in figures(state)["searches"]] == asked


async def test_the_model_judges_refines_and_the_best_round_is_kept():
    world = World(texts=["First [1].", "Second [1].", "Third [1]."])
    replies = [
        scores(relevance=0.3, coherence=0.2), sure(0.4), query("random access procedure preamble"),
        scores(), sure(0.7), query("random access response window"),
        scores(), sure(0.5),
    ]  # fmt: skip
    with model_server(*replies) as (server, client):
        state = await run(world, llm=client)

    assert state.answer_text.text == "Second [1]."
    assert (state.confidence, figures(state)["confidence"]) == (0.7, 0.7)
    assert figures(state)["best_query"] == "random access procedure preamble"
    assert (figures(state)["iterations"], figures(state)["stopped"]) == (3, "rounds")
    assert world.named("refine")[0].detail["strategies"] == ["add_specificity", "restructure_query"]
    assert figures(state)["tokens"] == 3 * 100 + 8 * 10
    assert len(server.requests) == 8


async def test_a_confidence_above_the_threshold_ends_the_loop():
    with model_server(scores(), sure(0.85)) as (server, client):
        state = await run(World(), llm=client)

    assert (figures(state)["stopped"], len(server.requests)) == ("confidence", 2)


async def test_the_judge_of_its_own_is_asked_for_judgements_and_the_other_for_queries():
    with (
        model_server(query("random access steps")) as (writing, client),
        model_server(scores(), sure(0.5), scores(), sure(0.9)) as (judging, judge),
    ):
        await run(World(), llm=client, judge=judge)

    assert (len(writing.requests), len(judging.requests)) == (1, 4)


async def test_a_refusal_is_never_enough_and_an_answer_is_better():
    world = World(texts=[REFUSAL, ANSWER])

    state = await run(world)

    assert state.answer_text.text == ANSWER
    assert figures(state)["details"][0]["confidence"] == 0.1


async def test_a_search_that_fails_later_leaves_the_best_so_far():
    world = World(texts=[INVENTED], failing_searches={2})

    state = await run(world)

    assert state.answer_text.text == INVENTED
    assert figures(state)["stopped"] == "failed"
    assert state.steps[-1].detail["error"] == "ConnectionError"
    assert state.records[0].error is None


@pytest.mark.parametrize(
    "world",
    [World(failing_searches={1}), World(texts=[ModelUnavailableError()]), World(relevant=False), World(library=())],
    ids=["no search", "no text", "not relevant", "nothing found"],
)
async def test_without_any_text_the_state_is_as_before(world):
    before = state_of()

    state = await run(world, before)

    assert (state.answer_text, state.sources, state.passages, state.result) == (None, (), (), None)
    assert state.confidence is None
    assert replace(state, steps=(), records=(), stats={}) == before


async def test_a_search_that_hangs_ends_with_the_seconds_of_the_loop():
    world = World()

    async def hanging(*args, **kwargs):
        await asyncio.Event().wait()

    state = await run(world, ports={"search": hanging}, seconds=0.2)

    assert figures(state)["stopped"] == "seconds"
    assert state.answer_text is None


async def test_a_text_that_could_not_be_judged_in_time_is_kept():
    world = World()
    with model_server(scores(), default=USELESS["hanging"]) as (_, client):
        client.seconds = 30
        client.model.limits = ModelLimits(total_seconds=30)
        state = await run(world, llm=client, seconds=1.5)

    assert state.answer_text.text == ANSWER
    assert figures(state)["stopped"] == "seconds"
    assert 0 < state.confidence <= 0.5


async def test_tokens_and_cost_bound_the_loop():
    by_tokens = await run(World(texts=[INVENTED]), tokens=100)
    world = World(texts=[INVENTED])
    by_cost = await run(world, cost=1.0, ports={"cost_so_far": lambda: 2.0 * len(world.critiques)})

    assert (figures(by_tokens)["iterations"], figures(by_tokens)["stopped"]) == (1, "tokens")
    assert (figures(by_cost)["iterations"], figures(by_cost)["stopped"]) == (1, "cost")


async def test_what_a_stage_before_has_found_is_not_searched_for_again():
    world = World()
    found = (ranked(*LIBRARY[0]),)

    state = await run(world, state_of(result=SearchResult(ranked=found), passages=found))

    assert world.queries == []
    assert state.sources[0].text == LIBRARY[0][1]


async def test_the_callers_way_to_number_sources_is_used():
    async def build(state):
        return replace(state, sources=())

    state = await run(World(), ports={"build_context": build})

    assert state.answer_text is None


@pytest.mark.parametrize("reply", USELESS.values(), ids=USELESS)
async def test_with_a_model_that_says_nothing_valid_the_loop_is_that_of_the_rules(reply):
    with model_server(default=reply) as (_, client):
        state = await run(World(library=LIBRARY[:1]), llm=client)

    by_rules = await run(World(library=LIBRARY[:1]))
    assert (state.answer_text, state.confidence) == (by_rules.answer_text, by_rules.confidence)
    assert [d["by"] for d in figures(state)["details"]] == ["rules"]


async def test_passages_are_judged_while_the_answer_is_written():
    world, writing = World(), asyncio.Event()

    async def write(question, sources, *, critique=""):
        writing.set()
        return await world.write(question, sources, critique=critique)

    class Waiting:
        """Judges only after the writing has begun."""

        name = "waiting"

        async def stream(self, messages, *, temperature, max_tokens):
            await asyncio.wait_for(writing.wait(), 5)
            yield GenerationEvent(text='{"confidence": 0.9}')
            yield GenerationEvent(final=True)

    state = await run(world, llm=LlmClient(Waiting()), ports={"write": write})

    assert (state.answer_text.text, figures(state)["stopped"]) == (ANSWER, "confidence")


async def test_where_the_tokens_end_before_a_text_the_sources_are_handed_on():
    world = World()
    with model_server(scores(relevance=0.2), default=USELESS["500"]) as (_, client):
        state = await run(world, llm=client, tokens=10)

    assert (state.answer_text, world.critiques) == (None, [])
    assert [source.number for source in state.sources] == list(range(1, len(state.sources) + 1)) != []
    assert figures(state)["stopped"] == "tokens"


async def test_a_sure_answer_ends_the_loop_whatever_the_passages_are():
    with model_server(scores(coherence=0.3, accuracy=0.3), sure(0.8)) as (_, client):
        state = await run(World(), llm=client)

    (only,) = figures(state)["details"]
    assert (figures(state)["stopped"], only["needs_improvement"], only["improvements_made"]) == ("confidence", True, [])


async def test_passages_below_the_mean_need_improvement_which_each_round_tells_with_its_time():
    low = dict.fromkeys(("relevance", "completeness", "accuracy", "coherence"), 0.65)
    replies = [scores(**low), sure(0.79), query("random access preamble"), scores(completeness=0.5), sure(0.7)]
    with model_server(*replies, query("random access window"), scores(), sure(0.9)) as (_, client):
        state = await run(World(texts=["First [1].", "Second [1].", "Third [1]."]), llm=client)

    details = figures(state)["details"]
    assert [each["needs_improvement"] for each in details] == [True, False, False]
    # evidence decides where no dimension is weak
    assert [each["improvements_made"] for each in details] == [["add_details"], ["broaden_scope"], []]
    assert all(0 < each["processing_time"] <= each["seconds"] for each in details)
    assert state.answer_text.text == "Third [1]."


async def test_the_judge_sees_the_answer_before():
    world = World(texts=["First answer [1].", "Second answer [1]."])
    with model_server(scores(), sure(0.5), query("random access preamble"), scores(), sure(0.9)) as (server, client):
        await run(world, llm=client)

    prompts = [request.body["messages"][0]["content"] for request in server.requests]
    judging = [prompt for prompt in prompts if "serve to answer the question" in prompt]
    assert ["First answer [1]." in prompt for prompt in judging] == [False, True]
    assert "Second answer" not in judging[1]


async def test_without_a_model_evidence_of_seven_tenths_ends_the_loop():
    text = "The random access procedure has steps, for example in order to find a cell. A step is a message."
    world = World(texts=[ANSWER], library=[("Random access", text)])

    state = await run(world, enough=1.0)

    (only,) = figures(state)["details"]
    assert only["evidence"]["confidence"] >= 0.7
    assert min(only["scores"].values()) < 0.6  # completeness: no passage holds a figure
    assert figures(state)["stopped"] == "evidence"


async def test_without_a_model_terms_of_the_topic_are_added_below_five_tenths():
    library = [LIBRARY[0], *((f"Page {n}", "A random note of the canteen.") for n in range(3))]
    world = World(texts=[ANSWER], library=library)

    state = await run(world, enough=1.0, top_k=4)

    first = figures(state)["details"][0]
    assert first["evidence"]["confidence"] < 0.5
    assert first["strategies"][-1] == "add_terms"
    assert {"PRACH", "UE"} <= set(world.queries[1][0].split())


async def test_with_variants_each_round_searches_for_those_of_its_query():
    noise = [(f"Page {n}", "A random note of the canteen.") for n in range(3)]
    world = World(texts=[INVENTED], library=[LIBRARY[1], *noise])

    await run(world, state_of("What is random access?"), enough=1.0, variants=True, top_k=4)

    refined, forms = world.queries[1]
    assert forms[0] == "What is random access?"
    assert len(forms) > 1
    assert len({refined, *forms}) == len(forms) + 1


async def test_the_loop_has_no_more_seconds_than_the_caller():
    state = await run(World(), ports={"seconds_left": lambda: 0.0})

    assert (figures(state)["stopped"], state.answer_text) == ("seconds", None)
