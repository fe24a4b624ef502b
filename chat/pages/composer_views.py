"""Views of the composer: suggestions, example questions, and stored preferences."""

from __future__ import annotations

import logging
from dataclasses import asdict

from django import forms
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from redis.exceptions import RedisError

from accounts.authentication import page
from accounts.scope import Scope
from chat.answering.examples import examples_checked
from chat.conversations.preferences import preferences_save
from chat.pages.asking import DEPTHS, STYLES
from chat.pages.suggestions import suggestions
from ragcore.errors import RagError

logger = logging.getLogger(__name__)


class PreferencesForm(forms.Form):
    """Style and depth of the next questions; `hints`: the tour of the first visit was read."""

    style = forms.ChoiceField(required=False, choices=[(choice.value, choice.name) for choice in STYLES])
    depth = forms.ChoiceField(required=False, choices=[(choice.value, choice.name) for choice in DEPTHS])
    hints = forms.BooleanField(required=False)


@require_safe
@never_cache
@page
def suggest(request: HttpRequest, scope: Scope) -> HttpResponse:
    """Suggestions for the text in `?q=`."""
    typed = request.GET.get("q", "").replace("\x00", "")
    return JsonResponse({"suggestions": [asdict(suggestion) for suggestion in suggestions(scope=scope, typed=typed)]})


@require_safe
@never_cache
@page
def examples(request: HttpRequest, scope: Scope) -> HttpResponse:
    """Suggested questions that have an answer; searches for those that nobody with these rights has seen yet."""
    try:
        offered = examples_checked(scope=scope)
    except (RagError, RedisError):
        logger.exception("example questions could not be checked")
        offered = []
    return render(request, "chat/examples.html", {"examples": offered})


@require_POST
@page
def preferences(request: HttpRequest, scope: Scope) -> HttpResponse:
    """Remember how the person likes to ask."""
    form = PreferencesForm(request.POST)
    if not form.is_valid():
        return HttpResponse(status=422)
    values = {name: form.cleaned_data[name] for name in ("style", "depth") if name in request.POST}
    preferences_save(scope=scope, hints_seen=form.cleaned_data["hints"] or None, **values)
    return HttpResponse(status=204)
