"""Deletes old conversations, old traces, citations of deleted documents, and sessions of embedded chats."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from accounts.audit.events import event_add
from accounts.models import User
from accounts.privacy.erase import erase_with
from chat.attachments.files import attachments_remove
from chat.conversations.edits import conversation_remove
from chat.embeds.sessions import sessions_expire
from chat.models import Attachment, Conversation, Message, MessageCitation

BATCH = 200


def retention_run() -> None:
    """Every night, as the settings say, and sessions that are over; safe to interrupt and to repeat."""
    now = timezone.now()
    sessions_expire()
    if settings.KEEP_CONVERSATIONS_DAYS:
        conversations_expire(before=now - timedelta(days=settings.KEEP_CONVERSATIONS_DAYS))
    if settings.KEEP_TRACES_DAYS:
        traces_expire(before=now - timedelta(days=settings.KEEP_TRACES_DAYS))
    if settings.PURGE_CITED:
        citations_expire(before=now - timedelta(days=settings.PURGE_AFTER_DAYS))


def conversations_expire(*, before: datetime) -> int:
    """Remove conversations without a turn since then, pinned ones, too; returns how many."""
    old = Conversation.objects.filter(updated__lt=before).exclude(messages__state=Message.State.RUNNING)
    counts = dict(old.order_by().values_list("tenant_id").annotate(Count("pk", distinct=True)))
    for tenant_id, count in counts.items():
        data = {"conversations": count, "before": before.isoformat()}
        event_add(actor=None, tenant_id=tenant_id, action="conversations.expire", target=str(count), data=data)
    removed = 0
    while ids := list(old.order_by("updated").values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            for conversation in Conversation.objects.select_for_update().filter(pk__in=ids):
                conversation_remove(conversation)
                removed += 1
    return removed


def traces_expire(*, before: datetime) -> int:
    """Forget how old answers came to be; the answers stay. Returns how many there were."""
    return Message.objects.filter(created__lt=before).exclude(trace={}).update(trace={})


@transaction.atomic
def citations_expire(*, before: datetime) -> int:
    """Forget sources that were deleted before then, with the traces of answers that had them; returns how many.

    The text of the answers stays; their markers open nothing. The purge of documents then finds nothing in its way.
    """
    gone = MessageCitation.objects.filter(document__deleted__lt=before)
    Message.objects.filter(pk__in=gone.values("message")).exclude(trace={}).update(trace={})
    return gone.delete()[0]


@erase_with
def conversations_forget(user: User) -> None:
    """Conversations of somebody who is erased, with what stands in Redis of them."""
    for conversation in Conversation.objects.select_for_update().filter(user=user):
        conversation_remove(conversation)
    attachments_remove(Attachment.objects.filter(user=user))
