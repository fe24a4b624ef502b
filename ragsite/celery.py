"""The Celery application."""

import logging.config
import os
from typing import Any

from celery import Celery, signals
from celery.schedules import crontab
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")

app = Celery("ragsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.conf.beat_schedule = {
    "sweep expired leases": {
        "task": "knowledge.sweep_ingest_leases",
        "schedule": 10.0,  # seconds
        # not on the queue that it watches: busy ingestion must not delay the finding of lost work
        "options": {"queue": "chat", "expires": 10},
    },
    "find a worker for background jobs that lost theirs": {
        "task": "work.sweep_jobs",
        "schedule": 30.0,
        "options": {"queue": "chat", "expires": 30},
    },
    "look at the free space of the disk": {
        "task": "knowledge.watch_disk",
        "schedule": 60.0,
        "options": {"queue": "chat", "expires": 60},
    },
    "compare documents that went live": {
        "task": "knowledge.record_duplicates",
        "schedule": 60.0,
        "options": {"queue": "nightly", "expires": 60},
    },
    "end turns whose web process died": {
        "task": "chat.sweep_turns",
        "schedule": 30.0,
        "options": {"queue": "chat", "expires": 30},
    },
    "start due sources": {
        "task": "knowledge.start_due_sources",
        "schedule": 60.0,
        "options": {"queue": "nightly", "expires": 60},
    },
    "read files of triples, and make vectors of facts": {
        "task": "knowledge.tend_triples",
        "schedule": 60.0,
        "options": {"queue": "nightly", "expires": 60},
    },
    "read documents for the entities that they mention": {
        "task": "knowledge.read_entities",
        "schedule": 60.0,
        "options": {"queue": "nightly", "expires": 60},
    },
    "make vectors that passages lack of an embedding model": {
        "task": "knowledge.fill_vectors",
        "schedule": 60.0,
        "options": {"queue": "nightly", "expires": 60},
    },
    "make vectors that sentences of passages lack": {
        "task": "knowledge.fill_sentences",
        "schedule": 60.0,
        "options": {"queue": "nightly", "expires": 60},
    },
    "make vectors that passages lack of the embedding model of a set": {
        "task": "knowledge.fill_set_vectors",
        "schedule": 60.0,
        "options": {"queue": "nightly", "expires": 60},
    },
    "keep another search backend in step": {
        "task": "knowledge.apply_backend_changes",
        "schedule": 30.0,
        "options": {"queue": "chat", "expires": 30},
    },
    "ask the model again for what rules wrote": {
        "task": "knowledge.retry_representations",
        "schedule": 60.0,
        "options": {"queue": "nightly", "expires": 60, "priority": 9},
    },
    "open cases of answers that did not help": {
        "task": "feedback.check_answers",
        "schedule": 60.0,
        "options": {"queue": "nightly", "expires": 60},
    },
    "find a worker for evaluation runs that lost theirs": {
        "task": "evaluation.resume_runs",
        "schedule": 60.0,
        "options": {"queue": "chat", "expires": 60},
    },
    "look at experiments": {
        "task": "evaluation.watch_experiments",
        "schedule": crontab(minute="*/5"),
        "options": {"queue": "diagnosis", "expires": 300},
    },
    "tell people of changes that are measured": {
        "task": "evaluation.watch_changes",
        "schedule": 60.0,
        "options": {"queue": "nightly", "expires": 60},
    },
    "find a worker for trainings that lost theirs": {
        "task": "evaluation.resume_trainings",
        "schedule": 60.0,
        "options": {"queue": "chat", "expires": 60},
    },
    "draw refusal lines of sets that have changed": {
        "task": "knowledge.draw_refusal_lines",
        "schedule": crontab(minute="*/5"),
        "options": {"queue": "nightly", "expires": 300},
    },
    "keep index statistics": {
        "task": "knowledge.refresh_indexes",
        "schedule": crontab(minute="*/5"),
        "options": {"queue": "nightly", "expires": 300},
    },
}


@signals.setup_logging.connect
def keep_logging(**kwargs: Any) -> None:
    """Workers and scheduler write logs as the web process does (LOG_LEVEL, LOG_FORMAT); Celery sets up none then."""
    logging.config.dictConfig(settings.LOGGING)


@signals.task_prerun.connect
def read_models(**kwargs: Any) -> None:
    """Reads the model registry before each task: a new process has none, and others change it."""
    from knowledge.model_setup import setup_refresh  # settings import this module

    setup_refresh()


NIGHTLY = ("chat.maintain", "feedback.maintain", "knowledge.purge", "knowledge.tell_reviews", "notifications.maintain")


@app.on_after_configure.connect
def plan_maintenance(sender: Celery, **kwargs: Any) -> None:
    """Schedules maintenance at MAINTENANCE_HOUR; settings are read here because they import this module."""
    plan = sender.conf.beat_schedule
    plan["keep what may be kept"] = _in_quiet_hour("accounts.maintain", minute=30)
    for minute, task in enumerate(NIGHTLY, 35):
        plan[task] = _in_quiet_hour(task, minute=minute)
    plan["diagnose cases"] = _in_quiet_hour("evaluation.diagnose_at_night", minute=45, queue="diagnosis")
    plan["learn from use"] = _in_quiet_hour("feedback.learn_from_use", minute=55, queue="diagnosis")
    plan["weekly report"] = _in_quiet_hour("evaluation.send_reports", minute=50, day_of_week="monday")
    plan["measure lexicons"] = _in_quiet_hour("evaluation.measure_lexicons", minute=50, queue="diagnosis")
    plan["purge and rebuild"] = _in_quiet_hour("knowledge.maintain", minute=0, day_of_week="sunday")


def _in_quiet_hour(task: str, *, minute: int, queue: str = "nightly", day_of_week: str = "*") -> dict[str, Any]:
    return {
        "task": task,
        "schedule": crontab(minute=str(minute), hour=str(settings.MAINTENANCE_HOUR), day_of_week=day_of_week),
        "options": {"queue": queue, "expires": 3600},
    }
