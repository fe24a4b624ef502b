"""How much documents count among others, one or many at once."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.admin.base import admin_scope, admin_user
from accounts.error_messages import error_message
from knowledge.admin.acting import numbers_of
from knowledge.errors import InvalidWeightError
from knowledge.models import Document
from knowledge.services.document_weights import HIGHEST, LOWEST, documents_weigh

NAMED = 10  # titles on the page


class WeightForm(forms.Form):
    """The new weight."""

    weight = forms.FloatField(min_value=LOWEST, max_value=HIGHEST)


def weigh_address(ids: list[int]) -> str:
    """The page that asks for the weight."""
    return f"{reverse('admin:knowledge_document_weigh')}?ids={','.join(map(str, ids))}"


def weigh_view(request: HttpRequest, *, documents: QuerySet[Document], context: dict[str, Any]) -> HttpResponse:
    """GET: how much; POST: do it, and go back to the document, or to the list if there are many."""
    data = request.POST if request.method == "POST" else request.GET
    chosen = documents.filter(pk__in=numbers_of(data.get("ids", "").split(",")))
    if request.method == "POST":
        return _done(request, [document.pk for document in chosen])
    found = {
        **context,
        "title": _("How much documents count"),
        "documents": chosen[:NAMED],
        "count": chosen.count(),
        "ids": data.get("ids", ""),
        "weight": next(iter(chosen.values_list("weight", flat=True)[:1]), 1.0),
        "lowest": LOWEST,
        "highest": HIGHEST,
    }
    return TemplateResponse(request, "admin/knowledge/document/weigh.html", found)


def _done(request: HttpRequest, ids: list[int]) -> HttpResponse:
    form = WeightForm(request.POST)
    if not form.is_valid():
        messages.error(request, error_message(InvalidWeightError()))
        return redirect(weigh_address(ids))
    weight = form.cleaned_data["weight"]
    outcome = documents_weigh(scope=admin_scope(request), actor=admin_user(request), document_ids=ids, weight=weight)
    text = ngettext("%(count)d document has a new weight.", "%(count)d documents have a new weight.", outcome.changed)
    messages.success(request, text % {"count": outcome.changed})
    for refused in outcome.refused:
        messages.error(request, f"{refused.title}: {error_message(refused.error)}")
    if len(ids) == 1:
        return redirect(reverse("admin:knowledge_document_change", args=ids) + "?view=about")
    return redirect(reverse("admin:knowledge_document_changelist") + "?hands=all")
