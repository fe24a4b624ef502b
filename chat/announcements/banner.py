"""Announcements: which ones a person sees, and how they are written, changed and dismissed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from chat.models import Announcement, AnnouncementDismissal
from chat.rendering import render_notice
from knowledge.models.sets import is_chinese

SHOWN = 3  # at once, the most urgent first
URGENCY = (Announcement.Level.URGENT, Announcement.Level.WARNING, Announcement.Level.INFO)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncementView:
    """One announcement as its reader sees it."""

    id: int
    level: str
    html: str  # sanitised
    lang: str
    is_dismissible: bool


def announcements_current(*, scope: Scope) -> QuerySet[Announcement]:
    """Announcements of the asker's tenant that are shown at this moment to somebody."""
    now = timezone.now()
    rows = Announcement.objects.filter(tenant_id=scope.tenant_id, is_active=True)
    return rows.filter(Q(begins=None) | Q(begins__lte=now), Q(ends=None) | Q(ends__gt=now))


def announcements_shown(*, scope: Scope) -> list[AnnouncementView]:
    """What the asker sees now, the most urgent first, without what they have dismissed since it last changed."""
    dismissals = AnnouncementDismissal.objects.filter(user_id=scope.user_id).values_list("announcement", "edition")
    rows = [row for row in announcements_current(scope=scope) if (row.pk, row.edition) not in set(dismissals)]
    rows.sort(key=lambda row: (URGENCY.index(Announcement.Level(row.level)), -row.pk))
    return [_view(row) for row in rows[:SHOWN]]


def _view(row: Announcement) -> AnnouncementView:
    """In the reader's language; in the other one where nothing is written in it."""
    is_zh = bool(row.text_zh) and (is_chinese() or not row.text)
    return AnnouncementView(
        id=row.pk,
        level=row.level,
        html=render_notice(row.text_zh if is_zh else row.text),
        lang="zh-Hans" if is_zh else "en",
        is_dismissible=row.is_dismissible,
    )


def announcement_dismiss(*, scope: Scope, announcement_id: int) -> None:
    """The asker has read it and does not want to see it until it changes. Twice changes nothing.

    Raises NotFoundError for what is not shown in their tenant, or may not be dismissed.
    """
    row = announcements_current(scope=scope).filter(pk=announcement_id, is_dismissible=True).first()
    if row is None:
        raise NotFoundError("announcement", announcement=announcement_id)
    AnnouncementDismissal.objects.update_or_create(
        announcement=row, user_id=scope.user_id, defaults={"edition": row.edition}
    )


@transaction.atomic
def announcement_save(*, actor: User, row: Announcement, before: Mapping[str, Any] | None) -> Announcement:
    """Store a new announcement, or a changed one. Who dismissed it sees it again with other words or another level.

    `before`: values of the stored row, None for a new one. The caller has checked that the actor administers
    the tenant.
    """
    fields = ("text", "text_zh", "level")
    if before is not None and any(before[name] != getattr(row, name) for name in fields):
        row.edition += 1
    row.save()
    changes = [] if before is None else [name for name in before if before[name] != getattr(row, name)]
    action = "announcement.create" if before is None else "announcement.change"
    audit_record(actor=actor, action=action, target=str(row), announcement=row.pk, fields=changes)
    return row


@transaction.atomic
def announcement_delete(*, actor: User, row: Announcement) -> None:
    """Remove an announcement for good. The caller has checked that the actor administers the tenant."""
    audit_record(actor=actor, action="announcement.delete", target=str(row), announcement=row.pk)
    row.delete()
