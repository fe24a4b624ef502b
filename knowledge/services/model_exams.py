"""Exams of language models: started by people, or by themselves for a model that is new, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.errors import MissingRightError
from accounts.models import Tenant, User
from accounts.roles import administers
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.model_setup import ModelSpec, circuit, registry_changed, setup_now, setup_refresh
from knowledge.models import EnvironmentModelTest, ModelExam, ModelServer
from knowledge.queue import EXAMINE_MODEL
from knowledge.rights import MODELS_MANAGE
from ragcore.llm.exam_results import TaskResult
from ragcore.llm.exam_tasks import exam_tasks
from ragcore.llm.model_profile import ModelProfile, is_valid, parse_profile
from work.models import Job
from work.services import work_start


def exam_start(*, scope: Scope, actor: User, spec: ModelSpec) -> Job:
    """Examine a model in the background; the exam that is under way where there is one. Raises MissingRightError."""
    _check_right(scope)
    started = _start(spec, actor)
    if started is None:
        raise MissingRightError
    audit_record(actor=actor, action="model.exam", target=spec.name, run=started.pk)
    return started


def exams_start_missing() -> list[Job]:
    """Examine every model in use that never was, or whose server has another one by now, unless LLM_EXAM says no.

    Safe to call twice. An exam that failed or was cancelled is not begun again by itself.
    """
    if not settings.LLM_EXAM:
        return []
    setup_refresh(now=True)
    specs = {spec.fingerprint: spec for spec in setup_now().models.values()}
    exams = {exam.fingerprint: exam for exam in ModelExam.objects.filter(fingerprint__in=specs)}
    tried = set(Job.objects.filter(kind=EXAMINE_MODEL, subject__in=specs).values_list("subject", flat=True))
    missing = [spec for fingerprint, spec in specs.items() if fingerprint not in {*exams, *tried}]
    outdated = [spec for fingerprint, spec in specs.items() if _is_outdated(spec, exams.get(fingerprint))]
    jobs = [_start(spec, None) for spec in (*missing, *outdated)]
    return [job for job in jobs if job is not None]


def other_model(spec: ModelSpec, exam: ModelExam | None) -> str:
    """What the server calls or lists by now in the place of the model that was examined; "" where that is the same.

    By the latest test after the exam; of a model with one server also by the latest answer.
    """
    if exam is None or exam.finished is None or not spec.endpoints:
        return ""
    profile = parse_profile(exam.profile)
    test = _latest_test(spec, exam.finished)
    calls = circuit(spec).figures
    is_newer = len(spec.endpoints) == 1 and calls.last_success is not None and calls.last_success > exam.finished
    for reported in (test.get("reported"), calls.reported if is_newer else ""):
        if reported and profile.reported and reported not in profile.reported:
            return str(reported)
    listed = str(test.get("listed") or "")
    return listed if profile.listed and listed not in ("", profile.listed) else ""


def _latest_test(spec: ModelSpec, since: datetime) -> Mapping[str, Any]:
    """Data of the latest test at the server that exams ask; {} where there was none since then."""
    passed = {"test_code": "ok", "tested__gt": since}
    if spec.is_locked:
        rows = EnvironmentModelTest.objects.filter(fingerprint=spec.fingerprint, **passed).order_by("-tested")
        return rows.values_list("test_data", flat=True).first() or {}
    servers = ModelServer.objects.filter(model__name=spec.name, url=spec.endpoints[0].url, **passed)
    return servers.values_list("test_data", flat=True).first() or {}


def _is_outdated(spec: ModelSpec, exam: ModelExam | None) -> bool:
    """Whether a new exam is to begin by itself: none was begun since the last whole one."""
    if exam is None or not other_model(spec, exam):
        return False
    begun = Job.objects.filter(kind=EXAMINE_MODEL, subject=spec.fingerprint, created__gt=exam.finished)
    return not begun.exists()


@transaction.atomic
def exam_store(*, fingerprint: str, name: str, results: Sequence[TaskResult], profile: ModelProfile) -> ModelExam:
    """Keep what an exam found; what a person has set stays."""
    exam, _is_new = ModelExam.objects.update_or_create(
        fingerprint=fingerprint,
        defaults={
            "name": name,
            "finished": timezone.now(),
            "results": [result.as_json() for result in results],
            "profile": profile.as_json(),
        },
    )
    registry_changed()
    return exam


@transaction.atomic
def exam_override(*, scope: Scope, actor: User, spec: ModelSpec, values: Mapping[str, Any]) -> ModelExam:
    """Set fields of the profile by hand; {} goes back to what the exam found. Raises MissingRightError, ValueError."""
    _check_right(scope)
    if wrong := sorted(name for name, value in values.items() if not is_valid(name, value)):
        raise ValueError(", ".join(wrong))
    exam, _is_new = ModelExam.objects.get_or_create(fingerprint=spec.fingerprint, defaults={"name": spec.name})
    before, exam.overrides = exam.overrides, dict(values)
    exam.save(update_fields=["overrides"])
    registry_changed()
    audit_record(actor=actor, action="model.profile", target=spec.name, before=before, after=exam.overrides)
    return exam


def _start(spec: ModelSpec, actor: User | None) -> Job | None:
    """A job of the default tenant; None before there is one, and for a model in this process."""
    tenant = Tenant.objects.filter(is_default=True).first()
    if tenant is None or not spec.endpoints:
        return None
    started = work_start(
        kind=EXAMINE_MODEL,
        tenant_id=tenant.pk,
        author=actor,
        subject=spec.fingerprint,
        arguments={"name": spec.name},
        total=len(exam_tasks()),
    )
    return started.job


def _check_right(scope: Scope) -> None:
    if not administers(scope=scope, doing=MODELS_MANAGE):
        raise MissingRightError
