"""Adds, lists and deletes attached files; each person sees only their own."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress

from django.conf import settings
from django.core.files.base import File
from django.db import transaction
from django.db.models import Q, QuerySet, Sum

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from chat.errors import AttachmentNotReadyError, AttachmentTooLargeError, TooManyAttachmentsError
from chat.models import Attachment, Conversation
from chat.queue import READ_ATTACHMENT
from chat.selectors import conversation_get
from knowledge.disk_space import space_require
from ragcore.errors import EmptyDocumentError
from ragcore.parsing import format_of
from work.services import work_start

MEBIBYTE = 1024 * 1024
MOST_FILES = 10  # of a conversation
MOST_WAITING = 50  # files that wait for a first question, in all new chats of a person
NAME_CHARACTERS = 255


def attachments_owned(*, scope: Scope) -> QuerySet[Attachment]:
    """The asker's attached files: nobody reads those of another.

    In an embedded chat those of conversations that go on there, and those that wait for a first question.
    """
    rows = _of_person(scope)
    if scope.embed is None:
        return rows
    here = Q(conversation__embed=scope.embed, conversation__goes_on_in_embed=True)
    return rows.filter(Q(conversation=None) | here)


def _of_person(scope: Scope) -> QuerySet[Attachment]:
    """All of the person's files, wherever they were attached: together they count."""
    return Attachment.objects.filter(user_id=scope.user_id, tenant_id=scope.tenant_id)


def attachment_get(*, scope: Scope, key: uuid.UUID | str) -> Attachment:
    """One of the asker's attached files. Raises NotFoundError."""
    row = None
    with suppress(ValueError):
        row = attachments_owned(scope=scope).filter(key=uuid.UUID(str(key))).first()
    if row is None:
        raise NotFoundError("attachment", attachment=str(key))
    return row


def attachments_listed(*, scope: Scope, conversation: Conversation | None) -> list[Attachment]:
    """The files of a conversation of the asker, or those that wait for the first question of a new one."""
    return list(attachments_owned(scope=scope).filter(conversation=conversation).order_by("created", "pk"))


@transaction.atomic
def attachment_add(*, scope: Scope, name: str, content: File[bytes], conversation_id: str | None = None) -> Attachment:
    """Store a file and have it read. Without a conversation it waits for the first question that names it.

    Raises AttachmentTooLargeError, EmptyDocumentError, UnsupportedFormatError, TooManyAttachmentsError, NotFoundError
    for a conversation that is not the asker's.
    """
    name = " ".join(name.replace("\x00", "").split())
    size = content.size
    if size > settings.MAX_ATTACHMENT_BYTES:
        raise AttachmentTooLargeError(limit_mb=settings.MAX_ATTACHMENT_BYTES // MEBIBYTE)
    ending = format_of(name)
    if size == 0:
        raise EmptyDocumentError("no_bytes")
    if len(name) > NAME_CHARACTERS:
        name = name[: NAME_CHARACTERS - len(ending)] + ending
    conversation = conversation_get(scope=scope, conversation_id=conversation_id) if conversation_id else None
    User.objects.select_for_update(no_key=True).get(pk=scope.user_id)  # files that come together count together
    files = _of_person(scope)
    there = files.filter(conversation=conversation).count()
    if conversation is None and there >= MOST_WAITING:
        raise TooManyAttachmentsError("waiting", limit=MOST_WAITING)
    if conversation is not None and there >= MOST_FILES:
        raise TooManyAttachmentsError(limit=MOST_FILES)
    stored = files.aggregate(total=Sum("size_bytes"))["total"] or 0
    if stored + size > settings.MAX_ATTACHMENTS_BYTES:
        raise TooManyAttachmentsError("bytes", limit_mb=settings.MAX_ATTACHMENTS_BYTES // MEBIBYTE)
    row = Attachment(
        tenant_id=scope.tenant_id, user_id=scope.user_id, conversation=conversation, name=name, size_bytes=size
    )
    space_require(size)
    row.file.save(name, content, save=False)
    try:
        row.save()
    except BaseException:
        row.file.storage.delete(row.file.name or "")
        raise
    reading_start(row)
    return row


def reading_start(attachment: Attachment) -> None:
    """Have the file read in the background."""
    work_start(
        kind=READ_ATTACHMENT,
        tenant_id=attachment.tenant_id,
        author=attachment.user,
        subject=f"file:{attachment.pk}",
        arguments={"attachment_id": attachment.pk},
    )


@transaction.atomic
def attachment_delete(*, scope: Scope, key: uuid.UUID | str) -> None:
    """Remove a file with its passages; answers that quote it keep their text. Raises NotFoundError."""
    attachments_remove([attachment_get(scope=scope, key=key)])


def attachments_remove(rows: Iterable[Attachment]) -> int:
    """Remove files with their passages, without asking whose they are. Call in a transaction; returns how many."""
    listed = list(rows)
    Attachment.objects.filter(pk__in=[row.pk for row in listed]).delete()
    for row in listed:
        files_forget(row)
    return len(listed)


def files_forget(row: Attachment) -> None:
    """Remove the stored file once the running transaction has removed its row."""
    storage, name = row.file.storage, row.file.name
    if name:
        transaction.on_commit(lambda: storage.delete(name))


def attachments_check(*, scope: Scope, keys: Sequence[str], conversation: Conversation) -> None:
    """Raise NotFoundError for a file that is not the asker's or belongs to another conversation,
    AttachmentNotReadyError for one that has not been read, TooManyAttachmentsError for more than a conversation may
    have.
    """
    has = {str(key) for key in conversation.attachments.values_list("key", flat=True)} if keys else set()
    if len(has.union(keys)) > MOST_FILES:
        raise TooManyAttachmentsError(limit=MOST_FILES)
    for key in keys:
        row = attachment_get(scope=scope, key=key)
        if row.conversation_id not in (None, conversation.pk):
            raise NotFoundError("attachment", attachment=key)
        if row.state != Attachment.State.READY:
            reason = "failed" if row.state == Attachment.State.FAILED else ""
            raise AttachmentNotReadyError(reason, attachment=key, name=row.name)


def attachments_bind(*, user_id: int, keys: Sequence[str], conversation: Conversation) -> None:
    """Files that waited for a first question belong to its conversation from now on; `attachments_check` was done."""
    if keys:
        waiting = Attachment.objects.filter(user_id=user_id, key__in=keys, conversation=None)
        waiting.update(conversation=conversation)
