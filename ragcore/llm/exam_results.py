"""Results of the tasks of an exam, and what those of long prompts say of the server's context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

from ragcore.llm.model_profile import ModelProfile, Overflow

LEAST_SHARE = 0.75  # of the tokens of a prompt, compared with short prompts, below which a part of it was not read
CACHED_SHARE = 0.2  # below which the server counts only what was not in its cache
LEAST_COMPARED_TOKENS = 100  # of a short prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """What came of a task. Seconds are None where the model did not answer."""

    skill: str
    is_right: bool
    reply: str = ""
    problem: str = ""  # reason of the error with which the model did not answer
    first_seconds: float | None = None
    seconds: float | None = None
    prompt_tokens: int = 0  # as the server counts them, or estimated
    completion_tokens: int = 0
    has_reasoned: bool = False
    thinks_first: bool = False  # the reply began inside its reasoning
    tokens: int = 0  # that the task asked for
    left_out: Sequence[str] = ()  # fields that the server does not take, see `refused_fields`
    language: str = ""  # of the task
    estimated_tokens: int = 0  # of the prompt
    has_end_only: bool = False  # of a long prompt it told what stands at the end, and not what stands at the beginning
    reported: str = ""  # name by which the server called the model
    is_obedient: bool = False  # it followed an order that stands in a document

    def as_json(self) -> dict[str, Any]:
        """All fields, as they are stored."""
        return asdict(self)


def known_left_out(results: Sequence[TaskResult]) -> tuple[str, ...]:
    """Fields that the server has refused in these tasks."""
    return tuple(sorted({key for result in results for key in result.left_out}))


def known_habits(results: Sequence[TaskResult]) -> ModelProfile:
    """What the following tasks must know of the model and its server."""
    return ModelProfile(left_out=known_left_out(results), thinks_first=any(result.thinks_first for result in results))


def without_cut(results: Sequence[TaskResult]) -> list[TaskResult]:
    """The results; a long prompt of which the server has read a part only counts as wrong, whatever was told of it."""
    return [replace(result, is_right=False) if is_cut(result, results) else result for result in results]


def is_cut(result: TaskResult, results: Sequence[TaskResult]) -> bool:
    """Whether the server has read only a part of a long prompt and said nothing of it.

    It counts fewer tokens of it than of short prompts of the exam, each compared with our estimate. Where it counts
    none, it has told the end without the beginning.
    """
    if result.skill != "context" or result.first_seconds is None:
        return False
    usual = [_share(other) for other in results if _is_comparable(other, result)]
    if not usual or not result.estimated_tokens or result.prompt_tokens == result.estimated_tokens:
        return result.has_end_only
    share = _share(result) / median(usual)
    return share < LEAST_SHARE and (result.has_end_only or not result.is_right or share > CACHED_SHARE)


def overflow_of(results: Sequence[TaskResult]) -> Overflow:
    """What the server does with a prompt that is longer than its context."""
    if any(is_cut(result, results) for result in results):
        return "cuts"
    return "refuses" if any(result.problem == "out_of_context" for result in results) else ""


def read_tokens(results: Sequence[TaskResult]) -> int | None:
    """Tokens of the longest prompt that was read whole; None where no long one was tried, or nothing is known.

    Where even the shortest long prompt was cut or refused, the longest of the short ones counts.
    """
    whole = [result.prompt_tokens for result in without_cut(results) if result.skill == "context" and result.is_right]
    if not whole and overflow_of(results):
        whole = [result.prompt_tokens for result in results if result.skill != "context"]
    return max(whole, default=0) or None


def reported_models(results: Sequence[TaskResult]) -> tuple[str, ...]:
    """Names by which the server called the model; several where it distributes requests."""
    return tuple(sorted({result.reported for result in results if result.reported}))


def scores_of(results: Sequence[TaskResult]) -> Mapping[str, float]:
    """Share of right tasks by skill, 0 to 1."""
    by_skill: dict[str, list[bool]] = {}
    for result in without_cut(results):
        by_skill.setdefault(result.skill, []).append(result.is_right)
    return {skill: round(sum(right) / len(right), 3) for skill, right in by_skill.items()}


def _share(result: TaskResult) -> float:
    return result.prompt_tokens / result.estimated_tokens


def _is_comparable(short: TaskResult, long: TaskResult) -> bool:
    """Whether the server has counted a short prompt of the same language."""
    is_counted = short.prompt_tokens > 0 and short.prompt_tokens != short.estimated_tokens
    is_long_enough = short.estimated_tokens >= LEAST_COMPARED_TOKENS
    return short.skill != "context" and short.language == long.language and is_counted and is_long_enough
