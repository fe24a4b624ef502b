"""What people do with their conversations besides asking. None of it counts as a new turn: the order stays."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence

import redis
from django.conf import settings
from django.db import transaction

from accounts.audit.events import event_add
from accounts.models import User
from accounts.scope import Scope
from chat.attachments.files import files_forget
from chat.concurrency.redis_client import events_key
from chat.conversations.memory import session_key
from chat.models import Conversation
from chat.selectors import conversation_get, conversations_of
from knowledge.selectors import sets_readable

logger = logging.getLogger(__name__)


def conversation_rename(*, scope: Scope, conversation_id: uuid.UUID, title: str) -> Conversation:
    """Raises NotFoundError."""
    conversation = conversation_get(scope=scope, conversation_id=conversation_id)
    conversation.title = title
    conversations_of(scope=scope).filter(pk=conversation.pk).update(title=title)
    return conversation


def conversation_pin(*, scope: Scope, conversation_id: uuid.UUID, pinned: bool) -> Conversation:
    """Raises NotFoundError."""
    conversation = conversation_get(scope=scope, conversation_id=conversation_id)
    conversation.pinned = pinned
    conversations_of(scope=scope).filter(pk=conversation.pk).update(pinned=pinned)
    return conversation


def conversation_move(*, scope: Scope, conversation_id: uuid.UUID, folder: str) -> None:
    """Put a conversation into a folder of the asker's list; "" takes it out of its folder. Raises NotFoundError."""
    conversation = conversation_get(scope=scope, conversation_id=conversation_id)
    conversations_of(scope=scope).filter(pk=conversation.pk).update(folder=folder)


def conversation_archive(*, scope: Scope, conversation_id: uuid.UUID, archived: bool) -> None:
    """Take a conversation out of the list, or bring it back; searching finds it either way. Raises NotFoundError."""
    conversation = conversation_get(scope=scope, conversation_id=conversation_id)
    conversations_of(scope=scope).filter(pk=conversation.pk).update(archived=archived)


@transaction.atomic
def conversation_sets(*, scope: Scope, conversation_id: uuid.UUID, sets: Sequence[int]) -> Conversation:
    """Remember where the conversation asks; sets that the asker may not read are left out. Raises NotFoundError."""
    conversation = conversation_get(scope=scope, conversation_id=conversation_id)
    conversation.sets.set(sets_readable(scope=scope).filter(pk__in=sets))
    return conversation


@transaction.atomic
def conversation_delete(*, scope: Scope, conversation_id: uuid.UUID) -> None:
    """Remove a conversation with its answers, what was said about them, and their traces in Redis.

    A turn that is still running is not stored any more. Raises NotFoundError.
    """
    current = conversation_get(scope=scope, conversation_id=conversation_id)
    conversation = Conversation.objects.select_for_update().get(pk=current.pk)  # a turn that ends now waits
    event_add(
        actor=User.objects.get(pk=scope.user_id), action="conversation.delete", target=str(conversation.pk), data={}
    )
    conversation_remove(conversation)


def conversation_remove(conversation: Conversation) -> None:
    """Its rows and what stands in Redis of it, without asking whose it is. Call in a transaction."""
    session = session_key(user_id=conversation.user_id, conversation_id=conversation.pk)
    keys = [session, f"{session}:messages", *map(events_key, conversation.messages.values_list("pk", flat=True))]
    for attachment in conversation.attachments.all():
        files_forget(attachment)
    conversation.delete()
    transaction.on_commit(lambda: _forget(keys))


def _forget(keys: Sequence[str]) -> None:
    try:
        with redis.Redis.from_url(settings.REDIS_URL) as store:
            store.delete(*keys)
    except redis.RedisError:
        logger.exception("a deleted conversation stays in Redis until it expires there")
