"""What a set is composed of: its sources with their filters, on a page of their own."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message
from knowledge.admin.source_forms import LinesField, PairsField
from knowledge.models import KnowledgeSet, Source
from knowledge.selectors import sets_managed
from knowledge.selectors.sets import set_sources, sources_usable
from knowledge.services.composition import set_sources_put
from knowledge.services.sources import set_ingest
from knowledge.types import SourceFilter, strictly
from ragcore.errors import RagError


class FilterForm(forms.Form):
    """One source: whether it belongs to the set, and what of it."""

    is_chosen = forms.BooleanField(required=False)
    paths = LinesField(label=_("paths"), help_text=_("Patterns such as radio/*, one per line. If empty, all."))
    tags = LinesField(label=_("tags"), help_text=_("Any of these, one per line. If empty, all."))
    metadata = PairsField(label=_("attributes"), help_text=_("All must match: name = value, one per line."))

    def __init__(self, source: Source, data: Any, *, initial: dict[str, Any]) -> None:
        self.source = source
        super().__init__(data, prefix=f"source{source.pk}", initial=initial)

    def filter(self) -> SourceFilter:
        values = {name: self.cleaned_data[name] for name in ("paths", "tags", "metadata")}
        return strictly(SourceFilter, values)


@admin_page("compose/<int:set_id>/", of=Source, name="knowledge_source_compose")
def compose_page(request: HttpRequest, set_id: int) -> HttpResponse:
    """GET: the sources that may be chosen, those of the set with their filters; POST: the new composition."""
    chosen = sets_managed(scope=admin_scope(request)).filter(pk=set_id).first()
    if chosen is None:
        raise Http404
    lines = _lines(request, chosen)
    if request.method == "POST" and all(line.is_valid() for line in lines) and _saved(request, chosen, lines):
        return redirect("admin:knowledge_source_compose", set_id=chosen.pk)
    title = _("Sources of %(name)s") % {"name": chosen.name}
    page = {"title": title, "set": chosen, "lines": lines}
    return page_response(request, "admin/knowledge/source/compose.html", page)


def _lines(request: HttpRequest, chosen: KnowledgeSet) -> list[FilterForm]:
    scope = admin_scope(request)
    now = {row.source_id: row for row in set_sources(scope=scope, set_id=chosen.pk)}
    usable = sources_usable(scope=scope).filter(tenant=chosen.tenant_id)
    rows = {source.pk: source for source in [*usable, *(row.source for row in now.values())]}
    data = request.POST if request.method == "POST" else None
    return [
        FilterForm(source, data, initial={"is_chosen": pk in now, **(now[pk].filter if pk in now else {})})
        for pk, source in sorted(rows.items(), key=lambda pair: pair[1].name)
    ]


def _saved(request: HttpRequest, chosen: KnowledgeSet, lines: list[FilterForm]) -> bool:
    who: dict[str, Any] = {"scope": admin_scope(request), "actor": admin_user(request), "set_id": chosen.pk}
    try:
        pairs = [(line.source.pk, line.filter()) for line in lines if line.cleaned_data["is_chosen"]]
        set_sources_put(sources=pairs, **who)
        if "ingest" in request.POST:
            set_ingest(**who)
            messages.success(request, _("The sources of the set are saved and being synchronised."))
        else:
            messages.success(request, _("The sources of the set are saved."))
    except RagError as error:
        messages.error(request, error_message(error))
        return False
    return True
