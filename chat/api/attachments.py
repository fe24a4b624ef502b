"""`/api/v1/rag/attachments`: files for the questions of one conversation, their person's own."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import File, Form, Router
from ninja.files import UploadedFile

from accounts.key_scopes import KeyScope
from accounts.scope import Scope
from chat.api.auth import CallerAuth, caller_of
from chat.api.responses import AttachmentListOut, AttachmentOut, response_schema
from chat.api.schemas import Identifier
from chat.attachments.files import attachment_add, attachment_delete, attachment_get, attachments_listed
from chat.attachments.panels import serialize_attachment
from chat.attachments.reading import attachment_retry
from chat.concurrency.executors import run_db
from chat.selectors import conversation_get

ASKING = CallerAuth(KeyScope.ASK)

attachments_router = Router(tags=["attachments"], auth=ASKING)


@attachments_router.post(
    "", auth=ASKING, summary="Attach a file", openapi_extra=response_schema(AttachmentOut, 202), response={202: Any}
)
async def attach(
    request: HttpRequest, file: File[UploadedFile], conversation_id: Form[Identifier | None] = None
) -> tuple[int, dict[str, Any]]:
    """Attaches a file, which is read in the background; questions name its id in `attachments`."""
    caller = caller_of(request)
    row = await run_db(
        attachment_add, scope=caller.scope, name=file.name or "", content=file, conversation_id=conversation_id
    )
    return 202, serialize_attachment(row)


@attachments_router.get("", auth=ASKING, summary="Attached files", openapi_extra=response_schema(AttachmentListOut))
async def attachments(request: HttpRequest, conversation_id: Identifier | None = None) -> dict[str, Any]:
    """Those of a conversation, or those that wait for the first question of a new one."""
    return {"results": await run_db(_listed, caller_of(request).scope, conversation_id)}


@attachments_router.get(
    "/{attachment_id}", auth=ASKING, summary="State of an attached file", openapi_extra=response_schema(AttachmentOut)
)
async def attachment(request: HttpRequest, attachment_id: uuid.UUID) -> dict[str, Any]:
    """reading (with what OCR has read so far), ready, or failed with the error."""
    return await run_db(_one, caller_of(request).scope, attachment_id)


@attachments_router.post(
    "/{attachment_id}/retry",
    auth=ASKING,
    summary="Read an attached file again",
    openapi_extra=response_schema(AttachmentOut, 202),
    response={202: Any},
)
async def read_again(request: HttpRequest, attachment_id: uuid.UUID) -> tuple[int, dict[str, Any]]:
    """One that a passing fault has kept from being read (`can_retry`); any other is answered as it is."""
    row = await run_db(attachment_retry, scope=caller_of(request).scope, key=attachment_id)
    return 202, serialize_attachment(row)


@attachments_router.delete("/{attachment_id}", auth=ASKING, summary="Remove an attached file", response={204: None})
async def detach(request: HttpRequest, attachment_id: uuid.UUID) -> HttpResponse:
    """Its passages go at once; answers that quote it keep their text."""
    await run_db(attachment_delete, scope=caller_of(request).scope, key=attachment_id)
    return HttpResponse(status=204)


def _listed(scope: Scope, conversation_id: str | None) -> list[dict[str, Any]]:
    conversation = conversation_get(scope=scope, conversation_id=conversation_id) if conversation_id else None
    return [serialize_attachment(row) for row in attachments_listed(scope=scope, conversation=conversation)]


def _one(scope: Scope, attachment_id: uuid.UUID) -> dict[str, Any]:
    return serialize_attachment(attachment_get(scope=scope, key=attachment_id))
