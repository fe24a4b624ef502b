"""Admin pages of measured changes: what the golden sets say, published, published all the same, or discarded."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import ReadOnlyMixin, admin_scope, admin_user, badge
from accounts.admin.pages import admin_page, page_response
from evaluation.admin.base import EvaluationAdmin, judges_quality, requested_id
from evaluation.admin.comparison import forest, metric_rows
from evaluation.admin.gate_words import fault_words, weakness_words
from evaluation.models import GatedChange
from evaluation.services.gated_kinds import changes_together
from evaluation.services.gates import (
    GateResult,
    change_discard,
    change_publish,
    change_results,
    change_settle,
    changes_shown,
)
from evaluation.services.runs.reading import run_progress
from knowledge.admin.curation import run_action
from knowledge.models import KnowledgeSet, LexiconVersion
from knowledge.selectors import sets_managed, sets_readable
from knowledge.selectors.options import site_options
from ragcore.options import find_option

COLOURS = {
    "measuring": "info",
    "passed": "success",
    "failed": "danger",
    "published": "success",
    "overridden": "warning",
    "discarded": "default",
}


@admin.register(GatedChange)
class GatedChangeAdmin(ReadOnlyMixin, EvaluationAdmin):
    """Changes of knowledge sets that were measured, newest first."""

    tenant_path = "knowledge_set__tenant"
    list_display = ("knowledge_set", "kind", "status", "requested_by", "created", "note")
    list_filter = ("state", "kind")
    list_select_related = ("knowledge_set", "requested_by")
    ordering = ("-created", "-pk")

    def get_queryset(self, request: HttpRequest) -> QuerySet[GatedChange]:
        changes = changes_shown(scope=admin_scope(request)).order_by().values("pk")
        return super().get_queryset(request).filter(pk__in=changes)

    def change_of(self, request: HttpRequest, pk: int) -> GatedChange:
        """The change of the address. Raises Http404."""
        rows = self.get_queryset(request).select_related("knowledge_set", "requested_by", "decided_by").filter(pk=pk)
        change = rows.first()
        if change is None:
            raise Http404
        return change

    def _together(self, request: HttpRequest, change: GatedChange) -> QuerySet[GatedChange]:
        """The changes of other sets that are one act with it, as far as the person sees them."""
        changes = self.get_queryset(request).filter(pk__in=changes_together(change).values("pk"))
        return changes.select_related("knowledge_set").order_by("knowledge_set__code", "-pk")

    def may_decide(self, request: HttpRequest, change: GatedChange) -> bool:
        """Who may change the settings of the set may publish them."""
        return sets_managed(scope=admin_scope(request)).filter(pk=change.knowledge_set_id).exists()

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """What changes, what the golden sets say, and what can be done."""
        if not self.has_module_permission(request):
            raise PermissionDenied
        change = self.change_of(request, requested_id(object_id))
        change = change_settle(change=change)
        page = {
            "title": gettext("Measured change of %(name)s") % {"name": change.knowledge_set.shown_name},
            "change": change,
            "changed": _changed_rows(request, change),
            "results": [_result(result) for result in change_results(change=change)],
            "live": {"shown_name": gettext("live")},
            "draft": {"shown_name": gettext("draft")},
            "may_decide": self.may_decide(request, change) and change.is_open,
            "is_shared": changes_together(change).exists(),
            "together": self._together(request, change),
        }
        return page_response(request, "admin/evaluation/gatedchange/page.html", page)

    @admin_page("<int:pk>/decide/", name="evaluation_gatedchange_decide", allowed=judges_quality)
    def decide_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """POST `to`: publish (with `reason` also what has not passed) or discard."""
        change = self.change_of(request, pk)
        if not self.may_decide(request, change):
            raise PermissionDenied
        back = reverse("admin:evaluation_gatedchange_change", args=[pk])
        if request.method == "POST" and request.POST.get("to") == "discard":
            discard = lambda: change_discard(change=change, actor=admin_user(request))  # noqa: E731
            return run_action(request, discard, done=_("The change was discarded."), back=back)
        reason = request.POST.get("reason", "").strip()[:500]
        return run_action(
            request,
            lambda: change_publish(scope=admin_scope(request), actor=admin_user(request), change=change, reason=reason),
            done=_("The change is published."),
            back=back,
        )

    @badge(description=_("state"), ordering="state", colours=COLOURS)
    def status(self, change: GatedChange) -> tuple[str, str]:
        return change.state, change.get_state_display()

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        for change in self.get_queryset(request).filter(state=GatedChange.State.MEASURING):
            change_settle(change=change)
        return super().changelist_view(request, extra_context)


def _changed_rows(request: HttpRequest, change: GatedChange) -> list[tuple[str, Any]]:
    """What changes, by its labels; None: inherited again. Texts are shown to those who may read or keep the set."""
    if change.kind in (GatedChange.Kind.LEXICON, GatedChange.Kind.SITE_LEXICON):
        version = LexiconVersion.objects.filter(pk=change.payload["version"]).first()
        return [(gettext("lexicon version"), version.number if version is not None else "–")]
    if change.kind == GatedChange.Kind.SET_TEXTS:
        field = KnowledgeSet._meta.get_field
        scope = admin_scope(request)
        visible_sets = (sets_readable(scope=scope), sets_managed(scope=scope))
        is_open = any(rows.filter(pk=change.knowledge_set_id).exists() for rows in visible_sets)
        return [
            (str(field(name).verbose_name), (text or "–") if is_open else gettext("(withheld)"))  # type: ignore[union-attr]
            for name, text in change.payload["texts"].items()
        ]
    if change.kind == GatedChange.Kind.QUERY_ADAPTER:
        return [(gettext("Fitted query vectors"), gettext("Version %(n)s") % {"n": change.payload["number"]})]
    if change.kind == GatedChange.Kind.RERANKER_FIT:
        return [(gettext("Fitted reranker weights"), gettext("Version %(n)s") % {"n": change.payload["number"]})]
    if change.kind == GatedChange.Kind.EMBEDDER:
        return [(gettext("embedding model"), change.payload["model"])]
    if change.kind == GatedChange.Kind.RERANKER:
        return [(gettext("reranker"), change.payload["name"] or gettext("built-in"))]
    return _option_rows(change)


def _option_rows(change: GatedChange) -> list[tuple[str, Any]]:
    rows = []
    is_site = change.kind == GatedChange.Kind.SITE_OPTIONS
    stored = site_options(tenant_id=change.payload["tenant"]) if is_site else change.knowledge_set.options
    for group, values in change.payload.get("options", {}).items():
        for name, value in values.items():
            before = stored.get(group, {}).get(name)
            option = find_option(group, name)
            if change.is_open and before == value:
                continue
            if value is None and not change.is_open:
                continue
            rows.append((gettext(option.label) if option is not None else f"{group}.{name}", value))
    return rows


def _result(result: GateResult) -> dict[str, Any]:
    """A golden set's part of the page."""
    comparison = result.comparison
    return {
        "run": result.run,
        "progress": run_progress(result.run),
        "verdict": result.verdict,
        "faults": [fault_words(fault) for fault in result.verdict.faults] if result.verdict is not None else [],
        "weakness": weakness_words(result.verdict) if result.verdict is not None else "",
        "rows": metric_rows(comparison) if comparison is not None else [],
        "plot": forest(comparison) if comparison is not None else None,
    }
