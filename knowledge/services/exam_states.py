"""How far the exams of language models are, and what the latest one says, for pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Literal

from django.utils.translation import gettext as _

from knowledge.model_exam_words import SHORT_WAYS
from knowledge.models import ModelExam
from knowledge.queue import EXAMINE_MODEL
from ragcore.llm.exam import exam_seconds_left
from ragcore.llm.exam_results import TaskResult
from ragcore.llm.model_profile import parse_profile
from work.models import OPEN, Job

ExamKind = Literal["waiting", "running", "paused", "failed", "cancelled", "finished", "missing"]
MINUTE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamState:
    """The exam of one model. `seconds_left`: at the pace of its tasks so far; None: not known yet."""

    kind: ExamKind
    tasks_over: int = 0
    total: int = 0
    seconds_left: float | None = None
    verdict: Any = ""  # what the latest whole exam, or a person, says of its writing

    @property
    def is_open(self) -> bool:
        """Whether an exam waits or runs."""
        return self.kind in ("waiting", "running", "paused")

    @property
    def words(self) -> str:
        """The state in the language of the reader."""
        if self.kind == "running":
            numbers = {"done": self.tasks_over, "total": self.total}
            words = _("Exam %(done)s of %(total)s") % numbers
            remaining = self._time_words()
            return _("%(exam)s, %(time)s") % {"exam": words, "time": remaining} if remaining else words
        return {
            "waiting": _("The exam begins soon"),
            "paused": _("The exam is paused"),
            "failed": _("The exam failed"),
            "cancelled": _("The exam was cancelled"),
            "finished": str(self.verdict),
            "missing": _("Not examined"),
        }[self.kind]

    def _time_words(self) -> str:
        if self.seconds_left is None:
            return ""
        if self.seconds_left < MINUTE:
            return _("less than a minute left")
        return _("about %(minutes)s min left") % {"minutes": ceil(self.seconds_left / MINUTE)}


def exam_states(fingerprints: Iterable[str]) -> Mapping[str, ExamState]:
    """The exam of each model, by its fingerprint. Models are of the site: callers show them only to who sees models."""
    models = set(fingerprints) - {""}
    exams = {exam.fingerprint: exam for exam in ModelExam.objects.filter(fingerprint__in=models)}
    jobs = Job.objects.filter(kind=EXAMINE_MODEL, subject__in=models).order_by("subject", "-pk").distinct("subject")
    latest = {job.subject: job for job in jobs}
    return {each: _state(exams.get(each), latest.get(each)) for each in models}


def _state(exam: ModelExam | None, job: Job | None) -> ExamState:
    profile = parse_profile({**exam.profile, **exam.overrides}) if exam is not None else None
    has_verdict = exam is not None and (exam.finished is not None or "way" in exam.overrides)
    verdict = SHORT_WAYS[profile.way] if profile is not None and has_verdict else ""
    if job is not None and job.state in OPEN:
        kind: ExamKind = "running" if job.done or job.state == Job.State.RUNNING else "waiting"
        return ExamState(
            kind="paused" if job.state == Job.State.PAUSED else kind,
            tasks_over=job.done,
            total=job.total,
            seconds_left=_seconds_left(job),
            verdict=verdict,
        )
    if job is not None and job.state in ("failed", "cancelled") and not verdict:
        return ExamState(kind="failed" if job.state == "failed" else "cancelled", verdict=verdict)
    return ExamState(kind="finished" if verdict else "missing", verdict=verdict)


def _seconds_left(job: Job) -> float | None:
    return exam_seconds_left([TaskResult(**result) for result in job.checkpoint.get("results", ())])
