"""The frame of an embedded chat and its parts.

The frame itself holds nothing of anybody. What it shows it fetches with the bearer of its session, which lives in the
memory of the frame: no view here looks at cookies, so none needs a CSRF token, and none of them sets a cookie.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, cast

from csp.constants import SELF
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone, translation
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from accounts.authentication import bearer_token
from accounts.error_messages import error_message
from accounts.errors import NotAuthenticatedError, NotFoundError, RateLimitedError
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import person_name
from chat import selectors
from chat.answers.fact_sources import fact_panel
from chat.attachments.panels import attached_panel
from chat.embeds.errors import EmbedRefusedError
from chat.embeds.script import framed_by
from chat.embeds.sessions import Visitor, embed_get, session_begin, session_end, session_visitor
from chat.models import Embed
from chat.pages import view_models
from chat.pages.js_messages import js_messages
from chat.types import MAX_QUERY_CHARACTERS
from knowledge.services.reading import document_read_record
from ragcore.errors import PermanentError, RagError, TransientError
from ragcore.parsing import SUPPORTED_FORMATS

P = ParamSpec("P")
LANGUAGES = {"en": "en", "zh": "zh-hans"}  # the first part of a page's language
STATUS: dict[type[RagError], int] = {
    EmbedRefusedError: 403,
    NotAuthenticatedError: 401,
    NotFoundError: 404,
    RateLimitedError: 429,
}


@require_safe
@never_cache
def frame(request: HttpRequest, code: str) -> HttpResponseBase:
    """The chat that pages of the named origins show in a frame."""
    embed = _embed_or_404(code)
    return framed_by(_frame(request, embed, hosts=embed.origins), embed.origins)


@require_safe
@never_cache
def preview_frame(request: HttpRequest, code: str) -> HttpResponseBase:
    """The same for the administration of this site, where it is tried; a token of the site opens it."""
    embed = _embed_or_404(code)
    return framed_by(_frame(request, embed, hosts=[site_origin(request)]), [SELF])


def _frame(request: HttpRequest, embed: Embed, *, hosts: list[str]) -> HttpResponse:
    language = embed.language if embed.language != Embed.Language.AUTO else page_language(request.GET.get("lang", ""))
    with translation.override(language):
        is_chinese = language == "zh-hans"
        context = {
            "embed": embed,
            "title": (embed.title_zh if is_chinese else "") or embed.title,
            "greeting": (embed.greeting_zh if is_chinese else "") or embed.greeting,
            "hosts": json.dumps(hosts),
            "strings": js_messages(),
            "max_characters": MAX_QUERY_CHARACTERS,
            "attach_formats": ",".join(SUPPORTED_FORMATS),
        }
        return render(request, "chat/embed/frame.html", context)


def page_language(text: str) -> str:
    """Our language for what a page says of itself, such as `zh-CN`; English for all others."""
    return LANGUAGES.get(text[:20].lower().replace("_", "-").partition("-")[0], "en")


def site_origin(request: HttpRequest) -> str:
    """Our own origin as this request names it."""
    return f"{request.scheme}://{request.get_host()}".lower()


def is_from_frame(request: HttpRequest) -> bool:
    """Whether a page of this site makes the call, as browsers say; programs, which need a bearer too, say nothing."""
    origins = {site_origin(request), *settings.CSRF_TRUSTED_ORIGINS}
    origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
    return (origin is None or origin.lower() in origins) and site in (None, "same-origin")


def _embed_or_404(code: str) -> Embed:
    try:
        return embed_get(code)
    except NotFoundError as error:
        raise Http404(error.message) from error


# ── what the frame fetches ────────────────────────────────────────────────────────────────────────


def answered(view: Callable[Concatenate[HttpRequest, P], HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Errors of a view of the frame as JSON: code and words. Calls that come from other pages are refused first."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not is_from_frame(request):
            return JsonResponse({"code": "csrf_failed"}, status=403)
        try:
            return view(request, *args, **kwargs)
        except (PermanentError, TransientError) as error:
            body = {"code": error.code, "reason": error.reason, "message": error_message(error)}
            headers = {"Retry-After": str(error.data["retry_after_seconds"])} if error.code == "rate_limited" else {}
            usual = 503 if isinstance(error, TransientError) else 422
            return JsonResponse(body, status=STATUS.get(type(error), usual), headers=headers)

    return cast(Callable[..., HttpResponseBase], csrf_exempt(wrapped))


def visited(view: Callable[Concatenate[HttpRequest, Scope, P], HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """A view for whoever is in an embedded chat, under the narrowed scope; cookies and API keys open nothing here."""

    def wrapped(request: HttpRequest, code: str, *args: Any, **kwargs: Any) -> HttpResponseBase:
        return view(request, visitor_of(request, code).scope, *args, **kwargs)

    return answered(wraps(view)(wrapped))


def visitor_of(request: HttpRequest, code: str) -> Visitor:
    """Who asks. Raises NotAuthenticatedError, also for the session of another chat."""
    visitor = session_visitor(bearer_token(request) or "")
    if visitor.session.embed.code != code:
        raise NotAuthenticatedError
    return visitor


@require_POST
@never_cache
@answered
def session(request: HttpRequest, code: str) -> HttpResponse:
    """`{token, origin}` → `{session, seconds, person, person_id}`. A session in the header ends with it."""
    embed = embed_get(code)
    try:
        body = json.loads(request.body)
    except ValueError:
        body = None
    values = [body.get(name) if isinstance(body, dict) else None for name in ("token", "origin")]
    token, origin = (value if isinstance(value, str) else "" for value in values)
    address = request.META.get("REMOTE_ADDR", "")
    begun = session_begin(embed=embed, token=token, origin=origin, site_origin=site_origin(request), address=address)
    if bearer := bearer_token(request):
        _end_former(bearer, embed)
    seconds = int((begun.session.expires - timezone.now()).total_seconds())
    user = begun.session.user
    return JsonResponse(
        {"session": begun.bearer, "seconds": seconds, "person": person_name(user), "person_id": user.pk}, status=201
    )


def _end_former(bearer: str, embed: Embed) -> None:
    try:
        former = session_visitor(bearer).session
    except NotAuthenticatedError:
        return
    if former.embed_id == embed.pk:
        session_end(former)


@require_POST
@never_cache
@answered
def leave(request: HttpRequest, code: str) -> HttpResponse:
    """The frame is closed for good: its session ends."""
    session_end(visitor_of(request, code).session)
    return HttpResponse(status=204)


@require_safe
@never_cache
@visited
def conversation(request: HttpRequest, scope: Scope, conversation_id: uuid.UUID) -> HttpResponse:
    """The last turns of a conversation that began in this chat and goes on there."""
    page = selectors.turns_page(scope=scope, conversation_id=conversation_id)
    turns = view_models.turn_views(scope=scope, messages=page.messages)
    return _turns(request, scope, turns)


@require_safe
@never_cache
@visited
def message(request: HttpRequest, scope: Scope, message_id: uuid.UUID) -> HttpResponse:
    """One turn, as it is stored."""
    return _turns(request, scope, [view_models.turn_view(scope=scope, message_id=message_id)])


def _turns(request: HttpRequest, scope: Scope, turns: Sequence[view_models.TurnView]) -> HttpResponse:
    """Turns with what the person has said of them."""
    content = {"turns": [_without_pictures(turn) for turn in turns], "person": User.objects.get(pk=scope.user_id)}
    return render(request, "chat/embed/turns.html", content)


def _without_pictures(turn: view_models.TurnView) -> view_models.TurnView:
    """Pictures of pages are files of the site, which open for people who are signed in there."""
    return replace(turn, figures=())


@require_safe
@never_cache
@visited
def source(request: HttpRequest, scope: Scope, message_id: uuid.UUID, number: int) -> HttpResponse:
    """The cited passage; rights are checked at each opening."""
    place_text = request.GET.get("place", "")
    place = int(place_text) if place_text.isdecimal() and len(place_text) < 6 else None
    if attached := attached_panel(scope=scope, message_id=message_id, number=number, place=place):
        return render(request, "chat/attached.html", {"shown": attached, "is_embedded": True})
    if fact := fact_panel(scope=scope, message_id=message_id, number=number):
        return render(request, "chat/fact.html", {"shown": fact})
    panel = view_models.source_panel(scope=scope, message_id=message_id, number=number, place=place)
    document_read_record(scope=scope, document=panel.source.document)
    return render(request, "chat/embed/source.html", {"shown": panel})
