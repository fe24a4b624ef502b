"""The list of conversations, its folders and its archive, and earlier turns of a long conversation."""

from __future__ import annotations

import uuid

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.authentication import page
from accounts.scope import Scope
from chat import selectors
from chat.conversations import edits
from chat.conversations.shown_branch import branch_show
from chat.pages import conversation_list, view_models
from chat.pages.views import uuid_or_none
from ragcore.text.normalise import visible


class FolderForm(forms.Form):
    """The folder of a conversation; empty: none."""

    folder = forms.CharField(max_length=64, required=False)

    def clean_folder(self) -> str:
        """As people see it: a name of invisible characters is none."""
        return " ".join(visible(self.cleaned_data["folder"]).split())


class ArchiveForm(forms.Form):
    """Whether a conversation is out of the list."""

    archived = forms.BooleanField(required=False)


@require_safe
@never_cache
@page
def conversations(request: HttpRequest, scope: Scope) -> HttpResponse:
    """The list of the side bar; `?q=` looks for words in titles, questions and answers, `?archived=1` the archive."""
    words = request.GET.get("q", "").replace("\x00", "").strip()[:200]
    if words:
        results = conversation_list.conversation_search(scope=scope, words=words)
        return render(request, "chat/hits.html", {"found": results, "words": words})
    is_archive = bool(request.GET.get("archived"))
    listed = conversation_list.conversation_archive if is_archive else conversation_list.conversation_groups
    context = {
        "listed": listed(scope=scope),
        "archived": conversation_list.archived_count(scope=scope),
        "is_archive": is_archive,
    }
    return render(request, "chat/conversations.html", context)


@require_safe
@never_cache
@page
def earlier(request: HttpRequest, scope: Scope, conversation_id: uuid.UUID) -> HttpResponse:
    """Turns before the one that `?before=` names."""
    before = uuid_or_none(request.GET.get("before"))
    if before is None:
        return HttpResponse(status=422)
    turns_page = selectors.turns_page(scope=scope, conversation_id=conversation_id, before=before)
    context = {"shown": turns_page, "turns": view_models.turn_views(scope=scope, messages=turns_page.messages)}
    return render(request, "chat/earlier.html", context)


@require_POST
@page
def move(request: HttpRequest, scope: Scope, conversation_id: uuid.UUID) -> HttpResponse:
    """Put a conversation into a folder, or take it out of one."""
    form = FolderForm(request.POST)
    if not form.is_valid():
        return HttpResponse(status=422)
    edits.conversation_move(scope=scope, conversation_id=conversation_id, **form.cleaned_data)
    return HttpResponse(status=204)


@require_POST
@page
def show_branch(request: HttpRequest, scope: Scope, conversation_id: uuid.UUID) -> HttpResponse:
    """Show the branch with the turn that `message` names."""
    message = uuid_or_none(request.POST.get("message"))
    if message is None:
        return HttpResponse(status=422)
    branch_show(scope=scope, conversation_id=conversation_id, message_id=message)
    return HttpResponse(status=204)


@require_POST
@page
def archive(request: HttpRequest, scope: Scope, conversation_id: uuid.UUID) -> HttpResponse:
    """Take a conversation out of the list, or bring it back."""
    form = ArchiveForm(request.POST)
    form.full_clean()
    edits.conversation_archive(scope=scope, conversation_id=conversation_id, **form.cleaned_data)
    return HttpResponse(status=204)
