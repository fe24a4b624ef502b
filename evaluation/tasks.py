"""Celery tasks: services called."""

from __future__ import annotations

from celery import shared_task

from evaluation.queue import (
    DIAGNOSE_AT_NIGHT,
    MEASURE_LEXICONS,
    SEND_REPORTS,
    WATCH_EXPERIMENTS,
)
from evaluation.services.case_diagnosis import diagnosis_runs_at_night
from evaluation.services.experiment_watch import experiments_watch
from evaluation.services.lexicon_effect import lexicons_measure
from evaluation.services.weekly_sending import weekly_reports_send


@shared_task(name=DIAGNOSE_AT_NIGHT)
def diagnose_at_night() -> None:
    """Start a run in every tenant that has cases without a diagnosis."""
    diagnosis_runs_at_night()


@shared_task(name=SEND_REPORTS)
def send_reports() -> None:
    """Send reviewers and owners the weekly report."""
    weekly_reports_send()


@shared_task(name=MEASURE_LEXICONS)
def measure_lexicons() -> None:
    """Compare searches with and without lexicons that were published since."""
    lexicons_measure()


@shared_task(name=WATCH_EXPERIMENTS)
def watch_experiments() -> None:
    """Stop experiments whose candidate is worse, and say which one is better."""
    experiments_watch()
