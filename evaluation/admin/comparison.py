"""The comparison of two configurations: differences with intervals, wins and losses, and both ways to each case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from accounts.services import audit_record
from evaluation.admin.base import judges_quality, requested_run
from evaluation.admin.gate_words import fault_words, weakness_words
from evaluation.admin.lab_labels import ranking_label, stage_label
from evaluation.models import CaseOutcome, EvaluationRun, RunConfiguration
from evaluation.selectors import runs_of
from evaluation.services.gates import run_judge
from evaluation.services.runs.comparison import ComparedCase, Comparison, comparison_of, is_higher_better
from evaluation.services.runs.figures import is_share, ordered
from evaluation.services.runs.files import comparison_csv, comparison_junit
from evaluation.services.runs.reading import cases_hidden, rows_of_run, trace_shown
from ragcore.metrics.comparison import PairedDifference
from ragcore.metrics.registry import metric_info

SHOWN_CASES = 200
SORTED_BY = ("correctness", "ndcg@10", "refusal_quality")
STATUSES = {  # how an answer ended
    "answered": gettext_lazy("answered"),
    "refused": gettext_lazy("refused"),
    "search_results": gettext_lazy("search results shown"),
    "degraded": gettext_lazy("answered without a language model"),
    "conversation": gettext_lazy("conversation"),
    "stopped": gettext_lazy("Stopped"),
}
DETAILS = {
    "mode": gettext_lazy("Mode"),
    "strategy": gettext_lazy("Strategy"),
    "model": gettext_lazy("Model"),
    "understood": gettext_lazy("Understood as"),
    "judge": gettext_lazy("Judge"),
}

STAGES = ("lexical", "coarse", "dense", "fused", "rerank", "quality", "use", "final")
LEFT, RIGHT, TOP, ROW = 190.0, 620.0, 26.0, 26.0


def _detail(name: str, value: Any) -> tuple[str, str]:
    """A fact of a trace with its label; of the language model that judged also what it took."""
    if name != "judge":
        return str(DETAILS.get(name, name)), str(value)
    if value.get("unfit"):
        words = _("%(model)s was not asked: its exam says that it cannot judge. Rules judged.")
    elif value["failed"]:
        words = _("%(model)s, which did not judge every text; rules did then")
    else:
        words = _("%(model)s, %(tokens)s tokens")
    return str(DETAILS[name]), words % value


def _chosen(request: HttpRequest, run: EvaluationRun) -> tuple[RunConfiguration, RunConfiguration]:
    """The configurations `a` and `b`, of this run or another one of the golden set; the first two of the run.

    Raises Http404.
    """
    configurations = list(run.configurations.all())
    if not configurations:
        raise Http404
    runs = runs_of(scope=admin_scope(request), golden_set=run.golden_set)
    choices = RunConfiguration.objects.filter(run__in=runs.order_by()).select_related("run__golden_set", "run__version")

    def chosen(name: str, default: RunConfiguration) -> RunConfiguration:
        number = request.GET.get(name, "")
        if not number:
            return default
        configuration = choices.filter(pk=int(number)).first() if number.isdecimal() and len(number) < 18 else None
        if configuration is None:
            raise Http404
        return configuration

    return chosen("a", configurations[0]), chosen("b", configurations[-1])


@admin_page("<int:pk>/compare/", of=EvaluationRun, name="evaluation_evaluationrun_compare", allowed=judges_quality)
def comparison_page(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Differences by metric as table and plot, and the cases that differ most."""
    run = requested_run(request, pk)
    first, second = _chosen(request, run)
    comparison = comparison_of(first, second)
    hidden = cases_hidden(scope=admin_scope(request), rows=rows_of_run(first.run) | rows_of_run(second.run))
    runs = runs_of(scope=admin_scope(request), golden_set=run.golden_set)[:20]
    metric = _sorting(request, comparison)
    page = {
        "title": _("Compare %(first)s with %(second)s") % {"first": first.shown_name, "second": second.shown_name},
        "run": run,
        "first": first,
        "second": second,
        "choices": list(
            RunConfiguration.objects.filter(run__in=list(runs)).select_related("run").order_by("-run_id", "position")
        ),
        "rows": metric_rows(comparison),
        "plot": forest(comparison),
        "metric": metric,
        "metric_label": _label(metric),
        "metrics": [(name, _label(name)) for name in comparison.metrics],
        "cases": _case_rows(comparison, metric, hidden),
        "cases_total": len(comparison.cases),
        "cases_changed": comparison.changed,
        **_verdict(run, first, second),
    }
    return page_response(request, "admin/evaluation/evaluationrun/compare.html", page)


def _verdict(run: EvaluationRun, first: RunConfiguration, second: RunConfiguration) -> dict[str, Any]:
    """What the gate says of the second configuration of a run against its first; nothing of other pairs."""
    is_pair = [first.pk, second.pk] == [configuration.pk for configuration in run.configurations.all()[:2]]
    verdict = run_judge(run).verdict if is_pair else None
    if verdict is None:
        return {"verdict": None}
    faults = [fault_words(fault) for fault in verdict.faults]
    return {"verdict": verdict, "faults": faults, "weakness": weakness_words(verdict)}


def _sorting(request: HttpRequest, comparison: Comparison) -> str:
    metric = request.GET.get("metric", "")
    if metric in comparison.metrics:
        return metric
    return next((name for name in SORTED_BY if name in comparison.metrics), next(iter(comparison.metrics), ""))


def _label(metric: str) -> str:
    info = metric_info(metric)
    return _(info.label) if info is not None else metric


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRow:
    """One metric of the comparison. Widths of the bar are of 100."""

    metric: str
    label: str
    help: str
    is_primary: bool
    is_share: bool
    one: PairedDifference
    better: int
    worse: int
    verdict: str  # better, worse or same
    better_width: float
    tie_width: float


def metric_rows(comparison: Comparison) -> list[MetricRow]:
    """A row for each metric."""
    rows = []
    for name, difference in comparison.metrics.items():
        info = metric_info(name)
        better, worse = comparison.better(name), comparison.worse(name)
        is_gain = (difference.difference > 0) == is_higher_better(name)
        rows.append(
            MetricRow(
                metric=name,
                label=_label(name),
                help=_(info.help) if info and info.help else "",
                is_primary=info is not None and info.is_primary,
                is_share=is_share(name),
                one=difference,
                better=better,
                worse=worse,
                verdict=("better" if is_gain else "worse") if difference.is_significant else "same",
                better_width=100 * better / difference.cases,
                tie_width=100 * difference.ties / difference.cases,
            )
        )
    return rows


# ── the plot ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotRow:
    """An interval of the plot, in units of its view box."""

    label: str
    y: float
    low: float
    high: float
    x: float
    verdict: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Differences with their intervals, the second configuration minus the first."""

    rows: tuple[PlotRow, ...]
    height: float
    zero: float
    ticks: tuple[tuple[float, str], ...]


def forest(comparison: Comparison) -> Plot | None:
    """Of the shares; None where there is none."""
    shares = [row for row in metric_rows(comparison) if row.is_share]
    if not shares:
        return None
    most = max(0.05, *(abs(edge) for row in shares for edge in (row.one.low, row.one.high)))
    most = min(1.0, round(most * 1.1 + 0.005, 2))
    zero = (LEFT + RIGHT) / 2

    def x_of(value: float) -> float:
        return round(zero + value / most * (RIGHT - LEFT) / 2, 1)

    rows = tuple(
        PlotRow(
            label=row.label,
            y=TOP + ROW * place + ROW / 2,
            low=x_of(row.one.low),
            high=x_of(row.one.high),
            x=x_of(row.one.difference),
            verdict=row.verdict,
            words=_("%(metric)s: %(difference)s, 95 %% interval %(low)s to %(high)s")
            % {
                "metric": row.label,
                "difference": f"{row.one.difference:+.3f}",
                "low": f"{row.one.low:+.3f}",
                "high": f"{row.one.high:+.3f}",
            },
        )
        for place, row in enumerate(shares)
    )
    ticks = tuple((x_of(value), f"{value:+.2f}" if value else "0") for value in (-most, -most / 2, 0.0, most / 2, most))
    return Plot(rows=rows, height=TOP + ROW * len(rows) + 8, zero=zero, ticks=ticks)


# ── cases ───────────────────────────────────────────────────────────────────────────────────────


def _case_rows(comparison: Comparison, metric: str, hidden: set[int]) -> list[dict[str, Any]]:
    """Cases with the largest differences first; of those on hidden documents only that they are there."""

    def gain(row: ComparedCase) -> float:
        difference = row.difference(metric) or 0.0
        return difference if is_higher_better(metric) else -difference

    ranked = sorted(comparison.cases, key=lambda row: (-abs(gain(row)), row.case))
    return [
        {
            "case": row.case,
            "is_hidden": row.case in hidden,
            "question": "" if row.case in hidden else row.question,
            "first": row.first.get(metric),
            "second": row.second.get(metric),
            "gain": gain(row),
        }
        for row in ranked[:SHOWN_CASES]
    ]


@admin_page("<int:pk>/case/<int:case>/", of=EvaluationRun, name="evaluation_evaluationrun_case", allowed=judges_quality)
def case_page(request: HttpRequest, pk: int, case: int) -> HttpResponseBase:
    """Both ways to one case, side by side. Raises Http404 for a case of neither, and for one on hidden documents."""
    run = requested_run(request, pk)
    first, second = _chosen(request, run)
    scope = admin_scope(request)
    rows = rows_of_run(second.run) | rows_of_run(first.run)
    row = rows.get(case)
    if row is None or cases_hidden(scope=scope, rows={case: row}):
        raise Http404
    pair = [first] if first.pk == second.pk else [first, second]
    stored = {one.configuration_id: one for one in CaseOutcome.objects.filter(configuration__in=pair, case=case)}
    sides = []
    for configuration in pair:
        outcome = stored.get(configuration.pk)
        trace = trace_shown(scope=scope, outcome=outcome, row=row) if outcome is not None else None
        sides.append(
            {
                "configuration": configuration,
                "trace": trace,
                "status": STATUSES.get(trace.status, trace.status) if trace else "",
                "details": [_detail(*one) for one in trace.detail.items()] if trace else [],
                "stages": _stages(trace.rankings) if trace else [],
                "times": [(stage_label(name), ms) for name, ms in trace.stages.items()] if trace else [],
            }
        )
    page = {
        "title": row.question,
        "run": run,
        "case": case,
        "row": row,
        "sides": sides,
        "scores": _score_rows(stored, pair),
        "query": request.GET.urlencode(),
    }
    return page_response(request, "admin/evaluation/evaluationrun/case.html", page)


def _stages(rankings: Mapping[str, Any]) -> list[tuple[str, str, Any]]:
    """Rankings from the last to the first, each with its name."""
    names = [name for name in reversed(STAGES) if rankings.get(name)]
    return [(name, _("Result") if name == "final" else ranking_label(name), rankings[name]) for name in names]


def _score_rows(stored: Mapping[int, CaseOutcome], pair: list[RunConfiguration]) -> list[dict[str, Any]]:
    names = {name for outcome in stored.values() for name in outcome.scores if "." not in name}
    rows = []
    for name in ordered(names):
        values = [stored[c.pk].scores.get(name) if c.pk in stored else None for c in pair]
        rows.append({"label": _label(name), "values": values, "differs": len(set(values)) > 1})
    return rows


# ── files ───────────────────────────────────────────────────────────────────────────────────────


@admin_page(
    "<int:pk>/compare/export/", of=EvaluationRun, name="evaluation_evaluationrun_export", allowed=judges_quality
)
def comparison_export(request: HttpRequest, pk: int) -> HttpResponse:
    """`?as=csv`: a line a case; `?as=junit`: a test case for each metric, for the pages of a build server."""
    run = requested_run(request, pk)
    first, second = _chosen(request, run)
    comparison = comparison_of(first, second)
    name = slugify(f"{run.golden_set.name}-{first.name}-{second.name}") or f"run-{run.pk}"
    audit_record(actor=admin_user(request), action="run.export", target=run.golden_set.name, run=run.pk)
    content: str | bytes
    if request.GET.get("as") == "junit":
        content = comparison_junit(comparison, name=run.golden_set.name, floors=run.golden_set.floors, candidate=second)
        kind, ending = "application/xml; charset=utf-8", "xml"
    else:
        hidden = cases_hidden(scope=admin_scope(request), rows=rows_of_run(first.run) | rows_of_run(second.run))
        content = comparison_csv(comparison, hidden=hidden)
        kind, ending = "text/csv; charset=utf-8", "csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}.{ending}"'}
    return HttpResponse(content, content_type=kind, headers=headers)
