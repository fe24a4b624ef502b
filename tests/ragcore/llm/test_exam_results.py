"""What an exam says of the context: a server that cuts prompts silently is told from one that refuses them."""

import pytest

from ragcore.llm.exam import is_worth_trying, profile_from, task_run
from ragcore.llm.exam_results import TaskResult, is_cut, overflow_of, read_tokens
from ragcore.llm.exam_tasks import exam_tasks, messages_of
from ragcore.llm.openai_chat import OpenAIChatModel
from tests.scripted_llm import Reply

TASKS = [task for task in exam_tasks() if task.skill == "context" or (task.skill, task.language) == ("plain", "en")]


def short(**more):
    values = {"skill": "plain", "is_right": True, "language": "en", "estimated_tokens": 400, "prompt_tokens": 320}
    return TaskResult(**{**values, "first_seconds": 1.0, **more})


def long(**more):
    values = {"skill": "context", "is_right": True, "language": "en", "estimated_tokens": 8000, "prompt_tokens": 6400}
    return TaskResult(**{**values, "first_seconds": 1.0, **more})


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (long(), False),
        (long(prompt_tokens=4096, is_right=False, has_end_only=True), True),  # Ollama: the beginning is gone
        (long(prompt_tokens=4096), True),  # LM Studio: the middle is gone, what is asked for stands at both ends
        (long(prompt_tokens=12), False),  # read before: the server counts only what is new
        (long(prompt_tokens=6400, is_right=False, has_end_only=True), False),  # read whole, and overlooked
        (long(prompt_tokens=8000, is_right=False, has_end_only=True), True),  # no figures of the server
        (long(prompt_tokens=8000), False),
        (long(first_seconds=None, is_right=False, problem="out_of_context", prompt_tokens=0), False),
        (long(language="zh", prompt_tokens=4096), False),  # nothing to compare with
    ],
)
def test_a_prompt_counts_as_cut_by_the_figures_of_the_server_or_by_what_is_missing(result, expected):
    assert is_cut(result, [short(), short(prompt_tokens=330), result]) is expected


def test_other_tasks_are_never_cut():
    assert not is_cut(short(prompt_tokens=1, is_right=False), [short(), short()])


async def examined(llm, limit, *, counts=True, refuses=False):
    """The results of a server that reads the last `limit` characters of a prompt."""

    def respond(request):
        prompt = request.body["messages"][-1]["content"]
        if refuses and len(prompt) > limit:
            told = {"code": 400, "message": "no", "type": "exceed_context_size_error", "n_ctx": limit}
            return Reply(status=400, failure={"error": told})
        read = prompt[-limit:]
        told = [line for line in read.splitlines() if line.startswith(("The word of", "The room of", "今天的"))]
        return Reply(texts=(" ".join(told) or "?",), usage=(len(read) // 4, 9) if counts else None)

    llm.respond = respond
    results = []
    for task in TASKS:
        if is_worth_trying(task, results):
            results.append(await task_run(task, OpenAIChatModel(llm.url, "", "m")))
    return results


@pytest.mark.parametrize("counts", [True, False])
async def test_a_server_that_cuts_the_beginning_of_prompts_is_known(llm, counts):
    shortest = len(messages_of(next(task for task in TASKS if task.skill == "context"))[-1].content)

    profile = profile_from(await examined(llm, shortest + 500, counts=counts))

    assert profile.overflow == "cuts"
    assert profile.context_tokens is not None
    assert profile.context_tokens <= shortest + 500
    assert profile.scores["context"] < 1


async def test_a_server_that_refuses_long_prompts_is_told_from_one_that_cuts_them(llm):
    shortest = len(messages_of(next(task for task in TASKS if task.skill == "context"))[-1].content)

    profile = profile_from(await examined(llm, shortest + 500, refuses=True))

    assert profile.overflow == "refuses"
    assert profile.context_tokens == shortest // 4


async def test_a_server_that_cuts_every_long_prompt_is_given_what_it_has_read(llm):
    results = await examined(llm, 3000)

    assert overflow_of(results) == "cuts"
    assert 0 < read_tokens(results) <= 3000 // 4


async def test_a_server_that_reads_everything_has_no_limit_that_is_known(llm):
    profile = profile_from(await examined(llm, 10**6))

    assert profile.overflow == ""
    assert profile.scores["context"] == 1


async def test_the_name_by_which_the_server_calls_the_model_is_kept(llm):
    result = await task_run(TASKS[0], OpenAIChatModel(llm.url, "", "m"))

    assert profile_from([result]).reported == ("scripted",)
