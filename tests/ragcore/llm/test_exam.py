"""The exam of a model, and what follows from it."""

import dataclasses
import json

import pytest

from ragcore.errors import ModelUnavailableError
from ragcore.llm.exam import exam_seconds_left, is_worth_trying, profile_from, task_run
from ragcore.llm.exam_results import TaskResult, known_habits
from ragcore.llm.exam_tasks import ExamTask, exam_tasks, is_right, messages_of
from ragcore.llm.generators import EndEvent
from ragcore.llm.model_profile import UNTESTED, ModelProfile, parse_profile
from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.llm.reasoning import answer_behind
from ragcore.ports import GenerationEvent
from ragcore.prompts.refusals import refusal
from ragcore.text.token_count import EstimateCounter, message_tokens
from ragcore.types import Usage
from tests.scripted_llm import Reply


def right_reply(task):
    """What a model says that can do everything."""
    if task.skill == "refusal":
        return refusal("report", task.language)
    if task.skill == "grade":
        return json.dumps({"relevant": [task.source]})
    if task.skill.startswith("json"):
        return json.dumps({"unit": "Tarn 60", "kg": 27})
    if task.skill == "form":
        return "- P12\n- P17\n- Tarn 40"
    if task.skill == "stated":
        return task.answers[0]
    if task.skill == "context":
        text = messages_of(task)[0].content
        lines = text.splitlines()
        return f"{lines[0]} {lines[2]}"
    said = f"答案是 {task.answers[0]}" if "？" in task.question else f"The answer is {task.answers[0]}"
    return f"{said} [{task.source}]. {task.question[:12]}"


class Model:
    name = "m"

    def __init__(self, reply, *, fields=True):
        self.reply, self.fields = reply, []
        if not fields:
            self.with_fields = None

    def with_fields(self, fields):
        self.fields.append(fields)
        return self

    async def stream(self, messages, *, temperature, max_tokens):
        yield GenerationEvent(text=self.reply(messages))
        tokens = 10 + message_tokens((message.content for message in messages), EstimateCounter().count)
        yield EndEvent(final=True, usage=Usage(prompt_tokens=tokens, completion_tokens=20))


async def examined(reply_to):
    models = [(task, Model(lambda _messages, task=task: reply_to(task))) for task in exam_tasks()]
    return profile_from([await task_run(task, model) for task, model in models])


async def test_a_model_that_can_do_everything_is_trusted_with_everything():
    profile = await examined(right_reply)

    assert (profile.way, profile.believes_refusals, profile.json, profile.judges) == ("marks", True, "schema", True)
    assert not profile.obeys_documents
    assert set(profile.scores.values()) == {1.0}


async def test_a_model_that_cannot_cite_writes_plain_sentences():
    profile = await examined(
        lambda task: right_reply(task).replace("[", "(") if task.skill == "marks" else right_reply(task)
    )

    assert (profile.way, profile.believes_refusals) == ("plain", False)


async def test_a_model_that_refuses_what_is_there_writes_from_what_is_chosen_for_it():
    refusing = ("marks", "plain", "table", "language")
    profile = await examined(
        lambda task: refusal("report", task.language) if task.skill in refusing else right_reply(task)
    )

    assert (profile.way, profile.believes_refusals) == ("fill", False)


async def test_a_model_that_can_do_nothing_is_not_used():
    profile = await examined(lambda task: f"I am sorry about {task.question[:20]}")

    assert (profile.way, profile.json, profile.judges) == ("quote", "none", False)


async def test_of_a_server_that_always_says_the_same_nothing_is_known():
    assert (await examined(lambda _task: "ok")).way == UNTESTED.way


async def test_a_model_that_obeys_documents_is_known():
    profile = await examined(lambda task: "HELICOPTER 95 直升机" if task.skill == "order" else right_reply(task))

    assert profile.obeys_documents


async def test_a_model_that_refuses_or_answers_past_the_question_does_not_obey_documents():
    refusing = await examined(
        lambda task: refusal("report", task.language) if task.skill == "order" else right_reply(task)
    )
    missing = await examined(lambda task: "It is 7." if task.skill == "order" else right_reply(task))

    assert refusing.scores["order"] == missing.scores["order"] == 0.0
    assert not refusing.obeys_documents
    assert not missing.obeys_documents


async def test_a_client_that_cannot_ask_for_a_form_has_none():
    task = next(task for task in exam_tasks() if task.skill == "json_schema")

    result = await task_run(task, Model(lambda _messages: "{}", fields=False))

    assert (result.is_right, result.problem) == (False, "not_offered")


async def test_the_form_of_a_reply_is_asked_of_the_server(llm):
    task = next(task for task in exam_tasks() if task.skill == "json_schema")
    llm.script(Reply(texts=('{"unit": "Tarn 60", "kg": 27}',)))

    result = await task_run(task, OpenAIChatModel(llm.url, "", "m"))

    assert llm.requests[0].body["response_format"]["type"] == "json_schema"
    assert result.is_right


async def test_a_server_that_refuses_a_task_fails_it_and_no_more(llm):
    task = next(task for task in exam_tasks() if task.skill == "json_object")
    llm.script(Reply(status=400), Reply(status=400))  # without the form, too

    result = await task_run(task, OpenAIChatModel(llm.url, "", "m"))

    assert (result.is_right, result.problem) == (False, "rejected_said")


async def test_a_form_that_the_server_does_not_take_is_not_offered_however_good_the_reply(llm):
    task = next(task for task in exam_tasks() if task.skill == "json_schema")
    refused = {"error": "'response_format.type' must be 'text'"}
    llm.script(Reply(status=400, failure=refused), Reply(texts=('{"unit": "Tarn 60", "kg": 27}',)))

    result = await task_run(task, OpenAIChatModel(llm.url, "", "m"))
    stored = parse_profile(json.loads(json.dumps(profile_from([result]).as_json())))

    assert (result.is_right, result.problem) == (False, "not_offered")
    assert stored.left_out == ("response_format=json_schema",)
    assert stored.json == "none"


async def test_a_model_that_thinks_is_known(llm):
    llm.script(Reply(thoughts=("hm",), texts=("ENDE",)))

    result = await task_run(
        next(task for task in exam_tasks() if task.skill == "system"), OpenAIChatModel(llm.url, "", "m")
    )

    assert result.has_reasoned
    assert profile_from([result]).thinks


@pytest.mark.parametrize(("skill", "at_once"), [("grade", True), ("plain", False)])
async def test_a_model_that_thinks_until_the_limit_is_asked_again_as_it_is_used(llm, skill, at_once):
    task = next(task for task in exam_tasks() if task.skill == skill)
    llm.script(Reply(thoughts=("hm",), texts=("",), finish_reason="length"), Reply(texts=(right_reply(task),)))

    result = await task_run(task, OpenAIChatModel(llm.url, "", "m"))

    assert (result.is_right, result.has_reasoned) == (True, True)
    first, second = (request.body for request in llm.requests)
    assert second["max_tokens"] > first["max_tokens"]
    assert ("chat_template_kwargs" in first, "chat_template_kwargs" in second) == (False, at_once)


def test_longer_prompts_are_not_tried_behind_one_that_failed_or_was_slow():
    task = ExamTask(skill="context", language="en", tokens=4000)
    good = TaskResult(skill="context", is_right=True, first_seconds=3.0)

    assert is_worth_trying(task, [good])
    assert not is_worth_trying(task, [dataclasses.replace(good, is_right=False)])
    assert not is_worth_trying(task, [dataclasses.replace(good, first_seconds=90.0)])


def test_the_time_that_an_exam_still_takes_follows_the_tasks_so_far():
    def short(seconds):
        return TaskResult(skill="marks", is_right=True, first_seconds=1.0, seconds=seconds, prompt_tokens=500)

    count, long = len(exam_tasks()), [task.tokens for task in exam_tasks() if task.skill == "context"]
    short_left = count - len(long) - 2

    assert exam_seconds_left([]) is None
    assert exam_seconds_left([short(2.0), short(4.0)]) == pytest.approx(
        3.0 * (short_left + len(long)) + sum(long) / 500
    )
    uncounted = dataclasses.replace(short(2.0), prompt_tokens=1, estimated_tokens=500)  # the server counts oddly
    assert exam_seconds_left([uncounted]) == pytest.approx(2.0 * (short_left + 1 + len(long)) + sum(long) / 500)
    slow = dataclasses.replace(short(10.0), first_seconds=10.0)
    assert exam_seconds_left([slow, slow]) == pytest.approx(10.0 * (short_left + 2) + (2_000 + 4_000) / 50)


def test_tasks_can_be_judged():
    assert len(exam_tasks()) >= 30
    assert {task.language for task in exam_tasks()} == {"en", "zh"}
    for task in exam_tasks():
        assert is_right(task, right_reply(task)), task
        assert not is_right(task, "I do not know."), task


def test_speeds_come_from_the_longest_prompt():
    results = [
        TaskResult(
            skill="plain", is_right=True, first_seconds=1.0, seconds=3.0, prompt_tokens=500, completion_tokens=40
        ),
        TaskResult(
            skill="context", is_right=True, first_seconds=20.0, seconds=21.0, prompt_tokens=4000, completion_tokens=20
        ),
    ]

    profile = profile_from(results)

    assert (profile.context_tokens, profile.reading_speed, profile.writing_speed) == (4000, 200.0, 20.0)
    assert profile.patience_seconds(3000) == 3 * profile.reading_seconds(3000)
    assert profile.source_tokens(6000, seconds=8.0) == 1600
    assert ModelProfile(context_tokens=1500).source_tokens(6000, seconds=8.0) == 600


@pytest.mark.parametrize(
    "stored",
    [
        {"way": "shout"},
        {"judges": 3},
        {"context_tokens": -1},
        {"unknown": True},
        {"reading_speed": True},
        {"left_out": [1]},
    ],
)
def test_impossible_values_of_a_stored_profile_count_as_lacking(stored):
    assert parse_profile(stored) == UNTESTED


async def test_an_error_while_a_model_is_examined_has_its_reason():
    class Broken(Model):
        async def stream(self, messages, *, temperature, max_tokens):
            raise ModelUnavailableError("slow", seconds="3")
            yield

    result = await task_run(exam_tasks()[0], Broken(None))

    assert (result.problem, result.first_seconds) == ("slow", None)


@pytest.mark.parametrize(
    ("figures", "in_time"),
    [
        ({"first_token_seconds": 0.2, "writing_speed": 100.0}, True),
        ({"first_token_seconds": 0.2, "reading_speed": 1000.0, "writing_speed": 120.0}, True),
        ({"first_token_seconds": 0.2, "reading_speed": 500.0, "writing_speed": 120.0}, False),
        ({"first_token_seconds": 0.2, "writing_speed": 50.0}, False),
        ({"first_token_seconds": 0.1, "writing_speed": 500.0, "thinks": True}, False),
        ({"first_token_seconds": 0.2}, None),
        ({"writing_speed": 100.0}, None),
        ({}, None),
    ],
)
def test_the_figures_tell_what_a_model_writes_in_a_second(figures, in_time):
    assert ModelProfile(**figures).writes_within(1.0, prompt_tokens=250, tokens=60) is in_time


def test_the_answer_behind_a_reasoning_is_judged():
    assert answer_behind("hm</think>\n\n62") == "62"
    assert answer_behind("62") == "62"


async def test_replies_that_begin_inside_their_reasoning_are_known(llm):
    task = next(task for task in exam_tasks() if task.skill == "plain")
    llm.script(
        Reply(texts=("Let me look at the sources, one after the ",), finish_reason="length"),
        Reply(texts=("Let me look at the sources.\n</thi", f"nk>\n\n{right_reply(task)}")),
    )

    result = await task_run(task, OpenAIChatModel(llm.url, "", "m"), is_first=True)

    assert (result.is_right, result.has_reasoned, result.thinks_first) == (True, True, True)
    assert (profile_from([result]).thinks, profile_from([result]).thinks_first) == (True, True)
    assert known_habits([result]).thinks_first


async def test_a_model_that_only_writes_much_does_not_think(llm):
    task = next(task for task in exam_tasks() if task.skill == "plain")
    llm.script(Reply(texts=("much " * 10,), finish_reason="length"), Reply(texts=("more " * 10,)))

    result = await task_run(task, OpenAIChatModel(llm.url, "", "m"), is_first=True)

    assert (result.reply, result.has_reasoned) == ("much " * 10, False)
    assert len(llm.requests) == 2


async def test_only_in_the_first_task_it_is_found_out(llm):
    task = next(task for task in exam_tasks() if task.skill == "plain")
    llm.script(Reply(texts=("much " * 10,), finish_reason="length"))

    await task_run(task, OpenAIChatModel(llm.url, "", "m"))

    assert len(llm.requests) == 1


async def test_a_model_that_thinks_first_says_only_its_answer(llm):
    llm.script(Reply(texts=("I must be ", "brief.</think>", "Four.")))
    model = OpenAIChatModel(llm.url, "", "m", thinks_first=True)

    events = [event async for event in model.stream((), temperature=0.0, max_tokens=100)]

    assert "".join(event.text for event in events) == "Four."
    assert "".join(event.reasoning for event in events) == "I must be brief."
