"""Notifies senders that some of their documents could not be processed."""

from __future__ import annotations

from collections.abc import Iterable

from django.urls import reverse
from django.utils.translation import gettext_noop

from knowledge.models import IngestItem, IngestJob
from notifications.kinds import notification_kind
from notifications.models import Notification
from notifications.services import notification_send

FAILED = notification_kind(
    "ingestion.failed", gettext_noop("“%(title)s” could not be processed. See the report of the upload or the sync.")
)


def failures_tell(items: Iterable[IngestItem]) -> None:
    """Once for each job until it is read: who started it, or the owner of its source.

    Only people who may open the report, which is a page of the administration.
    """
    first = {item.job_id: item for item in reversed(list(items))}
    for job in IngestJob.objects.filter(pk__in=first).select_related("created_by", "source__owner"):
        person = job.created_by or (job.source.owner if job.source else None)
        link = reverse("admin:knowledge_ingestjob_change", args=[job.pk])
        if person is None or not person.is_staff:
            continue
        if not Notification.objects.filter(recipient=person, kind=FAILED, link=link, read=None).exists():
            data = {"title": first[job.pk].version.document.title}
            notification_send(recipients=[person], kind=FAILED, data=data, link=link)
