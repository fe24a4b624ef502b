"""Turns whose process has died."""

from __future__ import annotations

from datetime import timedelta

import redis
from django.conf import settings
from django.utils import timezone

from chat.models import Message
from chat.redis_client import alive_key
from chat.turns.stream_reader import interrupted_message

GRACE_SECONDS = 30  # a turn that has just begun may not have its heartbeat yet


def turns_sweep() -> int:
    """Mark running messages without a heartbeat as failed (code "interrupted"); how many. Safe to run twice."""
    before = timezone.now() - timedelta(seconds=GRACE_SECONDS)
    running = list(Message.objects.filter(state=Message.State.RUNNING, created__lt=before).values_list("pk", flat=True))
    if not running:
        return 0
    with redis.Redis.from_url(settings.REDIS_URL) as store:
        alive = store.mget([alive_key(pk) for pk in running])
    dead = [pk for pk, beat in zip(running, alive, strict=True) if beat is None]
    return Message.objects.filter(pk__in=dead, state=Message.State.RUNNING).update(
        state=Message.State.FAILED,
        error_code="interrupted",
        error_message=interrupted_message(),
        finished=timezone.now(),
    )
