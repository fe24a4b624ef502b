"""Notifies administrators of low disk space: once a level, and again after a recovery."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from django.core.cache import cache
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from accounts.models import User
from knowledge.disk_space import Volume, volumes
from notifications.kinds import notification_kind
from notifications.services import notification_send

logger = logging.getLogger(__name__)

PLACES: Mapping[str, str] = {
    "files": gettext_noop("files"),
    "database": gettext_noop("database"),
    "temporary": gettext_noop("temporary files"),
}
STEPS = ("ok", "low", "full", "read_only")  # each worse than the one before
TOLD_SECONDS = 24 * 3600  # after which a disk that is still full is told again


def disk_words(data: Mapping[str, Any]) -> dict[str, Any]:
    """Placeholders of the sentences below."""
    places = ", ".join(gettext(PLACES.get(name, name)) for name in data.get("places", ()))
    return {"free": filesizeformat(data.get("free_bytes", 0)), "places": places}


KINDS = {
    "low": notification_kind(
        "disk_low", gettext_noop("The disk is filling up: %(free)s are left for %(places)s."), words=disk_words
    ),
    "full": notification_kind(
        "disk_full",
        gettext_noop("The disk is almost full: %(free)s are left for %(places)s. No more files are accepted."),
        words=disk_words,
    ),
    "read_only": notification_kind(
        "disk_read_only",
        gettext_noop("The disk cannot be written to (%(places)s). No more files are accepted."),
        words=disk_words,
    ),
}


def disk_watch() -> int:
    """Notifies site administrators of places with less space than last notified; returns the number of notifications.

    Safe to run at any time and twice.
    """
    return sum(_watch(volume) for volume in volumes())


def _watch(volume: Volume) -> int:
    key = f"disk-told:{'-'.join(volume.places)}"
    notified_state = str(cache.get(key, "ok"))
    if volume.state == "ok":
        if notified_state != "ok":
            cache.delete(key)
        return 0
    if notified_state in STEPS and STEPS.index(notified_state) >= STEPS.index(volume.state):
        return 0
    logger.warning("disk of %s: %s, %s bytes are free", ", ".join(volume.places), volume.state, volume.free_bytes)
    people = User.objects.filter(is_active=True, is_staff=True, is_superuser=True, tenant__is_default=True)
    data = {"free_bytes": volume.free_bytes, "places": list(volume.places)}
    notifications = notification_send(
        recipients=people, kind=KINDS[volume.state], data=data, link=reverse("admin:index")
    )
    cache.set(key, volume.state, TOLD_SECONDS)
    return len(notifications)
