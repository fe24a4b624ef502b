"""Which branch of a conversation is shown: set by a new turn, and by the reader who pages between versions."""

from __future__ import annotations

import uuid

from django.db import transaction

from accounts.errors import NotFoundError
from accounts.scope import Scope
from chat.branches import Branches, branches_of
from chat.models import Conversation, Message
from chat.selectors import conversation_get


@transaction.atomic
def branch_show(*, scope: Scope, conversation_id: uuid.UUID, message_id: uuid.UUID) -> None:
    """Show the branch with this turn: the newest below it. Raises NotFoundError.

    It does not count as a new turn: the order of conversations stays.
    """
    current = conversation_get(scope=scope, conversation_id=conversation_id)
    conversation = Conversation.objects.select_for_update().get(pk=current.pk)
    branches = branches_of(conversation)
    if message_id not in branches.parents:
        raise NotFoundError("message", message=str(message_id))
    if conversation.leaf_id is not None:
        leaf_move(conversation, branches, branches.branch_with(message_id)[-1])


def leaf_move(conversation: Conversation, branches: Branches, leaf: uuid.UUID) -> None:
    """Make a turn the last one that is shown; `branches` holds it. The caller has locked the conversation.

    A summary of turns that this branch does not have is forgotten: it is made anew when it is needed.
    """
    conversation.leaf_id = leaf
    changed = ["leaf_id"]
    if conversation.summarised_until is not None:
        path = branches.path_to(leaf)
        if not Message.objects.filter(pk__in=path, created=conversation.summarised_until).exists():
            conversation.summary, conversation.summarised_until = "", None
            changed += ["summary", "summarised_until"]
    values = {name: getattr(conversation, name) for name in changed}
    Conversation.objects.filter(pk=conversation.pk).update(**values)
