"""The inbox."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.authentication import page
from accounts.scope import Scope
from notifications.kinds import sentence_of
from notifications.models import Notification
from notifications.selectors import notifications_of
from notifications.services import notification_read, notifications_read_all

ROWS = 50


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the inbox."""

    row: Notification
    text: str


@require_safe
@never_cache
@page
def inbox(request: HttpRequest, scope: Scope) -> HttpResponse:
    """One's own notifications, newest first."""
    pages = Paginator(notifications_of(scope=scope), ROWS)
    rows_of_page = pages.get_page(request.GET.get("page"))
    entries = [Entry(row, sentence_of(kind=row.kind, data=row.data)) for row in rows_of_page]
    has_unread = notifications_of(scope=scope, unread=True).exists()
    return render(
        request, "notifications/inbox.html", {"page": rows_of_page, "entries": entries, "has_unread": has_unread}
    )


@require_POST
@page
def open_notification(request: HttpRequest, scope: Scope, notification_id: int) -> HttpResponse:
    """Mark a notification as read and go to where it leads."""
    notification = notification_read(scope=scope, notification_id=notification_id)
    return redirect(notification.link or "notifications:inbox")


@require_POST
@page
def read_all(request: HttpRequest, scope: Scope) -> HttpResponse:
    """Mark all as read."""
    notifications_read_all(scope=scope)
    return redirect("notifications:inbox")
