"""Links under which colleagues read an answer or a conversation: made, revoked and opened, each recorded."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from accounts.audit.events import event_add
from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from chat.errors import NotSharableError
from chat.models import Message, SharedLink
from chat.selectors import message_get

DAYS = (7, 30, 90)  # for which a link may be open


def links_of(*, scope: Scope) -> QuerySet[SharedLink]:
    """The asker's own links, the newest first."""
    rows = SharedLink.objects.filter(user_id=scope.user_id, tenant_id=scope.tenant_id)
    return rows.select_related("message__conversation").order_by("-created", "-pk")


@transaction.atomic
def link_create(*, scope: Scope, message_id: uuid.UUID | str, is_whole: bool, days: int) -> SharedLink:
    """Make a link to one of the asker's answers, or to its conversation up to it. What is asked later is not shared.

    Raises NotFoundError; NotSharableError while the answer is not there.
    """
    message = message_get(scope=scope, message_id=message_id)
    if message.state not in (Message.State.DONE, Message.State.STOPPED):
        raise NotSharableError
    link = SharedLink.objects.create(
        tenant_id=scope.tenant_id,
        user_id=scope.user_id,
        message=message,
        is_whole=is_whole,
        expires=timezone.now() + timedelta(days=days),
    )
    data = {"message": str(message.pk), "whole": is_whole, "days": days}
    event_add(actor=User.objects.get(pk=scope.user_id), action="answer.share", target=_title(link), data=data)
    return link


@transaction.atomic
def link_revoke(*, scope: Scope, key: uuid.UUID) -> None:
    """End one of the asker's links; twice changes nothing. Raises NotFoundError."""
    link = (
        SharedLink.objects.select_for_update().filter(user_id=scope.user_id, tenant_id=scope.tenant_id, key=key).first()
    )
    if link is None:
        raise NotFoundError("link")
    if link.revoked is not None:
        return
    link.revoked = timezone.now()
    link.save(update_fields=["revoked"])
    data = {"message": str(link.message_id)}
    event_add(actor=User.objects.get(pk=scope.user_id), action="answer.unshare", target=_title(link), data=data)


@transaction.atomic
def link_open(*, scope: Scope, key: uuid.UUID) -> SharedLink:
    """An open link of the asker's organisation; that somebody else opened it is recorded and counted.

    Raises NotFoundError, which does not tell whether there ever was such a link.
    """
    rows = SharedLink.objects.select_related("message__conversation", "user")
    rows = rows.filter(tenant_id=scope.tenant_id, user__is_active=True, user__tenant_id=scope.tenant_id)
    link = rows.filter(key=key).first()
    if link is None or not link.is_open:
        raise NotFoundError("link")
    if link.user_id != scope.user_id:
        SharedLink.objects.filter(pk=link.pk).update(opened=F("opened") + 1, last_opened=timezone.now())
        data = {"message": str(link.message_id), "shared_by": link.user.username}
        event_add(actor=User.objects.get(pk=scope.user_id), action="answer.open_shared", target=_title(link), data=data)
    return link


def _title(link: SharedLink) -> str:
    """For the log, which others read: the id, not the words of the question."""
    return str(link.message.conversation_id) if link.is_whole else str(link.message_id)
