"""Pictures of cited passages in answers of the API, and their bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from accounts.errors import NotFoundError
from accounts.scope import Scope
from chat.answers.figures import FigureLine, figures_of, may_have_figures
from chat.api.auth import caller_of
from chat.concurrency.executors import run_db
from chat.selectors import message_get
from chat.turns.lifecycle import StoredAnswer
from knowledge.services.originals import stored_open
from knowledge.services.reading import version_read_record
from knowledge.view_models import picture_get

PREFIX = "/api/v1/rag/pictures"
HEADERS = {
    "Cache-Control": "private, no-cache",  # clients keep it, but ask each time whether they still may
    "X-Content-Type-Options": "nosniff",
    "Content-Disposition": "inline",
}


@dataclass(frozen=True, slots=True)
class StoredPicture:
    """The bytes of a picture with their type."""

    content: bytes
    media_type: str


async def serialize_pictures(*, scope: Scope, message_id: UUID, is_wanted: bool = True) -> list[dict[str, Any]]:
    """The pictures of a stored answer as far as the caller may open them; [] for a client that wants no citations."""
    return await run_db(_pictures, scope, message_id) if is_wanted else []


async def serialize_pictures_now(*, scope: Scope, stored: StoredAnswer, is_wanted: bool = True) -> list[dict[str, Any]]:
    """The same for an answer that was given just now: of most nothing is read."""
    is_wanted = is_wanted and may_have_figures(stored.message.question, stored.record.text)
    return await serialize_pictures(scope=scope, message_id=stored.message.pk, is_wanted=is_wanted)


async def picture_response(request: HttpRequest, version_id: int, name: str) -> HttpResponse:
    """The bytes of a picture, for who may open its document. Raises NotFoundError, OriginalsWithheldError."""
    picture = await run_db(_read, caller_of(request).scope, version_id, name)
    return HttpResponse(picture.content, content_type=picture.media_type, headers=HEADERS)


def _pictures(scope: Scope, message_id: UUID) -> list[dict[str, Any]]:
    try:
        message = message_get(scope=scope, message_id=message_id)
    except NotFoundError:  # its conversation was deleted meanwhile
        return []
    if not may_have_figures(message.question, message.answer):
        return []
    citations = list(message.citations.select_related("chunk"))
    figures = figures_of(scope=scope, messages=[message], by_message={message.pk: citations})
    return [_picture(line) for line in figures.get(message.pk, ())]


def _picture(line: FigureLine) -> dict[str, Any]:
    return {
        "id": f"{line.version_id}/{line.name}",
        "url": f"{PREFIX}/{line.version_id}/{quote(line.name)}",
        "caption": line.caption,
        "alt": line.alt,
        "document_id": line.document_id,
        "document": line.title,
        "page": line.page,
        "citation_num": line.number,
    }


def _read(scope: Scope, version_id: int, name: str) -> StoredPicture:
    picture = picture_get(scope=scope, version_id=version_id, name=name)
    version_read_record(scope=scope, version_id=version_id)
    with stored_open(picture.file) as file:
        return StoredPicture(file.read(), picture.media_type)
