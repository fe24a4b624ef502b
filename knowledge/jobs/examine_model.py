"""Examines a language model: how far its writing can be trusted, what it can do, and how quick it is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from django.utils.translation import gettext_lazy as _

from knowledge.model_errors import ModelNotUsedError
from knowledge.model_exam_words import profile_rows
from knowledge.model_servers import client_settings, listed_at
from knowledge.model_setup import ModelSpec, is_file_loading, registry_changed, setup_now, setup_refresh
from knowledge.models import ModelExam
from knowledge.queue import EXAMINE_MODEL
from knowledge.services.model_exams import exam_store
from ragcore.llm import create_server_model
from ragcore.llm.exam import is_worth_trying, profile_from, task_run
from ragcore.llm.exam_results import TaskResult, known_habits
from ragcore.llm.exam_tasks import ExamTask, exam_tasks
from ragcore.llm.model_profile import ModelProfile, parse_profile
from ragcore.model_limits import ModelLimits
from ragcore.ports import ChatModel
from work.kinds import Checkpoint, JobKind, job_kind
from work.models import OPEN, Job

LOADING_SECONDS = 30.0  # before the next look at a model file that is being loaded
LIMITS = ModelLimits(first_token_seconds=180.0, between_tokens_seconds=60.0, total_seconds=300.0)


@job_kind
class ExamineModel(JobKind):
    """One exam; a checkpoint a task. The results so far are in the checkpoint, and stored as a profile at the end."""

    name = EXAMINE_MODEL
    label = _("Exam of a language model")
    queue = "nightly"
    slice_seconds = 60.0
    hang_seconds = 600.0  # of a request
    ends_with_author = False

    def run(self, job: Job) -> Iterator[Checkpoint]:
        setup_refresh(now=True)
        spec = spec_of_fingerprint(job.subject)
        if spec is None and not is_file_loading():
            raise ModelNotUsedError
        tasks = exam_tasks()
        results = [TaskResult(**result) for result in job.checkpoint.get("results", ())]
        if not results and spec is not None and not is_file_loading():
            yield Checkpoint(data={"results": []}, total=len(tasks), write=registry_changed)  # documents are quoted
        while len(results) < len(tasks):
            if spec is None or is_file_loading():  # a task that nobody could answer would count as a failure
                yield Checkpoint(rest_seconds=LOADING_SECONDS)
                return
            results.append(result_of(tasks[len(results)], results, spec))
            is_last = len(results) == len(tasks)
            profile = examined_profile(spec, results) if is_last else None  # asks the server
            yield Checkpoint(
                data={"results": [result.as_json() for result in results]},
                done=len(results),
                total=len(tasks),
                write=partial(_finish, spec, results, profile) if profile is not None else None,
            )

    def state_changed(self, job: Job) -> None:
        if job.state not in OPEN:
            registry_changed()

    def subject_words(self, job: Job) -> str:
        """The name of the model."""
        return str(job.arguments.get("name", ""))

    def panel(self, job: Job) -> list[tuple[Any, Any]]:
        exam = ModelExam.objects.filter(fingerprint=job.subject).first()
        return profile_rows(parse_profile({**exam.profile, **exam.overrides})) if exam is not None else []


def spec_of_fingerprint(fingerprint: str) -> ModelSpec | None:
    """The model in use that has it."""
    return next((spec for spec in setup_now().models.values() if spec.fingerprint == fingerprint), None)


def _model(spec: ModelSpec, habits: ModelProfile) -> ChatModel:
    """A client with all the time that an exam needs, at the first of its servers."""
    return create_server_model(spec.name, client_settings(spec.endpoints[0], LIMITS, habits))


def result_of(task: ExamTask, results: Sequence[TaskResult], spec: ModelSpec) -> TaskResult:
    """What comes of a task behind these results; nobody is asked where it can tell no more.

    Raises ModelUnavailableError where the server is away or refuses the key, so that the exam goes on later.
    """
    if not is_worth_trying(task, results):
        return TaskResult(skill=task.skill, is_right=False, problem="left_out", tokens=task.tokens)
    return asyncio.run(_asked(task, _model(spec, known_habits(results)), is_first=not results))


async def _asked(task: ExamTask, model: ChatModel, *, is_first: bool) -> TaskResult:
    try:
        return await task_run(task, model, is_first=is_first)
    finally:
        close = getattr(model, "close", None)
        if close is not None:
            await close()


def examined_profile(spec: ModelSpec, results: Sequence[TaskResult]) -> ModelProfile:
    """The profile that a whole exam speaks for, with how the server lists the model now."""
    return replace(profile_from(results), listed=listed_at(spec.endpoints[0], spec.name))


def _finish(spec: ModelSpec, results: Sequence[TaskResult], profile: ModelProfile) -> dict[str, Any]:
    exam_store(fingerprint=spec.fingerprint, name=spec.name, results=results, profile=profile)
    return {"way": profile.way}
