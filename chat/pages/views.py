"""The chat page and its parts. Questions and answers travel over the WebSocket (chat.consumers)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import suppress

from django import forms
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_POST, require_safe

from accounts.authentication import page
from accounts.scope import Scope
from chat import selectors
from chat.announcements.banner import announcements_shown
from chat.answers.fact_sources import fact_panel
from chat.attachments.files import attachments_listed
from chat.attachments.panels import attached_panel, original_of, serialize_attachment
from chat.conversations import edits
from chat.exports import FORMATS, export_in_turn
from chat.models import Conversation
from chat.pages import view_models
from chat.pages.asking import AGAIN, asking_view
from chat.pages.conversation_list import archived_count, conversation_groups
from chat.pages.filter_summary import initial_filters
from chat.pages.follow_ups import follow_ups
from chat.pages.home_page import home_page
from chat.pages.js_messages import js_messages
from chat.selectors import message_get
from chat.types import MAX_QUERY_CHARACTERS
from knowledge.selectors.triples import triples_named
from knowledge.services.originals import stored_open
from knowledge.services.reading import document_read_record
from knowledge.services.triple_search import triples_retrieve_and_rewrite
from knowledge.views import file_view
from ragcore.parsing import SUPPORTED_FORMATS
from ragcore.text.normalise import visible

MAX_DOCUMENTS = 100  # as in the API


class RenameForm(forms.Form):
    """A conversation's new title, as people see it."""

    title = forms.CharField(max_length=200)

    def clean_title(self) -> str:
        title = " ".join(visible(self.cleaned_data["title"]).split())
        if not title:
            raise forms.ValidationError(_("Enter a name."), code="required")
        return title


class PinForm(forms.Form):
    """Whether a conversation stays on top."""

    pinned = forms.BooleanField(required=False)


class SetsForm(forms.Form):
    """Where a conversation asks; nothing chosen: everywhere."""

    sets = forms.TypedMultipleChoiceField(coerce=int, required=False)

    def __init__(self, *args: object, listed: list[int], **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self.fields["sets"].choices = [(number, number) for number in listed]  # type: ignore[attr-defined]


@require_safe
@never_cache
@ensure_csrf_cookie
@page
def home(request: HttpRequest, scope: Scope) -> HttpResponse:
    """A new conversation."""
    return _chat(request, scope, conversation=None)


@require_safe
@never_cache
@ensure_csrf_cookie
@page
def conversation(request: HttpRequest, scope: Scope, conversation_id: uuid.UUID) -> HttpResponse:
    """A conversation with all its turns; one that is still running goes on in the browser."""
    row = selectors.conversation_get(scope=scope, conversation_id=conversation_id)
    return _chat(request, scope, conversation=row, around=uuid_or_none(request.GET.get("turn")))


@require_safe
@never_cache
@page
def message(request: HttpRequest, scope: Scope, message_id: uuid.UUID) -> HttpResponse:
    """One turn, as it is stored."""
    turn = view_models.turn_view(scope=scope, message_id=message_id)
    return render(request, "chat/message.html", {"turns": [turn]})


@require_safe
@never_cache
@page
def message_follow_ups(request: HttpRequest, scope: Scope, message_id: uuid.UUID) -> HttpResponse:
    """What may be asked next; the browser asks for it once an answer is there."""
    return render(request, "chat/follow_ups.html", {"questions": follow_ups(scope=scope, message_id=message_id)})


@require_safe
@never_cache
@page
def message_facts(request: HttpRequest, scope: Scope, message_id: uuid.UUID) -> HttpResponse:
    """The chain of reasons and facts for a question, under the rights of this moment."""
    row = message_get(scope=scope, message_id=message_id)
    sets = list(row.conversation.sets.values_list("pk", flat=True))
    result = triples_retrieve_and_rewrite(scope=scope, question=row.question, sets=sets)
    sources = {row.pk: row for row in triples_named(scope=scope, ids=[triple.id for triple in result.answer.triples])}
    facts = [(triple, sources[triple.id]) for triple in result.answer.triples if triple.id in sources]
    return render(request, "chat/facts.html", {"asked": row, "found": result, "facts": facts})


@require_safe
@never_cache
@page
def source(request: HttpRequest, scope: Scope, message_id: uuid.UUID, number: int) -> HttpResponse:
    """The evidence panel of one citation; rights are checked at each opening."""
    place_text = request.GET.get("place", "")
    place = int(place_text) if place_text.isdecimal() and len(place_text) < 6 else None
    if attached := attached_panel(scope=scope, message_id=message_id, number=number, place=place):
        return render(request, "chat/attached.html", {"shown": attached})
    if fact := fact_panel(scope=scope, message_id=message_id, number=number):
        return render(request, "chat/fact.html", {"shown": fact})
    panel = view_models.source_panel(scope=scope, message_id=message_id, number=number, place=place)
    document_read_record(scope=scope, document=panel.source.document)
    return render(request, "chat/evidence.html", {"shown": panel})


@require_safe
@never_cache
@page
@file_view
def attachment_file(request: HttpRequest, scope: Scope, attachment_id: uuid.UUID) -> HttpResponseBase:
    """An attached file as it came, for its person only; browsers save it, they never show it."""
    attachment = original_of(scope=scope, key=attachment_id)
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "private, no-store"}
    return FileResponse(
        stored_open(attachment.file),
        as_attachment=True,
        filename=attachment.name,
        content_type="application/octet-stream",
        headers=headers,
    )


class ExportForm(forms.Form):
    """The format of a file."""

    kind = forms.ChoiceField(choices=[(kind, kind) for kind in FORMATS])


@require_safe
@never_cache
@page
@file_view
def message_export(request: HttpRequest, scope: Scope, message_id: uuid.UUID) -> HttpResponseBase:
    """One answer as a file, with its sources under the rights of this moment."""
    turn = view_models.turn_view(scope=scope, message_id=message_id)
    return _export(request, scope, title=turn.message.question, turns=[turn])


@require_safe
@never_cache
@page
@file_view
def conversation_export(request: HttpRequest, scope: Scope, conversation_id: uuid.UUID) -> HttpResponseBase:
    """A conversation as a file, with its sources under the rights of this moment."""
    row = selectors.conversation_get(scope=scope, conversation_id=conversation_id)
    messages = selectors.messages_of(scope=scope, conversation_id=row.pk)
    turns = view_models.turn_views(scope=scope, messages=messages)
    return _export(request, scope, title=row.title or _("Conversation"), turns=turns)


def _export(request: HttpRequest, scope: Scope, *, title: str, turns: Sequence[view_models.TurnView]) -> HttpResponse:
    form = ExportForm({"kind": "md", **request.GET.dict()})
    if not form.is_valid():
        return HttpResponse(status=422)
    file = export_in_turn(turns, form.cleaned_data["kind"], title=title, person=scope.user_id)
    headers = {"Content-Disposition": content_disposition_header(True, file.name) or "attachment"}
    return HttpResponse(file.content, content_type=file.media_type, headers=headers)


@require_POST
@page
def rename(request: HttpRequest, scope: Scope, conversation_id: uuid.UUID) -> HttpResponse:
    """Give a conversation another title."""
    form = RenameForm(request.POST)
    if not form.is_valid():
        return HttpResponse(status=422)
    edits.conversation_rename(scope=scope, conversation_id=conversation_id, **form.cleaned_data)
    return HttpResponse(status=204)


@require_POST
@page
def pin(request: HttpRequest, scope: Scope, conversation_id: uuid.UUID) -> HttpResponse:
    """Keep a conversation on top, or no longer."""
    form = PinForm(request.POST)
    form.full_clean()
    edits.conversation_pin(scope=scope, conversation_id=conversation_id, **form.cleaned_data)
    return HttpResponse(status=204)


@require_POST
@page
def choose_sets(request: HttpRequest, scope: Scope, conversation_id: uuid.UUID) -> HttpResponse:
    """Remember where a conversation asks."""
    listed = [choice.id for axis in view_models.set_choices(scope=scope, conversation=None) for choice in axis.sets]
    form = SetsForm(request.POST, listed=listed)
    if not form.is_valid():
        return HttpResponse(status=422)
    edits.conversation_sets(scope=scope, conversation_id=conversation_id, **form.cleaned_data)
    return HttpResponse(status=204)


@require_POST
@page
def delete(request: HttpRequest, scope: Scope, conversation_id: uuid.UUID) -> HttpResponse:
    """Delete a conversation; the browser sends this when the time for undoing is over."""
    edits.conversation_delete(scope=scope, conversation_id=conversation_id)
    return HttpResponse(status=204)


def uuid_or_none(text: str | None) -> uuid.UUID | None:
    """The id that a parameter names; None for nothing and for anything else."""
    with suppress(ValueError):
        return uuid.UUID(text or "")
    return None


def _documents_named(request: HttpRequest) -> list[int]:
    """`?document=`: what a new conversation is limited to."""
    return [
        int(number)
        for number in request.GET.getlist("document")[:MAX_DOCUMENTS]
        if number.isdecimal() and len(number) < 18
    ]


def _sets_named(request: HttpRequest) -> list[int]:
    """`?set=`: where a new conversation searches."""
    return [
        int(number) for number in request.GET.getlist("set")[:MAX_DOCUMENTS] if number.isdecimal() and len(number) < 18
    ]


def _chat(
    request: HttpRequest, scope: Scope, *, conversation: Conversation | None, around: uuid.UUID | None = None
) -> HttpResponse:
    turns_page = selectors.TurnsPage(messages=(), has_earlier=False)
    if conversation:
        turns_page = selectors.turns_page(scope=scope, conversation_id=conversation.pk, around=around)
    documents, sets = view_models.corpus_size(scope=scope)
    axes = view_models.set_choices(scope=scope, conversation=conversation, set_ids=_sets_named(request))
    context = {
        "conversation": conversation,
        "announcements": announcements_shown(scope=scope),
        "shown": turns_page,
        "recap": conversation.summary if conversation else "",
        "turns": view_models.turn_views(scope=scope, messages=turns_page.messages),
        "listed": conversation_groups(scope=scope),
        "archived": archived_count(scope=scope),
        "axes": axes,
        "filters": initial_filters(scope=scope, conversation=conversation, documents=_documents_named(request)),
        "home": None if conversation else home_page(scope=scope, axes=axes),
        "asking": asking_view(scope=scope),
        "again": AGAIN,
        "documents": documents,
        "reading": 0 if documents else view_models.processing_documents(scope=scope),
        "sets": sets,
        "may_upload": view_models.may_upload(scope=scope),
        "attached": [serialize_attachment(row) for row in attachments_listed(scope=scope, conversation=conversation)],
        "attach_formats": ",".join(SUPPORTED_FORMATS),
        "strings": js_messages(),
        "max_characters": MAX_QUERY_CHARACTERS,
        "prefilled": "" if conversation else request.GET.get("question", "")[:MAX_QUERY_CHARACTERS],  # sent by hand
    }
    return render(request, "chat/page.html", context)
