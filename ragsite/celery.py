"""The Celery application."""

import os

from celery import Celery
from celery.schedules import crontab

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")

app = Celery("ragsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.conf.beat_schedule = {
    "sweep expired leases": {
        "task": "knowledge.sweep_ingest_leases",
        "schedule": 20.0,  # seconds
        "options": {"queue": "ingest", "expires": 20},
    },
    "end turns whose web process died": {
        "task": "chat.sweep_turns",
        "schedule": 30.0,
        "options": {"queue": "chat", "expires": 30},
    },
    "keep index statistics": {
        "task": "knowledge.refresh_indexes",
        "schedule": crontab(minute="*/5"),
        "options": {"queue": "nightly", "expires": 300},
    },
}
