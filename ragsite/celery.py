"""The Celery application."""

import logging.config
import os
from typing import Any

from celery import Celery, signals
from celery.schedules import crontab
from django.conf import settings

from accounts import queue as accounts_queue
from chat import queue as chat_queue
from evaluation import queue as evaluation_queue
from feedback import queue as feedback_queue
from knowledge import queue as knowledge_queue
from notifications import queue as notifications_queue
from work import queue as work_queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")

app = Celery("ragsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
QUEUES = {
    **accounts_queue.QUEUES,
    **chat_queue.QUEUES,
    **evaluation_queue.QUEUES,
    **feedback_queue.QUEUES,
    **knowledge_queue.QUEUES,
    **notifications_queue.QUEUES,
    **work_queue.QUEUES,
}
NIGHTLY = (
    chat_queue.MAINTAIN,
    feedback_queue.MAINTAIN,
    knowledge_queue.PURGE,
    knowledge_queue.TELL_REVIEWS,
    notifications_queue.MAINTAIN,
)
PLAN: dict[str, dict[str, Any]] = {
    "sweep expired leases": {
        "task": knowledge_queue.SWEEP_INGEST_LEASES,
        "schedule": 10.0,  # seconds
        # not on the queue that it watches: busy ingestion must not delay the finding of lost work
        "options": {"expires": 10},
    },
    "find a worker for background jobs that lost theirs": {
        "task": work_queue.SWEEP_JOBS,
        "schedule": 30.0,
        "options": {"expires": 30},
    },
    "start background work that is due": {
        "task": work_queue.START_DUE,
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    "look at the free space of the disk": {
        "task": knowledge_queue.WATCH_DISK,
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    "compare documents that went live": {
        "task": knowledge_queue.RECORD_DUPLICATES,
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    "end turns whose web process died": {
        "task": chat_queue.SWEEP_TURNS,
        "schedule": 30.0,
        "options": {"expires": 30},
    },
    "start due sources": {
        "task": knowledge_queue.START_DUE_SOURCES,
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    "keep another search backend in step": {
        "task": knowledge_queue.APPLY_BACKEND_CHANGES,
        "schedule": 30.0,
        "options": {"expires": 30},
    },
    "ask the model again for what rules wrote": {
        "task": knowledge_queue.START_RETRIES,
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    "open cases of answers that did not help": {
        "task": feedback_queue.CHECK_ANSWERS,
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    "look at experiments": {
        "task": evaluation_queue.WATCH_EXPERIMENTS,
        "schedule": crontab(minute="*/5"),
        "options": {"expires": 300},
    },
    "draw refusal lines of sets that have changed": {
        "task": knowledge_queue.DRAW_REFUSAL_LINES,
        "schedule": crontab(minute="*/5"),
        "options": {"expires": 300},
    },
    "keep index statistics": {
        "task": knowledge_queue.REFRESH_INDEXES,
        "schedule": crontab(minute="*/5"),
        "options": {"expires": 300},
    },
}
for entry in PLAN.values():
    entry["options"]["queue"] = QUEUES[entry["task"]]
app.conf.beat_schedule = PLAN


@signals.setup_logging.connect
def keep_logging(**kwargs: Any) -> None:
    """Workers and scheduler write logs as the web process does (LOG_LEVEL, LOG_FORMAT); Celery sets up none then."""
    logging.config.dictConfig(settings.LOGGING)


@signals.task_prerun.connect
def read_models(**kwargs: Any) -> None:
    """Reads the model registry before each task: a new process has none, and others change it."""
    from knowledge.model_setup import setup_refresh  # settings import this module

    setup_refresh()


@app.on_after_configure.connect
def plan_maintenance(sender: Celery, **kwargs: Any) -> None:
    """Schedules maintenance at MAINTENANCE_HOUR; settings are read here because they import this module."""
    plan = sender.conf.beat_schedule
    plan["keep what may be kept"] = _in_quiet_hour(accounts_queue.MAINTAIN, minute=30)
    for minute, task in enumerate(NIGHTLY, 35):
        plan[task] = _in_quiet_hour(task, minute=minute)
    plan["diagnose cases"] = _in_quiet_hour(evaluation_queue.DIAGNOSE_AT_NIGHT, minute=45)
    plan["learn from use"] = _in_quiet_hour(feedback_queue.LEARN_FROM_USE, minute=55)
    plan["weekly report"] = _in_quiet_hour(evaluation_queue.SEND_REPORTS, minute=50, day_of_week="monday")
    plan["measure lexicons"] = _in_quiet_hour(evaluation_queue.MEASURE_LEXICONS, minute=50)
    plan["purge and rebuild"] = _in_quiet_hour(knowledge_queue.MAINTAIN, minute=0, day_of_week="sunday")


def _in_quiet_hour(task: str, *, minute: int, day_of_week: str = "*") -> dict[str, Any]:
    return {
        "task": task,
        "schedule": crontab(minute=str(minute), hour=str(settings.MAINTENANCE_HOUR), day_of_week=day_of_week),
        "options": {"queue": QUEUES[task], "expires": 3600},
    }
