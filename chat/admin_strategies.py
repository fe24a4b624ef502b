"""The page that shows how each strategy does (V9); registered with `chat.admin`."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import admin_scope
from chat.admin import ReviewerAdmin
from chat.models import StrategyStatistics
from chat.turns.strategy_statistics import PERIODS, strategy_figures

DEFAULT_DAYS = 7
PERIOD_WORDS = {1: _("Today"), 7: _("7 days"), 30: _("30 days")}
# Strategies of the adaptive flow, and the others that may stand in the statistics.
STRATEGY_WORDS = {
    "direct": _("Direct"),
    "hyde": _("Hypothetical answer (HyDE)"),
    "decomposition": _("Sub-questions"),
    "iterative": _("Several steps"),
    "hybrid": _("Several wordings"),
    "standard": _("Standard"),
    "adaptive": _("Adaptive"),
    "self_rag": _("Self-checking (Self-RAG)"),
}


@admin.register(StrategyStatistics)
class StrategyStatisticsAdmin(ReviewerAdmin):
    """One table for a period of 1, 7 or 30 days instead of a list of rows."""

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        days = _days(request)
        found = strategy_figures(scope=admin_scope(request), days=days)
        rows = [{"name": STRATEGY_WORDS.get(one.strategy, one.strategy), "figures": one} for one in found]
        context = {
            **self.admin_site.each_context(request),
            "title": _("Answer statistics"),
            "opts": self.model._meta,
            "rows": rows,
            "total": sum(one.answers for one in found),
            "periods": [(period, PERIOD_WORDS[period], period == days) for period in PERIODS],
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/chat/strategystatistics/page.html", context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """A single row says nothing that the table does not."""
        return self.changelist_view(request, extra_context)


def _days(request: HttpRequest) -> int:
    """The period of the address; the default for anything else."""
    given = request.GET.get("days", "")
    return int(given) if given in map(str, PERIODS) else DEFAULT_DAYS
