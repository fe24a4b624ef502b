"""Choosing documents and passages by words of their title or text, in place of typing their numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Literal

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.admin.base import admin_scope
from accounts.admin.pages import admin_page
from accounts.error_messages import error_message
from accounts.scope import Scope
from evaluation.admin.base import judges_quality
from evaluation.models import GoldenCase
from evaluation.services.document_choices import choices_find, names_labelled
from ragcore.errors import RagError

FIND = "admin:evaluation_passage_find"


def picker_attributes(
    *, scope: Scope, names: Iterable[str], kind: Literal["passage", "passages", "documents"] = "passage"
) -> dict[str, str]:
    """Attributes of an input (one passage) or of a text field (a passage or document a line).

    static/admin_ext/picker.js turns them into a search. The values stay, so that the form works without scripts.
    """
    return {
        "data-picker": kind,
        "data-picker-url": reverse(FIND),
        "data-picker-labels": json.dumps(names_labelled(scope=scope, names=names), ensure_ascii=False),
        "data-picker-search": _("Search documents and passages"),
        "data-picker-none": _("Nothing found."),
        "data-picker-gone": _("not found"),
        "data-picker-remove": _("Remove"),
    }


@admin_page("find/", of=GoldenCase, name="evaluation_passage_find", allowed=judges_quality)
def passages_found(request: HttpRequest) -> HttpResponse:
    """GET `?q=`: documents and passages as JSON."""
    try:
        choices = choices_find(scope=admin_scope(request), query=request.GET.get("q", ""))
    except RagError as error:
        return JsonResponse({"choices": [], "error": error_message(error)}, status=503)
    return JsonResponse({"choices": [asdict(one) for one in choices]})
