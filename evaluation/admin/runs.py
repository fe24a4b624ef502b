"""Admin pages of evaluation runs (D15)."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import ReadOnlyMixin, admin_scope
from accounts.scope import Scope
from evaluation.admin.golden import EvaluationAdmin
from evaluation.models import EvaluationRun, GoldenCase
from evaluation.selectors import names_hidden
from evaluation.services.runs import SHARES, TIMES

WORST_CASES = 50


@admin.register(EvaluationRun)
class EvaluationRunAdmin(ReadOnlyMixin, EvaluationAdmin):
    """Figures with their intervals, and the cases that went worst."""

    tenant_path = "golden_set__tenant"
    list_display = ("golden_set", "ndcg", "recall", "contains", "p95", "started", "short_options")
    list_filter = ("golden_set",)
    list_select_related = ("golden_set",)
    ordering = ("-started",)
    fields = ("golden_set", ("started", "finished"), "options", "options_sha256")
    change_form_outer_after_template = "admin/evaluation/evaluationrun/figures.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[EvaluationRun]:
        return super().get_queryset(request).defer("cases")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        run = self.get_object(request, object_id)
        extra = (
            {}
            if run is None
            else {"run": run, "figures": _figures(run), "worst": _worst(run, scope=admin_scope(request))}
        )
        page: HttpResponse = super().change_view(request, object_id, form_url, {**(extra_context or {}), **extra})
        return page

    @admin.display(description="nDCG@10", ordering="figures__ndcg@10__value")
    def ndcg(self, run: EvaluationRun) -> str:
        return _value(run, "ndcg@10")

    @admin.display(description="recall@10", ordering="figures__recall@10__value")
    def recall(self, run: EvaluationRun) -> str:
        return _value(run, "recall@10")

    @admin.display(description=_("answer found"))
    def contains(self, run: EvaluationRun) -> str:
        return _value(run, "contains_answer")

    @admin.display(description=_("p95 (ms)"))
    def p95(self, run: EvaluationRun) -> str:
        figure = run.figures.get("p95_ms")
        return "–" if figure is None else f"{figure['value']:.0f}"

    @admin.display(description=_("options"))
    def short_options(self, run: EvaluationRun) -> str:
        return ", ".join(f"{name}={value}" for name, value in run.options.items() if value is not None)


def _value(run: EvaluationRun, metric: str) -> str:
    figure = run.figures.get(metric)
    return "–" if figure is None else f"{figure['value']:.3f} ({figure['low']:.3f}–{figure['high']:.3f})"


def _figures(run: EvaluationRun) -> list[dict[str, Any]]:
    """Rows of the table in a fixed order: the database does not keep that of JSON objects."""
    known = (*SHARES, *TIMES)
    names = sorted(run.figures, key=lambda name: known.index(name) if name in known else len(known))
    return [{"metric": name, **run.figures[name], "share": name not in TIMES} for name in names]


def _worst(run: EvaluationRun, *, scope: Scope) -> list[dict[str, Any]]:
    """The cases with the lowest nDCG@10, with their questions as they are now.

    Names of documents that the viewer may not open are left out: a run has the rights of the person who started it.
    """
    judged = sorted((c for c in run.cases if "ndcg@10" in c), key=lambda c: (c["ndcg@10"], c["id"]))[:WORST_CASES]
    cases = GoldenCase.objects.in_bulk([c["id"] for c in judged])
    found = {name for c in judged for name in c["found"][:3]}
    hidden = names_hidden(scope=scope, names=found.union(*(case.relevant for case in cases.values())))

    def shown(names: list[str]) -> list[str]:
        return [str(_("(withheld)")) if name in hidden else name for name in names]

    return [
        {
            "figures": c,
            "ndcg": c["ndcg@10"],
            "found": shown(c["found"][:3]),
            "expected": shown(cases[c["id"]].relevant) if c["id"] in cases else [],
            "case": cases.get(c["id"]),
        }
        for c in judged
    ]
