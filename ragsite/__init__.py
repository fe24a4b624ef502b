"""The site: settings, URLs, the two ways to run."""

from ragsite.celery import app as celery_app

__all__ = ["celery_app"]
