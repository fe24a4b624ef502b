"""Celery tasks: services called."""

from __future__ import annotations

from celery import shared_task

from evaluation.models import EvaluationRun
from evaluation.queue import (
    ADVANCE_RUN,
    DIAGNOSE_AT_NIGHT,
    FIT_RERANKER,
    MEASURE_LEXICONS,
    RESUME_RUNS,
    RESUME_TRAININGS,
    SEND_REPORTS,
    TRAIN_ADAPTER,
    WATCH_CHANGES,
    WATCH_EXPERIMENTS,
)
from evaluation.services.adapter_training import training_advance, trainings_resume
from evaluation.services.case_diagnosis import diagnosis_runs_at_night
from evaluation.services.experiment_watch import experiments_watch
from evaluation.services.gates import changes_watch
from evaluation.services.lexicon_effect import lexicons_measure
from evaluation.services.reranker_fitting import fit_advance, fits_resume
from evaluation.services.runs import run_advance, runs_resume
from evaluation.services.weekly_sending import weekly_reports_send
from evaluation.services.worker_calls import call_stands
from knowledge.models import QueryAdapter, RerankerFit


@shared_task(name=DIAGNOSE_AT_NIGHT)
def diagnose_at_night() -> None:
    """Start a run in every tenant that has cases without a diagnosis."""
    diagnosis_runs_at_night()


@shared_task(name=SEND_REPORTS)
def send_reports() -> None:
    """Send reviewers and owners the weekly report."""
    weekly_reports_send()


@shared_task(name=ADVANCE_RUN)
def advance_run(*, run_id: int, takes: int | None = None) -> None:
    """Ask the next cases of an evaluation run."""
    if call_stands(EvaluationRun.objects.filter(pk=run_id), takes=takes):
        run_advance(run_id=run_id)


@shared_task(name=RESUME_RUNS)
def resume_runs() -> None:
    """Call a worker to evaluation runs that lost theirs."""
    runs_resume()


@shared_task(name=MEASURE_LEXICONS)
def measure_lexicons() -> None:
    """Compare searches with and without lexicons that were published since."""
    lexicons_measure()


@shared_task(name=WATCH_EXPERIMENTS)
def watch_experiments() -> None:
    """Stop experiments whose candidate is worse, and say which one is better."""
    experiments_watch()


@shared_task(name=WATCH_CHANGES)
def watch_changes() -> None:
    """Tell people of changes that are measured."""
    changes_watch()


@shared_task(name=TRAIN_ADAPTER)
def train_adapter(*, adapter_id: int, starts: int | None = None) -> None:
    """Fit the query vectors of a set, for one slice."""
    if call_stands(QueryAdapter.objects.filter(pk=adapter_id), starts=starts):
        training_advance(adapter_id=adapter_id)


@shared_task(name=FIT_RERANKER)
def fit_reranker(*, fit_id: int, starts: int | None = None) -> None:
    """Fit the weights of a tenant's reranker, for one slice."""
    if call_stands(RerankerFit.objects.filter(pk=fit_id), starts=starts):
        fit_advance(fit_id=fit_id)


@shared_task(name=RESUME_TRAININGS)
def resume_trainings() -> None:
    """Call a worker to trainings that lost theirs."""
    trainings_resume()
    fits_resume()
