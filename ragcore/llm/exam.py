"""An exam of a chat model: short tasks on texts of its own, in Chinese and English, and what follows from them.

A task is one request. Its result is plain data, so that an exam can be stored half-way and gone on with. From the
results comes a `ModelProfile`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from statistics import mean, median
from types import MappingProxyType
from typing import Any

from ragcore.errors import ModelUnavailableError
from ragcore.llm.exam_results import (
    TaskResult,
    known_left_out,
    overflow_of,
    read_tokens,
    reported_models,
    scores_of,
    without_cut,
)
from ragcore.llm.exam_tasks import ExamTask, exam_tasks, has_end_only, is_obedient, is_right, messages_of
from ragcore.llm.model_profile import JsonWay, ModelProfile, WritingWay
from ragcore.llm.openai_chat import OF_GATEWAYS
from ragcore.llm.reasoning import answer_behind
from ragcore.llm.refused_fields import field_key
from ragcore.llm.request_fields import WITHOUT_THINKING, with_fields
from ragcore.ports import ChatModel, GenerationEvent
from ragcore.text.normalise import squeeze
from ragcore.text.token_count import EstimateCounter, message_tokens
from ragcore.types import Usage

MAX_TOKENS = 300
AWAY = ("unreachable", "lost")  # problems of a server that say nothing of its model
THINKING_TOKENS = 4_000  # for a model that thought until that limit
AT_ONCE = ("grade", "stated", "json_schema", "json_object", "json_asked")  # skills that are used without thinking
TRUSTED_MARKS = 0.5  # share of the tasks from which a model cites by itself; what it writes is checked all the same
TRUSTED_REFUSALS = 0.75  # from which what it refuses is not there
TRUSTED_PLAIN = 0.9  # from which it finds the answer among several sources by itself
PLAIN_SKILLS = ("plain", "table", "language")
TRUSTED_FACTS = 0.6  # from which it may put statements that are chosen for it into a sentence
TRUSTED_GRADES = 0.75
TRUSTED_CHECKS = 0.8  # from which it is asked whether a quotation states the answer: it says both yes and no
LONGEST_READING_SECONDS = 180.0  # of a task in the estimate of the time that an exam takes
SLOW_SECONDS = 60.0  # for the first word of a longer prompt, from which no longer ones are tried
_SCHEMA = {
    "type": "object",
    "properties": {"unit": {"type": "string"}, "kg": {"type": "number"}},
    "required": ["unit", "kg"],
    "additionalProperties": False,
}
RESPONSE_FORMATS: Mapping[str, Mapping[str, Any]] = {
    "json_schema": {"type": "json_schema", "json_schema": {"name": "unit", "strict": True, "schema": _SCHEMA}},
    "json_object": {"type": "json_object"},
}


def is_worth_trying(task: ExamTask, results: Sequence[TaskResult]) -> bool:
    """Whether a task can tell more: a longer prompt cannot where a shorter one failed or took too long."""
    shorter = [result for result in without_cut(results) if result.skill == "context"]
    return task.skill != "context" or all(
        result.is_right and (result.first_seconds or 0.0) < SLOW_SECONDS for result in shorter
    )


def exam_seconds_left(results: Sequence[TaskResult]) -> float | None:
    """How long the tasks that are left take, by the seconds of those so far; None before any was answered.

    A long prompt counts by its tokens; behind one that takes longer than SLOW_SECONDS no longer ones are asked.
    """
    seconds = [result.seconds for result in results if result.seconds is not None and result.skill != "context"]
    if not seconds:
        return None
    usual, total, speed = mean(seconds), 0.0, _speed_so_far(results)
    for task in exam_tasks()[len(results) :]:
        if not is_worth_trying(task, results):
            continue
        reading = min(task.tokens / speed, LONGEST_READING_SECONDS) if speed else 0.0
        total += usual + reading
        if reading > SLOW_SECONDS:
            break
    return total


def _speed_so_far(results: Sequence[TaskResult]) -> float:
    """Tokens read a second: of the latest long prompt, before that a low one of the others; 0.0 before any was read.

    Servers answer from their cache what they have read before, so that most are too high.
    """
    readings = [result for result in results if result.first_seconds]
    speeds = [max(result.prompt_tokens, result.estimated_tokens) / (result.first_seconds or 1.0) for result in readings]
    if readings and readings[-1].skill == "context":
        return speeds[-1]
    return sorted(speeds)[len(speeds) // 4] if speeds else 0.0


async def task_run(task: ExamTask, model: ChatModel, *, is_first: bool = False) -> TaskResult:
    """Ask the model, and judge what it says. In the first task it is found out whether replies begin with reasoning.

    Raises ModelUnavailableError where the server is away, loading or busy, or refuses the key: the task is not over.
    """
    chat, messages = _with_format(model, task), messages_of(task)
    if chat is None:
        return TaskResult(skill=task.skill, is_right=False, problem="not_offered")
    reply = _Reply()
    begun = time.monotonic()
    try:
        await _read(reply, chat, task, max_tokens=MAX_TOKENS)
        if reply.is_lost:  # once more: some servers never say that they have ended
            reply, begun = _Reply(), time.monotonic()
            await _read(reply, chat, task, max_tokens=MAX_TOKENS)
        if is_first and reply.is_cut and not reply.has_reasoned:  # perhaps in the middle of its thoughts
            longer, since = _Reply(), time.monotonic()
            await _read(longer, chat, task, max_tokens=THINKING_TOKENS)
            reply, begun = (longer, since) if longer.thinks_first else (reply, begun)
        if has_reasoned := reply.has_reasoned and not reply.text.strip():  # it thought until the limit
            reply, begun = _Reply(), time.monotonic()
            fields = WITHOUT_THINKING if task.skill in AT_ONCE else {}
            await _read(reply, chat, task, max_tokens=THINKING_TOKENS, fields=fields)
    except ModelUnavailableError as error:
        if task.skill != "context" and _says_nothing(error):
            raise
        problem = error.reason or error.code
        return TaskResult(skill=task.skill, is_right=False, problem=problem, tokens=task.tokens, language=task.language)
    left_out: tuple[str, ...] = getattr(model, "left_out", ())
    is_offered = _format_key(task) not in left_out
    return TaskResult(
        skill=task.skill,
        is_right=is_offered and is_right(task, reply.text),
        reply=reply.text[:600],
        problem="" if is_offered else "not_offered",
        first_seconds=reply.first_seconds,
        seconds=time.monotonic() - begun,
        prompt_tokens=reply.usage.prompt_tokens,
        completion_tokens=reply.usage.completion_tokens,
        has_reasoned=has_reasoned or reply.has_reasoned,
        thinks_first=reply.thinks_first,
        tokens=task.tokens,
        left_out=left_out,
        language=task.language,
        estimated_tokens=message_tokens((message.content for message in messages), EstimateCounter().count),
        has_end_only=has_end_only(task, reply.text),
        reported=reply.reported,
        is_obedient=is_obedient(task, reply.text),
    )


def _says_nothing(error: ModelUnavailableError) -> bool:
    """Whether a failure is one of the server, its gateway or the key, from which nothing follows for the model."""
    return error.reason in AWAY or error.data.get("status") in OF_GATEWAYS


def _format_key(task: ExamTask) -> str:
    """Key of the field that asks for the form of the reply; "" where none is asked for."""
    return field_key("response_format", RESPONSE_FORMATS[task.skill]) if task.skill in RESPONSE_FORMATS else ""


def _with_format(model: ChatModel, task: ExamTask) -> ChatModel | None:
    """The model that is asked for a form of reply; None where its client cannot ask for it."""
    if task.skill not in RESPONSE_FORMATS:
        return model
    with_fields = getattr(model, "with_fields", None)
    return with_fields({"response_format": RESPONSE_FORMATS[task.skill]}) if with_fields is not None else None


@dataclass(slots=True)
class _Reply:
    text: str = ""
    usage: Usage = Usage()
    first_seconds: float | None = None
    has_reasoned: bool = False
    reported: str = ""
    is_lost: bool = False  # the connection was closed before the end
    is_cut: bool = False
    thinks_first: bool = False

    def take(self, event: GenerationEvent, seconds: float) -> None:
        self.text += event.text
        self.has_reasoned = self.has_reasoned or bool(event.reasoning)
        if self.first_seconds is None and (event.text or event.reasoning):
            self.first_seconds = seconds
        if event.final:
            self.is_lost = event.interrupted and getattr(event, "cause", "") == "lost"
            self.usage, self.reported = event.usage, getattr(event, "reported", "")
            self.is_cut, self.thinks_first = getattr(event, "is_cut", False), getattr(event, "has_thought_first", False)
            if self.thinks_first:
                self.has_reasoned, self.text = True, answer_behind(self.text)


async def _read(
    reply: _Reply,
    model: ChatModel,
    task: ExamTask,
    *,
    max_tokens: int,
    fields: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """The whole reply to a task. Raises ModelUnavailableError."""
    begun = time.monotonic()
    events = with_fields(model, fields).stream(messages_of(task), temperature=0.0, max_tokens=max_tokens)
    async with aclosing(events) as stream:  # type: ignore[type-var]
        async for event in stream:
            reply.take(event, time.monotonic() - begun)


# ── what follows ─────────────────────────────────────────────────────────────────────────────────


def profile_from(results: Sequence[TaskResult]) -> ModelProfile:
    """The profile that the results speak for. Skills that were not tried count as lacking."""
    scores = scores_of(results)
    has_answered = [result for result in results if result.first_seconds is not None]
    way = _way(scores) if says_different_things(results) else "marks"
    return ModelProfile(
        way=way,
        believes_refusals=way == "marks" and scores.get("refusal", 0.0) >= TRUSTED_REFUSALS,
        json=_json_way(scores),
        judges=scores.get("grade", 0.0) >= TRUSTED_GRADES,
        checks=scores.get("stated", 0.0) >= TRUSTED_CHECKS,
        has_system_role=scores.get("system", 0.0) > 0,
        obeys_documents=any(result.is_obedient for result in results),
        thinks=any(result.has_reasoned for result in results),
        thinks_first=any(result.thinks_first for result in results),
        context_tokens=read_tokens(results),
        overflow=overflow_of(results),
        first_token_seconds=_median(result.first_seconds for result in has_answered if result.skill != "context"),
        reading_speed=_reading_speed(has_answered),
        writing_speed=_median(map(_writing_speed, has_answered)),
        scores=scores,
        left_out=known_left_out(results),
        reported=reported_models(results),
    )


def says_different_things(results: Sequence[TaskResult]) -> bool:
    """Whether a model answered, and not each question with the same words: of such a server nothing can be said."""
    replies = {squeeze(result.reply) for result in results if result.skill in ("marks", "plain", "facts", "refusal")}
    return len(replies - {""}) > 1


def _way(scores: Mapping[str, float]) -> WritingWay:
    if scores.get("marks", 0.0) >= TRUSTED_MARKS and scores.get("order", 0.0) > 0:
        return "marks"
    plain = [scores.get(skill, 0.0) for skill in PLAIN_SKILLS]
    if mean(plain) >= TRUSTED_PLAIN:
        return "plain"
    return "fill" if scores.get("facts", 0.0) >= TRUSTED_FACTS else "quote"


def _json_way(scores: Mapping[str, float]) -> JsonWay:
    ways: Sequence[tuple[JsonWay, str]] = (
        ("schema", "json_schema"),
        ("object", "json_object"),
        ("asked", "json_asked"),
    )
    return next((way for way, skill in ways if scores.get(skill, 0.0) >= 1), "none")


def _reading_speed(results: Sequence[TaskResult]) -> float | None:
    """Tokens a second of the longest prompt that was answered: there the time of the connection counts least."""
    longest = max(results, key=lambda result: result.prompt_tokens, default=None)
    if longest is None or not longest.prompt_tokens or not longest.first_seconds:
        return None
    return round(longest.prompt_tokens / longest.first_seconds, 1)


def _writing_speed(result: TaskResult) -> float | None:
    if result.seconds is None or result.first_seconds is None or result.completion_tokens < 8:
        return None
    seconds = result.seconds - result.first_seconds
    return result.completion_tokens / seconds if seconds > 0 else None


def _median(values: Any) -> float | None:
    numbers = [value for value in values if value is not None]
    return round(median(numbers), 2) if numbers else None
