"""`/api/v1/rag/shares`: links under which colleagues read an answer within their own rights."""

from __future__ import annotations

import uuid
from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Router

from accounts.key_scopes import KeyScope
from accounts.scope import Scope
from chat.api.auth import CallerAuth, caller_of
from chat.api.responses import SharedLinkListOut, SharedLinkOut, SharedOut, response_schema
from chat.api.schemas import Strict
from chat.concurrency.executors import run_db
from chat.conversations.sharing import link_create, link_open, link_revoke, links_of
from chat.models import SharedLink
from chat.pages.shared_view import SharedTurn, shared_turns

ASKING = CallerAuth(KeyScope.ASK)

shares_router = Router(tags=["shared links"], auth=ASKING)


class ShareIn(Strict):
    """`POST /api/v1/rag/shares`."""

    message_id: str
    whole: bool = False
    days: Literal[7, 30, 90] = 30


@shares_router.post(
    "", auth=ASKING, summary="Share an answer", openapi_extra=response_schema(SharedLinkOut, 201), response={201: Any}
)
async def share(request: HttpRequest, body: ShareIn) -> tuple[int, dict[str, Any]]:
    """A link for signed-in people of the organisation; what is asked later is not shared."""
    scope = caller_of(request).scope
    link = await run_db(link_create, scope=scope, message_id=body.message_id, is_whole=body.whole, days=body.days)
    return 201, serialize_link(link)


@shares_router.get("", auth=ASKING, summary="One's own links", openapi_extra=response_schema(SharedLinkListOut))
async def shares(request: HttpRequest) -> dict[str, Any]:
    """The newest first, also expired and revoked ones."""
    return {"results": await run_db(_listed, caller_of(request).scope)}


@shares_router.get("/{link_id}", auth=ASKING, summary="What a link shows", openapi_extra=response_schema(SharedOut))
async def shared(request: HttpRequest, link_id: uuid.UUID) -> dict[str, Any]:
    """Under the caller's rights of this moment, also for the one who shared it."""
    return await run_db(_shown, caller_of(request).scope, link_id)


@shares_router.delete("/{link_id}", auth=ASKING, summary="Revoke a link", response={204: None})
async def revoke(request: HttpRequest, link_id: uuid.UUID) -> HttpResponse:
    """It shows nothing from now on."""
    await run_db(link_revoke, scope=caller_of(request).scope, key=link_id)
    return HttpResponse(status=204)


def serialize_link(link: SharedLink) -> dict[str, Any]:
    """One of the caller's links."""
    return {
        "id": str(link.key),
        "path": reverse("chat:shared", args=[link.key]),
        "message_id": str(link.message_id),
        "whole": link.is_whole,
        "created": link.created.isoformat(),
        "expires": link.expires.isoformat(),
        "revoked": link.revoked.isoformat() if link.revoked else None,
        "opened": link.opened,
    }


def _listed(scope: Scope) -> list[dict[str, Any]]:
    return [serialize_link(link) for link in links_of(scope=scope)[:500]]


def _shown(scope: Scope, link_id: uuid.UUID) -> dict[str, Any]:
    page = shared_turns(scope=scope, link=link_open(scope=scope, key=link_id))
    return {"turns": [_turn(turn) for turn in page.turns], "left_out": page.left_out}


def _turn(turn: SharedTurn) -> dict[str, Any]:
    return {
        "question": turn.message.question,
        "whole": turn.is_whole,
        "parts": [{"withheld": part.withheld} if part.withheld else {"html": part.html} for part in turn.parts],
        "sources": [
            {
                "citation_num": source.number,
                "readable": source.is_readable,
                "document_id": source.document_id,
                "title": source.title,
                "page": source.page,
            }
            for source in turn.sources
        ],
    }
