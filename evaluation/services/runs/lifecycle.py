"""Runs of golden sets: started, paused, resumed, cancelled.

Jobs ask their cases (`evaluation/jobs/run_evaluation.py`). The row of a run keeps what is measured, and shows the state
of its job.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from evaluation.errors import NothingToEvaluateError, RunNotOpenError, RunUnfinishedError, TooManyConfigurationsError
from evaluation.models import EvaluationRun, GoldenSet, RunConfiguration
from evaluation.queue import RUN_EVALUATION
from evaluation.services.golden import version_keep
from evaluation.services.runs.asking import run_figures_store
from evaluation.services.runs.plans import LIVE, ConfigurationPlan, Given
from knowledge.services.options import options_merge
from ragcore.options import options_sha256
from work.models import Job
from work.runner import slice_run
from work.services import job_act_now, work_start

MOST_CONFIGURATIONS = 6
State = EvaluationRun.State
OF_JOB: Final[Mapping[str, State]] = MappingProxyType(
    {
        Job.State.QUEUED: State.RUNNING,
        Job.State.PAUSED: State.PAUSED,
        Job.State.FAILED: State.FAILED,
        Job.State.CANCELLED: State.CANCELLED,
    }
)  # state of a job → of its run


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fingerprint:
    component: str
    retrieval_mode: str
    options: Given


@transaction.atomic
def run_start(
    *,
    scope: Scope,
    user: User,
    golden_set: GoldenSet,
    configurations: Sequence[ConfigurationPlan],
    limit: int | None = None,
    calls_worker: bool = True,
    actor: User | None = None,
) -> EvaluationRun:
    """Queue the cases of a golden set, as they are now, for each configuration; they are asked with the user's rights.

    `limit`: the first cases only. `actor`: who starts it, if not the user. Raises NothingToEvaluateError,
    TooManyConfigurationsError, InvalidOptionsError.
    """
    names = {plan.name for plan in configurations}
    if not 1 <= len(configurations) <= MOST_CONFIGURATIONS or len(names) < len(configurations):
        raise TooManyConfigurationsError
    for plan in configurations:
        options_merge({}, plan.options, layer=plan.name)
    version = version_keep(golden_set=golden_set, actor=user)
    cases = len(version.cases[:limit])
    if not cases:
        raise NothingToEvaluateError
    run = EvaluationRun.objects.create(
        golden_set=golden_set,
        version=version,
        requested_by=user,
        state=State.RUNNING,
        limit=limit,
        total=cases * len(configurations),
        options=_plain(configurations[0].options),
        options_sha256=_sha256(configurations[0]),
    )
    _configurations_store(run, configurations)
    counts = {"cases": cases, "configurations": len(names)}
    audit_record(actor=actor or user, action="run.start", target=golden_set.name, run=run.pk, **counts)
    work_start(
        kind=RUN_EVALUATION,
        tenant_id=golden_set.tenant_id,
        author=user,
        subject=_subject(run),
        arguments={"run_id": run.pk},
        total=run.total,
        is_called=calls_worker,
    )
    return run


def _configurations_store(run: EvaluationRun, plans: Sequence[ConfigurationPlan]) -> None:
    for position, plan in enumerate(plans):
        RunConfiguration.objects.create(
            run=run,
            position=position,
            name=plan.name,
            component=plan.component,
            retrieval_mode=plan.retrieval_mode,
            options=_plain(plan.options),
            tried=plan.tried.stored,
            options_sha256=_sha256(plan),
        )


def _subject(run: EvaluationRun) -> str:
    return f"evaluation_run:{run.pk}"


def run_job(*, run: EvaluationRun) -> Job | None:
    """The job of a run; None: one that was over before runs had jobs."""
    return Job.objects.filter(kind=RUN_EVALUATION, tenant_id=run.golden_set.tenant_id, subject=_subject(run)).first()


def run_pause(*, run: EvaluationRun, actor: User) -> EvaluationRun:
    """The cases that are left wait; the one in hand is asked again. Raises RunNotOpenError."""
    return _run_move(run, actor, "pause")


def run_resume(*, run: EvaluationRun, actor: User) -> EvaluationRun:
    """Go on with the cases that are left. Raises RunNotOpenError."""
    return _run_move(run, actor, "resume")


def run_cancel(*, run: EvaluationRun, actor: User) -> EvaluationRun:
    """End the run; figures of the cases that are done are kept. Raises RunNotOpenError."""
    return _run_move(run, actor, "cancel")


@transaction.atomic
def _run_move(run: EvaluationRun, actor: User, act: str) -> EvaluationRun:
    row = EvaluationRun.objects.get(pk=run.pk)
    if not row.is_open:
        raise RunNotOpenError
    job = run_job(run=row)
    if job is not None and job_act_now(job, act):
        audit_record(actor=actor, action=f"run.{act}", target=row.golden_set.name, run=row.pk)
    row.refresh_from_db()
    return row


def run_follow(*, run_id: int, job_state: str) -> None:
    """Let a run show what has become of its job; one that is done stays so."""
    run = EvaluationRun.objects.exclude(state=State.DONE).filter(pk=run_id).first()
    if run is None:
        return
    run.state = OF_JOB[job_state]
    run.finished = None if run.is_open else timezone.now()
    run.save(update_fields=["state", "finished"])
    if run.state == State.CANCELLED:
        run_figures_store(run=run)


def run_finish(*, run: EvaluationRun) -> None:
    """All cases are asked: the run has its figures."""
    run_figures_store(run=run)
    EvaluationRun.objects.filter(pk=run.pk).update(state=State.DONE, finished=timezone.now())


def evaluation_run(
    *,
    scope: Scope,
    user: User,
    golden_set: GoldenSet,
    configurations: Sequence[ConfigurationPlan] = (LIVE,),
    limit: int | None = None,
    on_case: Callable[[int, int], None] | None = None,
) -> EvaluationRun:
    """A whole run in this process; `on_case` hears (done, total).

    Raises what `run_start` raises, and RunUnfinishedError where it has failed or is left to a worker.
    """
    run = run_start(
        scope=scope, user=user, golden_set=golden_set, configurations=configurations, limit=limit, calls_worker=False
    )
    job = run_job(run=run)
    assert job is not None
    on_checkpoint = None if on_case is None else lambda job: on_case(job.done, job.total)
    slice_run(job_id=job.pk, seconds=float("inf"), on_checkpoint=on_checkpoint)
    run.refresh_from_db()
    if run.state != State.DONE:
        raise RunUnfinishedError(run=run.pk)
    return run


def _plain(options: Given) -> dict[str, dict[str, Any]]:
    return {code: dict(values) for code, values in options.items() if values}


def _sha256(plan: ConfigurationPlan) -> str:
    return options_sha256(
        _Fingerprint(
            component=str(plan.component),
            retrieval_mode=plan.retrieval_mode,
            options={**_plain(plan.options), **plan.tried.stored},
        )
    )
