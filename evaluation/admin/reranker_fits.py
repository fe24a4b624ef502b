"""Page of the reranker's fitted weights: what is in use, fits with their figures, starting and switching."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from accounts.admin.base import admin_scope, admin_user, is_administrator
from accounts.admin.pages import admin_page, page_response
from accounts.errors import NotFoundError
from evaluation.admin.adapter_curve import METRIC_WORDS, curve_chart, figures_shown, state_words
from evaluation.admin.base import submitted_form
from evaluation.admin.charts import Chart
from evaluation.models import GoldenCase, GoldenSet
from evaluation.queue import FIT_RERANKER
from evaluation.services.reranker_fitting import LEAST_CASES, fit_cancel, fit_start, golden_sets_of
from evaluation.services.trainings import training_jobs
from knowledge.admin.curation import ids_of, run_action
from knowledge.model_setup import setup_now, setup_refresh
from knowledge.models import RerankerFit
from knowledge.selectors.reranker_fits import fit_get, fits_managed
from knowledge.versions.reranker_fits import RerankerFits
from ragcore.reranking.linear import FEATURES
from work.models import Job
from work.versions import version_activate, version_roll_back
from work.words import error_words

PAGE = "admin:evaluation_reranker"
SHOWN = 20
State = RerankerFit.State
DROPPED_WORDS = {
    "no_document": gettext_lazy("their documents are not searchable any more"),
    "not_found": gettext_lazy("no order of the passages found is better"),
}


class ActForm(forms.Form):
    """One click; `id` is that of a fit, and left out for `off`."""

    id = forms.IntegerField(min_value=1, max_value=2**62, required=False)
    act = forms.ChoiceField(choices=[(name, name) for name in ("publish", "cancel", "off")])


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A fit as the page tells it."""

    row: RerankerFit
    charts: list[Chart]
    facts: list[tuple[Any, int]]
    overall: list[tuple[Any, dict[str, float]]]
    job: Job | None  # that fits it, or has
    error: str

    @property
    def state(self) -> str:
        """Where it stands."""
        return state_words(self.row, self.job)

    @property
    def fits(self) -> bool:
        """See `_fits`."""
        return _fits(self.row)

    @property
    def can_switch(self) -> bool:
        """Whether it may be switched on now."""
        return self.row.is_usable and self.row.state != State.LIVE and self.fits

    @property
    def most(self) -> int:
        """Length of the bar of progress."""
        return (self.job.total if self.job is not None else 0) or 1

    @property
    def is_fitting(self) -> bool:
        """Whether all questions are searched."""
        return "lists" in self.row.figures


@admin_page("reranker/", of=GoldenCase, name="evaluation_reranker", allowed=is_administrator)
def page_view(request: HttpRequest) -> HttpResponseBase:
    """Fits of the tenant, and the form of a new one."""
    setup_refresh(now=True)
    scope, actor = admin_scope(request), admin_user(request)
    rows = list(fits_managed(scope=scope)[:SHOWN])
    jobs = training_jobs(rows, kind=FIT_RERANKER)
    versions = [_shown(row, jobs.get(row.pk)) for row in rows]
    live = fits_managed(scope=scope).filter(state=State.LIVE).first()
    page = {
        "title": _("Fitted reranker weights"),
        "versions": versions,
        "live": live,
        "live_fits": live is not None and _fits(live),
        "is_open": any(one.row.is_open for one in versions),
        "is_linear": setup_now().reranker.is_linear,
        "golden_sets": _with_usable(golden_sets_of(scope=scope, actor=actor)),
        "least": LEAST_CASES,
    }
    return page_response(request, "admin/evaluation/reranker/page.html", page)


@admin_page("reranker/start/", of=GoldenCase, name="evaluation_reranker_start", allowed=is_administrator)
def start_view(request: HttpRequest) -> HttpResponseBase:
    """POST: begin a fit."""
    chosen = ids_of(request.POST.getlist("golden_sets"))
    is_from_use = request.POST.get("use") == "1"
    return run_action(
        request,
        lambda: fit_start(
            scope=admin_scope(request), actor=admin_user(request), golden_sets=chosen, learns_from_use=is_from_use
        ),
        done=_("The training is queued. You can leave this page."),
        back=reverse(PAGE),
    )


@admin_page("reranker/act/", of=GoldenCase, name="evaluation_reranker_act", allowed=is_administrator)
@require_POST
def act_view(request: HttpRequest) -> HttpResponseBase:
    """POST: switch a fit on, cancel one, or go back to the packaged weights."""
    form = submitted_form(ActForm, request)
    who: dict[str, Any] = {"scope": admin_scope(request), "actor": admin_user(request)}
    if form.cleaned_data["act"] == "off":
        subject = {"tenant_id": who["scope"].tenant_id}
        off = lambda: version_roll_back(**who, kind=RerankerFits.name, subject=subject)  # noqa: E731
        return run_action(request, off, done=_("The built-in weights are in use again."), back=reverse(PAGE))
    try:
        row = fit_get(scope=who["scope"], fit_id=form.cleaned_data["id"] or 0)
    except NotFoundError as error:
        raise Http404 from error
    if form.cleaned_data["act"] == "publish":
        on = lambda: version_activate(**who, kind=RerankerFits.name, version_id=row.pk)  # noqa: E731
        return run_action(request, on, done=_("This version is in use now."), back=reverse(PAGE))
    end = lambda: fit_cancel(**who, fit_id=row.pk)  # noqa: E731
    return run_action(request, end, done=_("The training is cancelled; nothing has changed."), back=reverse(PAGE))


def _fits(row: RerankerFit) -> bool:
    """Whether its features are those of the reranker, or it has no weights."""
    return row.weights is None or set(row.features) <= set(FEATURES)


def _with_usable(rows: QuerySet[GoldenSet]) -> QuerySet[GoldenSet]:
    """With the number of cases that name documents, as `usable`."""
    names_documents = Q(cases__expects_refusal=False) & ~Q(cases__relevant=[])
    return rows.annotate(usable=Count("cases", filter=names_documents))


def _shown(row: RerankerFit, job: Job | None) -> Shown:
    figures = row.figures
    learnt = [(_("Questions learnt from"), figures["lists"])] if "lists" in figures else []
    dropped = [
        (_("Left out: %(why)s") % {"why": words}, figures["dropped"][name])
        for name, words in DROPPED_WORDS.items()
        if name in figures.get("dropped", {})
    ]
    lines = {"ndcg": (str(METRIC_WORDS["ndcg@10"]), "searched")}
    title = _("Order on held-out documents: 0 means the built-in weights; further right, the cases count more")
    return Shown(
        row=row,
        charts=[curve_chart(title, row.curve, lines)] if row.curve else [],
        facts=[*learnt, *dropped],
        overall=figures_shown(figures),
        job=job,
        error=error_words(job) if job is not None else "",
    )
