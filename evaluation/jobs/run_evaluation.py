"""Asks the cases of an evaluation run, with each of its configurations.

The outcome of a case is stored with its checkpoint, so that a worker that is killed loses the case that it had in hand
and no other, and none is asked twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from evaluation.models import EvaluationRun
from evaluation.queue import RUN_EVALUATION
from evaluation.services.gates import changes_settle
from evaluation.services.runs.asking import RunWork, outcome_store
from evaluation.services.runs.lifecycle import run_finish, run_follow
from work.kinds import Checkpoint, JobKind, job_kind
from work.models import Job


@job_kind
class RunEvaluation(JobKind):
    """One run, with the rights of its author. `done` counts cases times configurations."""

    name = RUN_EVALUATION
    label = _("Evaluation run")
    queue = "diagnosis"
    slice_seconds = 10.0  # what else waits for the worker comes between two slices
    hang_seconds = 600.0  # more than any single case takes, with a slow model and a judge
    needs_author = True

    def run(self, job: Job) -> Iterator[Checkpoint]:
        run = _run(job)
        if run is None:
            return
        if run.is_open:
            yield from _cases(job, run)
            yield Checkpoint(write=partial(run_finish, run=run))
        changes_settle(run_id=run.pk)  # outside of the lock of the job: those who discard a change take theirs first

    def state_changed(self, job: Job) -> None:
        run_id = job.arguments["run_id"]
        run_follow(run_id=run_id, job_state=job.state)
        if not job.is_open:
            transaction.on_commit(partial(changes_settle, run_id=run_id))

    def subject_words(self, job: Job) -> str:
        """The name of the golden set."""
        run = _run(job)
        return run.golden_set.name if run is not None else ""


def _run(job: Job) -> EvaluationRun | None:
    """None where its golden set was deleted."""
    return EvaluationRun.objects.select_related("golden_set", "version").filter(pk=job.arguments["run_id"]).first()


def _cases(job: Job, run: EvaluationRun) -> Iterator[Checkpoint]:
    assert job.author is not None
    work = RunWork(run, job.author)
    for pending in work.pending():
        result = work.result(pending)
        yield Checkpoint(
            data={"case": pending.case, "configuration": pending.configuration.position},
            done=job.done + 1,
            write=partial(outcome_store, pending=pending, result=result),
        )
