"""What people do with their conversations besides asking. None of it counts as a new turn: the order stays."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.db import transaction

from accounts.scope import Scope
from chat.models import Conversation
from chat.selectors import conversation_get, conversations_of
from knowledge.selectors import sets_readable


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


@transaction.atomic
def conversation_sets(*, scope: Scope, conversation_id: uuid.UUID, sets: Sequence[int]) -> Conversation:
    """Remember where the conversation asks; sets that the asker may not read are left out. Raises NotFoundError."""
    conversation = conversation_get(scope=scope, conversation_id=conversation_id)
    conversation.sets.set(sets_readable(scope=scope).filter(pk__in=sets))
    return conversation


@transaction.atomic
def conversation_delete(*, scope: Scope, conversation_id: uuid.UUID) -> None:
    """Remove a conversation with its answers and what was said about them. Raises NotFoundError."""
    conversation_get(scope=scope, conversation_id=conversation_id).delete()
