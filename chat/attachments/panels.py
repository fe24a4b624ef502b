"""Attached files on the page: what a composer and an answer show of them, and the original for its person."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.safestring import SafeString

from accounts.error_messages import stored_message
from accounts.errors import NotFoundError
from accounts.scope import Scope
from chat import selectors
from chat.attachments.files import attachment_get, attachments_owned
from chat.models import Attachment, AttachmentCitation, Message
from chat.rendering import claim_at
from knowledge.rendering import markdown_html, marked_places


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedPanel:
    """A cited passage of an attached file, with the way to the answer's other sources."""

    message_id: uuid.UUID
    number: int
    position: int  # 1-based, among the message's sources
    total: int
    previous: int | None
    next: int | None
    weak: bool
    is_located: bool  # the words of the claim were found in the passage
    attachment: Attachment
    heading_path: Sequence[str]
    page: int | None
    html: SafeString


def serialize_attachment(row: Attachment) -> dict[str, Any]:
    """One file as clients and the composer see it."""
    return {
        "id": str(row.key),
        "name": row.name,
        "size_bytes": row.size_bytes,
        "state": row.state,
        "progress": {"done": row.progress_done, "total": row.progress_total},
        "pages": row.pages,
        "conversation_id": str(row.conversation_id) if row.conversation_id else None,
        "can_retry": row.state == Attachment.State.FAILED and row.can_retry,
        "error": {
            "code": row.error_code,
            "message": stored_message(row.error_code, row.error_message, row.error_data),
        }
        if row.error_code
        else None,
    }


def attached_citations(*, scope: Scope, messages: Iterable[Message]) -> dict[uuid.UUID, list[AttachmentCitation]]:
    """Message → its citations of attached files that are the asker's own, in order."""
    by_message: dict[uuid.UUID, list[AttachmentCitation]] = {}
    rows = _readable(scope).filter(message__in=[message.pk for message in messages])
    for row in rows.order_by("number"):
        by_message.setdefault(row.message_id, []).append(row)
    return by_message


def attached_names(*, scope: Scope, messages: Iterable[Message]) -> dict[uuid.UUID, list[str]]:
    """Message → names of the files that came with its question."""
    keys_of_message: Mapping[uuid.UUID, Sequence[str]] = {
        message.pk: message.request.get("attachments") or () for message in messages
    }
    keys = {key for keys_of_files in keys_of_message.values() for key in keys_of_files}
    if not keys:
        return {}
    rows = attachments_owned(scope=scope).filter(key__in=keys).values_list("key", "name")
    names = {str(key): name for key, name in rows}
    return {pk: [names[key] for key in keys_of_files if key in names] for pk, keys_of_files in keys_of_message.items()}


def attached_panel(
    *, scope: Scope, message_id: uuid.UUID, number: int, place: int | None = None
) -> AttachedPanel | None:
    """The attached file behind a number of the asker's answer; None where the number is not one of a file.

    `place`: which marker of the text was followed. Raises NotFoundError.
    """
    message = selectors.message_get(scope=scope, message_id=message_id)
    row = _readable(scope).filter(message=message, number=number).first()
    if row is None:
        return None
    numbers = selectors.source_numbers(message)
    at = numbers.index(number)
    claim = (claim_at(message.answer, place) if place is not None else "") or row.segment
    return AttachedPanel(
        message_id=message.pk,
        number=number,
        position=at + 1,
        total=len(numbers),
        previous=numbers[at - 1] if at else None,
        next=numbers[at + 1] if at + 1 < len(numbers) else None,
        weak=row.weak,
        is_located=bool(marked_places(row.passage.text, claim)) or not row.cited,
        attachment=row.passage.attachment,
        heading_path=row.passage.heading_path,
        page=row.passage.page,
        html=markdown_html(row.passage.text, claim=claim),
    )


def original_of(*, scope: Scope, key: uuid.UUID) -> Attachment:
    """The file as it was attached. Raises NotFoundError."""
    attachment = attachment_get(scope=scope, key=key)
    if not attachment.file.storage.exists(attachment.file.name or ""):
        raise NotFoundError("attachment", attachment=str(key))
    return attachment


def _readable(scope: Scope) -> QuerySet[AttachmentCitation]:
    rows = AttachmentCitation.objects.filter(
        passage__attachment__user_id=scope.user_id, passage__attachment__tenant_id=scope.tenant_id
    )
    return rows.select_related("passage__attachment")
