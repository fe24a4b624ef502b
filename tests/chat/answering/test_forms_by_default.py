"""Other forms of a question where nobody has chosen any: the default of the API, of its streams and of the web chat."""

import json
import time

import pytest

from chat.concurrency.executors import run_db
from chat.models import Message
from knowledge import model_registry
from ragcore.llm.generators import LLMAnswerGenerator
from ragcore.llm.model_profile import ModelProfile
from ragcore.llm.openai_chat import OpenAIChatModel
from tests.chat.conftest import sse
from tests.chat.sockets import Socket
from tests.scripted_llm import Reply, serving

QUESTION = "What happens when a phone is passed on to its neighbour?"
FORM = "Which cell sends the handover command when a phone is passed on?"
ABBREVIATED = "CA最多支持多少个载波？"
WRITTEN_OUT = "载波聚合最多支持多少个载波?"
ANSWER = "The source cell sends the handover command [1]."
SPEEDS = {"first_token_seconds": 0.1, "reading_speed": 4000.0, "writing_speed": 200.0}
QUICK = ModelProfile(**SPEEDS)
SLOW = ModelProfile(first_token_seconds=0.8, reading_speed=300.0, writing_speed=20.0)
FORMS_OF_QUESTION = Reply(texts=(json.dumps({"queries": [FORM]}),))
HYPOTHETICAL = "Write the paragraph of a document"
MULTI = "Word the question"
RELATED = "Write up to three short queries for a search"


def forms(*texts):
    return Reply(texts=(json.dumps({"queries": texts}),))


@pytest.fixture
def model(monkeypatch):
    """Makes a scripted model with this profile the one of the site; `related`: what it says when asked for forms."""
    with serving() as server:

        def use(profile, *, related=FORMS_OF_QUESTION, forms_of_multi=None):
            chat = OpenAIChatModel(server.url, "key", "scripted")
            chat.profile = profile
            monkeypatch.setattr(model_registry, "chat_model", lambda: chat)
            monkeypatch.setattr(model_registry, "generator", lambda: LLMAnswerGenerator(chat))

            def respond(request):
                if forms_of_multi is not None and is_about_forms(request, MULTI):
                    return forms_of_multi
                return related if is_about_forms(request) else Reply(texts=(ANSWER,))

            server.respond = respond
            return server

        yield use
        server.release.set()


def is_about_forms(request, prompt=RELATED):
    return request.body["messages"][-1]["content"].startswith(prompt)


def asked_for_forms(server):
    return [request for request in server.requests if is_about_forms(request)]


def sources(answer):
    return [(citation["external_id"], citation["content"]) for citation in answer["citations"]]


def note_of(answer, stage):
    """What a stage noted of its run, in the stored trace of the answer."""
    stages = Message.objects.get(pk=answer["message_id"]).trace["reasoning"]["stages"]
    return next((record["note"] for record in stages if record["stage"] == stage), {})


async def test_a_quick_model_writes_forms_that_find_what_the_question_does_not(api, model):
    server = model(QUICK)

    without = await api.generate(QUESTION, rewrite_method="none", cache=False)
    answer = await api.generate(QUESTION, cache=False)

    assert len(asked_for_forms(server)) == 1
    assert without["status"] == "refused"
    assert (answer["status"], answer["answer"]) == ("answered", ANSWER)
    assert answer["metadata"]["rewritten_queries"] == [FORM]
    assert answer["metadata"]["usage_by_purpose"]["rewriting"]["total_tokens"] == 10


@pytest.mark.parametrize("sent", [{}, {"rewrite_method": "auto"}], ids=["left out", "auto"])
async def test_a_stream_has_one_to_three_forms_abbreviations_written_out_among_them(api, model, sent):
    texts = ("载波聚合支持几个载波", "载波聚合的最大载波数", "载波聚合载波上限")
    server = model(QUICK, related=forms(*texts))

    events = await sse(await api.post("/api/v1/rag/generate/stream", {"query": ABBREVIATED, "cache": False, **sent}))

    context = next(event for event in events if event["type"] == "context")
    assert context["rewritten_queries"] == [WRITTEN_OUT, *texts[:2]]
    assert len(asked_for_forms(server)) == 1


async def test_the_first_question_of_the_web_chat_has_them_too(world, model):
    server = model(QUICK)
    socket = Socket(world.reader)
    await socket.connect()

    await socket.send(type="ask", question=QUESTION)
    events = await socket.until("done")
    await socket.disconnect()

    steps = [event["data"] for event in events if event["type"] == "step"]
    assert [step["detail"] for step in steps if step["name"] == "rewrite"] == [f"Also looking for: {FORM}"]
    assert len(asked_for_forms(server)) == 1
    assert events[-1]["data"]["status"] == "answered"


async def test_the_accurate_depth_searches_with_a_possible_answer_while_its_steps_are_shown(world, model):
    server = model(QUICK)
    socket = Socket(world.reader)
    await socket.connect()

    await socket.send(type="ask", question=QUESTION, depth="accurate")
    events = await socket.until("done")
    await socket.disconnect()

    prompts = [request.body["messages"][-1]["content"] for request in server.requests]
    assert sum(prompt.startswith(HYPOTHETICAL) for prompt in prompts) == 1
    details = [event["data"]["detail"] for event in events if event["type"] == "step"]
    assert details.index("Writing a possible answer to search with") < details.index("Query expanded")
    assert any("checking the answer" in detail for detail in details)


@pytest.mark.parametrize("path", ["generate", "query"])
async def test_the_style_detailed_asks_the_model_for_two_more_forms(api, model, path):
    other = "What does a cell send when a phone is passed on?"
    server = model(SLOW, forms_of_multi=forms(FORM, other))
    style = {"style": "advanced", "cache": False} if path == "generate" else {"mode": "advanced"}

    answer = (await api.post(f"/api/v1/rag/{path}", {"query": QUESTION, "top_k": 9, **style})).json()

    prompts = [request.body["messages"][-1]["content"] for request in server.requests]
    assert sum(prompt.startswith(MULTI) for prompt in prompts) == 1
    if path == "generate":
        assert answer["metadata"]["rewritten_queries"] == [FORM, other]
        stages = await run_db(lambda: Message.objects.get(pk=answer["message_id"]).trace["stages"])
        (merged,) = [record["note"] for record in stages if record["stage"] == "merge.queries"]
        assert (len(merged["queries"]), merged["places"]) == (3, 3)  # top_k // 3 of each


@pytest.mark.parametrize("mode", ["enhanced", "agentic"])
async def test_a_stream_of_a_higher_mode_has_forms_of_the_model_on_its_first_turn(api, model, mode):
    other = "What does a cell send when a phone is passed on?"
    server = model(SLOW, forms_of_multi=forms(FORM, other))

    body = {"query": QUESTION, "mode": mode, "cache": False}
    events = await sse(await api.post("/api/v1/rag/generate/stream", body))

    prompts = [request.body["messages"][-1]["content"] for request in server.requests]
    assert sum(prompt.startswith(MULTI) for prompt in prompts) == 1
    context = next(event for event in events if event["type"] == "context")
    assert context["rewritten_queries"][:2] == [FORM, other]


async def test_a_short_question_of_a_higher_mode_is_searched_for_with_abbreviations_written_out(api, model):
    model(SLOW)

    body = {"query": "CA是什么？", "mode": "enhanced", "cache": False}
    events = await sse(await api.post("/api/v1/rag/generate/stream", body))

    context = next(event for event in events if event["type"] == "context")
    assert context["rewritten_queries"] == ["载波聚合是什么?"]


async def test_the_style_detailed_leaves_a_chosen_method(api, model):
    server = model(SLOW)

    await api.generate(QUESTION, style="advanced", rewrite_method="none", cache=False)

    prompts = [request.body["messages"][-1]["content"] for request in server.requests]
    assert not any(prompt.startswith(MULTI) for prompt in prompts)


async def test_late_forms_are_dropped_and_the_answer_is_the_one_without_them(api, model):
    server = model(QUICK, related=Reply(texts=forms(FORM).texts, hold_before=0))

    without = await api.generate(ABBREVIATED, cache=False, rewrite_method="expand")
    start = time.monotonic()
    answer = await api.generate(ABBREVIATED, cache=False)
    seconds = time.monotonic() - start

    assert len(asked_for_forms(server)) == 1
    assert seconds < 10  # the server would hold its reply for ever
    assert 1.0 <= answer["metadata"]["stage_times"]["rewrite"] < 3.0
    assert (answer["answer"], sources(answer)) == (without["answer"], sources(without))
    assert answer["metadata"]["rewritten_queries"] == [WRITTEN_OUT]
    assert (await run_db(note_of, answer, "rewrite"))["late"] is True


async def test_a_form_that_came_in_time_is_not_recorded_as_late(api, model):
    model(QUICK)

    answer = await api.generate(QUESTION, cache=False)

    assert await run_db(note_of, answer, "rewrite") == {"method": "related", "queries": [FORM]}


@pytest.mark.parametrize("related", [Reply(status=500), Reply(texts=("I cannot help.",)), forms("月亮是什么做的")])
async def test_what_is_of_no_use_leaves_the_question_and_its_abbreviations(api, model, related):
    server = model(QUICK, related=related)

    answer = await api.generate(ABBREVIATED, cache=False)

    assert asked_for_forms(server)
    assert answer["metadata"]["rewritten_queries"] == [WRITTEN_OUT]
    assert answer["metadata"]["skipped_stages"] == {}


@pytest.mark.parametrize(
    "profile",
    [ModelProfile(), SLOW, ModelProfile(thinks=True, **SPEEDS), ModelProfile(json="none", **SPEEDS)],
    ids=["unknown", "slow", "thinks", "no JSON"],
)
async def test_a_model_that_is_not_known_to_be_quick_is_not_asked(api, model, profile):
    server = model(profile)

    answer = await api.generate(ABBREVIATED, cache=False)

    assert len(server.requests) == 1
    assert answer["metadata"]["rewritten_queries"] == [WRITTEN_OUT]


async def test_without_a_model_abbreviations_are_written_out(api):
    answer = await api.generate(ABBREVIATED, cache=False)

    assert answer["metadata"]["rewritten_queries"] == [WRITTEN_OUT]
    assert "rewrite" not in answer["metadata"]["stage_times"]


@pytest.mark.parametrize("method", ["none", "telepathy"])
async def test_without_a_method_nothing_else_is_searched_for(api, model, method):
    server = model(QUICK)

    answer = await api.generate(ABBREVIATED, rewrite_method=method, cache=False)

    assert answer["metadata"]["rewritten_queries"] == []
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "method", ["multi", "expand", "hyde", "decompose", "step_back", "simplify", "clarify", "domain", "variants"]
)
async def test_who_names_a_method_gets_the_forms_of_that_one(api, model, method):
    server = model(QUICK)

    await api.generate(ABBREVIATED, rewrite_method=method, cache=False)

    assert asked_for_forms(server) == []
    by_rules = method == "variants"
    repeats = 0 if method == "hyde" else 1  # JSON that is not valid is asked for once more
    assert len(server.requests) == (1 if by_rules else 2 + repeats)


@pytest.mark.parametrize("question", ["Hello!", "你好", "What did I ask before?"])
async def test_small_talk_is_not_asked_in_other_forms(api, model, question):
    server = model(QUICK)

    await api.generate(question, cache=False)

    assert asked_for_forms(server) == []


async def test_a_follow_up_asks_the_model_once_with_its_conversation(api, model):
    server = model(QUICK)
    await api.generate("What is a handover?", conversation_id="talk")
    before = len(server.requests)

    await api.generate("And when does it fail?", conversation_id="talk")

    prompts = [request.body["messages"][-1]["content"] for request in server.requests[before:]]
    assert not any(prompt.startswith(RELATED) for prompt in prompts)
    assert sum(prompt.startswith("Rewrite the last question of a conversation") for prompt in prompts) == 1


async def test_a_model_too_slow_for_a_second_is_not_waited_for_in_a_conversation(api, model):
    server = model(SLOW)
    await api.generate("What is a handover?", conversation_id="talk")
    before = len(server.requests)

    answer = await api.generate("And when does it fail?", conversation_id="talk")

    prompts = [request.body["messages"][-1]["content"] for request in server.requests[before:]]
    assert not any(prompt.startswith("Rewrite the last question") for prompt in prompts)
    assert any("handover" in form for form in answer["metadata"]["rewritten_queries"])


async def test_a_search_alone_has_forms_only_where_they_are_asked_for(api, model):
    server = model(QUICK, related=forms("载波聚合的载波上限"))

    async def searched(**options):
        return (await api.post("/api/v1/rag/retrieve", {"query": ABBREVIATED, **options})).json()["metadata"]

    assert (await searched())["rewritten_queries"] == []
    assert server.requests == []
    by_default = await searched(rewrite_method="auto")
    assert by_default["rewritten_queries"][:2] == [WRITTEN_OUT, "载波聚合的载波上限"]
    assert by_default["rewrite_method"] in ("related", "hyde")
