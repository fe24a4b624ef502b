"""Celery tasks: services called."""

from __future__ import annotations

from smtplib import SMTPException

from celery import shared_task

from notifications import services
from notifications.queue import MAINTAIN, SEND_MAIL


@shared_task(name=SEND_MAIL, autoretry_for=(OSError, SMTPException), retry_backoff=30, max_retries=6)
def send_mail(*, notification_id: int) -> None:
    """Send the mail of one notification."""
    services.notification_mail(notification_id=notification_id)


@shared_task(name=MAINTAIN)
def maintain() -> None:
    """Remove what is older than the settings keep."""
    services.notifications_expire()
