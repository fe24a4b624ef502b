"""Names of the tasks of notifications, and how they are started."""

from __future__ import annotations

import logging

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)

MAINTAIN = "notifications.maintain"
SEND_MAIL = "notifications.send_mail"
QUEUES = {SEND_MAIL: "nightly", MAINTAIN: "nightly"}


def mail_enqueue(*, notification_id: int) -> None:
    """Send the mail of a notification once the running transaction is committed."""
    transaction.on_commit(lambda: _send(notification_id))


def _send(notification_id: int) -> None:
    try:
        current_app.send_task(
            SEND_MAIL, kwargs={"notification_id": notification_id}, queue=QUEUES[SEND_MAIL], retry=False
        )
    except OperationalError as error:
        logger.warning("the broker did not take the mail of notification %s: %s", notification_id, error)
