"""Reading one's own notifications."""

from __future__ import annotations

from django.db.models import QuerySet

from accounts.scope import Scope
from notifications.models import Notification


def notifications_of(*, scope: Scope, unread: bool = False) -> QuerySet[Notification]:
    """The asker's own, newest first."""
    rows = Notification.objects.filter(recipient_id=scope.user_id).order_by("-pk")
    return rows.filter(read=None) if unread else rows


def unread_count(*, user_id: int) -> int:
    """How many a person has not read."""
    return Notification.objects.filter(recipient_id=user_id, read=None).count()
