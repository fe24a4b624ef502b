"""Pages that act on many documents at once: move them between sets, or set their weight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.admin.base import admin_scope, admin_user
from accounts.error_messages import error_message
from knowledge.admin.curation import ids_of
from knowledge.errors import InvalidWeightError
from knowledge.models import Document, KnowledgeSet
from knowledge.selectors import sets_managed
from knowledge.services.document_weights import HIGHEST, LOWEST, documents_weigh
from knowledge.services.transfers import TransferResult, documents_copy, documents_move, documents_remove
from ragcore.errors import RagError

# ── sets ──────────────────────────────────────────────────────────────────────────────────────────


TITLES = {"move": _("Move documents"), "copy": _("Add documents to a set"), "remove": _("Remove documents from a set")}
NAMED = 10  # titles on the page


def transfer_address(verb: str, ids: list[int]) -> str:
    """The page that asks for the set."""
    listed = ",".join(map(str, ids))
    return f"{reverse('admin:knowledge_document_transfer', args=[verb])}?ids={listed}"


def transfer_view(
    request: HttpRequest, verb: str, *, documents: QuerySet[Document], context: dict[str, Any]
) -> HttpResponse:
    """GET: which sets; POST: do it."""
    data = request.POST if request.method == "POST" else request.GET
    chosen = documents.filter(pk__in=ids_of(data.get("ids", "").split(",")))
    if request.method == "POST":
        return _transfer(request, verb, [document.pk for document in chosen])
    mine = sets_managed(scope=admin_scope(request)).order_by("axis", "name")
    sources = _holding(mine, chosen)
    found = {
        **context,
        "title": TITLES[verb],
        "verb": verb,
        "documents": chosen[:NAMED],
        "count": chosen.count(),
        "ids": data.get("ids", ""),
        "targets": mine,
        "likely": mine.exclude(pk__in=sources.order_by().values("pk")).first(),
        "sources": sources,
    }
    return TemplateResponse(request, "admin/knowledge/document/transfer.html", found)


def _holding(sets: QuerySet[KnowledgeSet], documents: QuerySet[Document]) -> QuerySet[KnowledgeSet]:
    held = Document.sets.through.objects.filter(document__in=documents.order_by().values("pk"))
    return sets.filter(pk__in=held.values("knowledgeset"))


def _transfer(request: HttpRequest, verb: str, ids: list[int]) -> HttpResponse:
    source, target = (next(iter(ids_of(request.POST.getlist(name))), 0) for name in ("from_set", "to_set"))
    who: dict[str, Any] = {"scope": admin_scope(request), "actor": admin_user(request), "document_ids": ids}
    services: dict[str, Callable[[], TransferResult]] = {
        "move": lambda: documents_move(**who, from_set=source, to_set=target),
        "copy": lambda: documents_copy(**who, to_set=target),
        "remove": lambda: documents_remove(**who, from_set=source),
    }
    try:
        outcome = services[verb]()
    except RagError as error:
        messages.error(request, error_message(error))
        return redirect(transfer_address(verb, ids))
    text = ngettext("%(count)d document changed its sets.", "%(count)d documents changed their sets.", outcome.changed)
    messages.success(request, text % {"count": outcome.changed})
    for refused in outcome.refused:
        messages.error(request, f"{refused.title}: {error_message(refused.error)}")
    return redirect(reverse("admin:knowledge_document_changelist") + "?hands=all")


# ── weight ────────────────────────────────────────────────────────────────────────────────────────


class WeightForm(forms.Form):
    """The new weight."""

    weight = forms.FloatField(min_value=LOWEST, max_value=HIGHEST)


def weigh_address(ids: list[int]) -> str:
    """The page that asks for the weight."""
    return f"{reverse('admin:knowledge_document_weigh')}?ids={','.join(map(str, ids))}"


def weigh_view(request: HttpRequest, *, documents: QuerySet[Document], context: dict[str, Any]) -> HttpResponse:
    """GET: how much; POST: do it, and go back to the document, or to the list if there are many."""
    data = request.POST if request.method == "POST" else request.GET
    chosen = documents.filter(pk__in=ids_of(data.get("ids", "").split(",")))
    if request.method == "POST":
        return _weigh(request, [document.pk for document in chosen])
    found = {
        **context,
        "title": _("Document weight"),
        "documents": chosen[:NAMED],
        "count": chosen.count(),
        "ids": data.get("ids", ""),
        "weight": next(iter(chosen.values_list("weight", flat=True)[:1]), 1.0),
        "lowest": LOWEST,
        "highest": HIGHEST,
    }
    return TemplateResponse(request, "admin/knowledge/document/weigh.html", found)


def _weigh(request: HttpRequest, ids: list[int]) -> HttpResponse:
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
