"""Admin pages of evaluation runs: started, followed, and what came of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import ReadOnlyMixin, admin_scope, admin_user, badge
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message
from evaluation.admin.base import EvaluationAdmin, judges_quality, requested_id, requested_run
from evaluation.admin.lab_labels import ranking_label
from evaluation.admin.run_forms import RunForm
from evaluation.models import EvaluationRun, RunConfiguration
from evaluation.selectors import golden_sets_kept, golden_sets_listed
from evaluation.services.golden_files import CHOICES, GoldenRow
from evaluation.services.runs.figures import ordered
from evaluation.services.runs.lifecycle import run_cancel, run_pause, run_resume, run_start
from evaluation.services.runs.measuring import OUTDATED
from evaluation.services.runs.reading import (
    FigureShown,
    cases_hidden,
    figure_shown,
    rows_of_run,
    run_error,
    run_progress,
)
from evaluation.services.runs.suggestions import Suggestion, suggestions_of
from knowledge.admin.curation import run_action
from ragcore.errors import RagError

WORST_CASES = 50
MOVES = {
    "pause": (run_pause, _("The run is paused.")),
    "resume": (run_resume, _("The run has resumed.")),
    "cancel": (run_cancel, _("The run was cancelled.")),
}
DIMENSIONS = {
    "set": _("Knowledge set"),
    "style": _("Phrasing"),
    "level": _("Level"),
    "target": _("Answer type"),
    "structure": pgettext_lazy("golden case", "Location"),
    "robustness": _("Difficulty"),
    "type": _("Question type"),
    "language": _("Language"),
}
TIME_LABELS = {"p50_ms": _("Median time"), "p95_ms": _("95th percentile of time")}
TYPES = {
    "definition": _("Definition"),
    "process": _("Procedure"),
    "comparison": _("Comparison"),
    "application": _("Application"),
    "general": _("Other question"),
}
SUGGESTIONS: Mapping[Suggestion, Promise] = {
    "faithfulness": _("Answers say more than their sources: choose the style “Precise” or a lower temperature."),
    "relevance": _("Answers are not about the question: look at other forms of questions, and at the reranker."),
    "coherence": _("Answers repeat themselves or break off: allow longer answers, or choose another language model."),
    "completeness": _("Answers leave parts out: allow more passages, or search for sub-questions."),
    "citations": _("Answers cite other documents: look at the order of passages, the lexicon and the reranker."),
    "failures": _("Some questions failed: look at their errors before you compare the figures."),
    "slow": _("Answers take long: choose a faster mode, fewer passages or a lighter model."),
}
COLOURS = {"running": "info", "paused": "warning", "done": "success", "cancelled": "danger", "failed": "danger"}


@admin.register(EvaluationRun)
class EvaluationRunAdmin(ReadOnlyMixin, EvaluationAdmin):
    """Runs, newest first; a page of each with figures, dimensions and its worst cases."""

    tenant_path = "golden_set__tenant"
    list_display = ("golden_set", "status", "configuration_names", "ndcg", "correctness", "p95", "started")
    list_filter = ("golden_set", "state")
    list_select_related = ("golden_set",)
    ordering = ("-started", "-pk")
    list_before_template = "admin/evaluation/evaluationrun/list_top.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[EvaluationRun]:
        return super().get_queryset(request).prefetch_related("configurations")

    @admin_page("new/", name="evaluation_evaluationrun_new", allowed=judges_quality)
    def new_view(self, request: HttpRequest) -> HttpResponseBase:
        """GET: what to run with what (`?golden=`: chosen already); POST: start it."""
        scope = admin_scope(request)
        form = RunForm(
            request.POST or None,
            golden_sets=golden_sets_listed(scope=scope),
            initial={"golden_set": request.GET.get("golden")},
        )
        if request.method == "POST" and form.is_valid():
            try:
                run = run_start(scope=scope, user=admin_user(request), **form.values())
            except RagError as error:
                form.add_error(None, error_message(error))
            else:
                return redirect("admin:evaluation_evaluationrun_change", run.pk)
        page = {"title": gettext("New evaluation run"), "form": form}
        return page_response(request, "admin/evaluation/evaluationrun/new.html", page)

    @admin_page("<int:pk>/move/", name="evaluation_evaluationrun_move", allowed=judges_quality)
    def move_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """POST `to`: pause, resume or cancel; for who started the run and who keeps its golden set."""
        run = requested_run(request, pk)
        if not self.may_move(request, run):
            raise PermissionDenied
        move = MOVES.get(request.POST.get("to", ""))
        if request.method == "POST" and move is None:
            raise Http404
        act, done = move or MOVES["pause"]
        back = reverse("admin:evaluation_evaluationrun_change", args=[pk])
        return run_action(request, lambda: act(run=run, actor=admin_user(request)), done=done, back=back)

    def may_move(self, request: HttpRequest, run: EvaluationRun) -> bool:
        """Whether the person may pause, resume and cancel a run."""
        actor = admin_user(request)
        golden_sets = golden_sets_kept(scope=admin_scope(request), actor=actor)
        return run.requested_by_id == actor.pk or golden_sets.filter(pk=run.golden_set_id).exists()

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """A page of its own in the place of a form."""
        if not self.has_module_permission(request):
            raise PermissionDenied
        run = requested_run(request, requested_id(object_id))
        configurations = list(run.configurations.all())
        rows = rows_of_run(run)
        page = {
            "title": run.golden_set.name,
            "run": run,
            "progress": run_progress(run),
            "error": run_error(run),
            "may_move": self.may_move(request, run),
            "configurations": configurations,
            "figures": figure_rows(configurations),
            "suggestions": suggestions_shown(configurations),
            "dimensions": dimension_tables(configurations),
            "worst": _worst(request, configurations[0], rows) if configurations else [],
            "changes": run.gated_changes.all(),
        }
        return page_response(request, "admin/evaluation/evaluationrun/page.html", page)

    @admin.display(description="nDCG@10", ordering="figures__ndcg@10__value")
    def ndcg(self, run: EvaluationRun) -> str:
        return _value(run, "ndcg@10")

    @admin.display(description=_("Correctness"), ordering="figures__correctness__value")
    def correctness(self, run: EvaluationRun) -> str:
        return _value(run, "correctness")

    @admin.display(description=_("p95 (ms)"))
    def p95(self, run: EvaluationRun) -> str:
        figure = run.figures.get("p95_ms")
        return "–" if figure is None else f"{figure['value']:.0f}"

    @badge(description=_("state"), ordering="state", colours=COLOURS)
    def status(self, run: EvaluationRun) -> tuple[str, str]:
        return run.state, run.get_state_display()

    @admin.display(description=_("configurations"))
    def configuration_names(self, run: EvaluationRun) -> str:
        return ", ".join(configuration.shown_name for configuration in run.configurations.all())


def _value(run: EvaluationRun, metric: str) -> str:
    figure = run.figures.get(metric)
    return "–" if figure is None else f"{figure['value']:.3f} ({figure['low']:.3f}–{figure['high']:.3f})"


def figure_rows(configurations: Iterable[RunConfiguration]) -> list[dict[str, Any]]:
    """A row for each metric with the figure of each configuration, or None."""
    every = list(configurations)
    names = ordered({name for configuration in every for name in configuration.figures})
    return [
        {
            "metric": name,
            "label": str(TIME_LABELS.get(name) or gettext(first.label)),
            "help": gettext(first.help) if first.help else "",
            "is_primary": first.is_primary,
            "stage": ranking_label(stage) if (stage := name.partition(".")[2]) else "",
            "values": [
                figure_shown(name, configuration.figures[name]) if name in configuration.figures else None
                for configuration in every
            ],
        }
        for name in names
        if (first := _first_figure(name, every))
    ]


def suggestions_shown(configurations: Iterable[RunConfiguration]) -> list[tuple[str, list[str]]]:
    """The name of each configuration of which the figures suggest something, with that in words."""
    by_name = ((each.shown_name, suggestions_of(each.figures, failed=each.failed)) for each in configurations)
    return [(name, [str(SUGGESTIONS[code]) for code in codes]) for name, codes in by_name if codes]


def _first_figure(name: str, configurations: list[RunConfiguration]) -> FigureShown:
    return next(figure_shown(name, one.figures[name]) for one in configurations if name in one.figures)


def dimension_tables(configurations: Iterable[RunConfiguration]) -> list[dict[str, Any]]:
    """For each dimension a table: its values, and the primary figures of each configuration."""
    every = list(configurations)
    tables = []
    for dimension, label in DIMENSIONS.items():
        values = dict.fromkeys(value for one in every for value in one.dimensions.get(dimension, {}))
        rows = []
        for value in values:
            groups = [one.dimensions.get(dimension, {}).get(value, {}) for one in every]
            names = ordered({name for group in groups for name in group})
            for name in names:
                shown = [figure_shown(name, group[name]) if name in group else None for group in groups]
                known = next(one for one in shown if one is not None)
                if known.is_primary or known.levels or name == "seconds":
                    words = _value_label(dimension, value)
                    rows.append({"value": words, "label": gettext(known.label), "values": shown})
        if rows:
            tables.append({"label": label, "rows": rows})
    return tables


def _value_label(dimension: str, value: str) -> str:
    choices = CHOICES[dimension].choices if dimension in CHOICES else []
    languages = {"zh": _("Chinese"), "en": _("English"), "other": _("Other")}
    words = {"language": languages, "type": TYPES}.get(dimension, {})
    return str(dict(choices).get(value) or words.get(value) or value or "–")


def _worst(request: HttpRequest, configuration: RunConfiguration, rows: dict[int, GoldenRow]) -> list[dict[str, Any]]:
    """The cases with the lowest correctness, then nDCG@10. Of those on hidden documents only that they are there."""
    hidden = cases_hidden(scope=admin_scope(request), rows=rows)
    asked = configuration.outcomes.exclude(error=OUTDATED).defer("trace")
    outcomes = [one for one in asked if one.scores or one.error]
    outcomes.sort(key=lambda one: (one.scores.get("correctness", 1.0), one.scores.get("ndcg@10", 1.0), one.case))
    return [
        {
            "case": outcome.case,
            "question": "" if outcome.case in hidden else rows[outcome.case].question,
            "is_hidden": outcome.case in hidden,
            "correctness": outcome.scores.get("correctness"),
            "ndcg": outcome.scores.get("ndcg@10"),
            "error": outcome.error,
        }
        for outcome in outcomes[:WORST_CASES]
        if outcome.case in rows
    ]
