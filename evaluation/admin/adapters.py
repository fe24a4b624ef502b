"""Pages of fitted query vectors: what is in use, trainings with their curves, and starting and switching."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from accounts.errors import NotFoundError
from accounts.scope import Scope
from evaluation.admin.adapter_curve import figures_shown, state_words, training_charts
from evaluation.admin.base import requested_set, submitted_form
from evaluation.admin.charts import Chart
from evaluation.models import GoldenCase
from evaluation.queue import TRAIN_ADAPTER
from evaluation.services.adapter_pairs import ORIGINS
from evaluation.services.adapter_training import training_cancel, training_start
from evaluation.services.trainings import training_jobs
from knowledge.admin.curation import keeps_sets, run_action
from knowledge.admin.site_models import changes_models
from knowledge.model_setup import setup_refresh
from knowledge.models import QueryAdapter
from knowledge.selectors import sets_managed
from knowledge.selectors.query_adapters import adapter_get, adapters_of_set
from knowledge.selectors.training_vectors import space_name
from knowledge.versions.query_adapters import QueryAdapters
from work.models import Job
from work.versions import version_activate, version_roll_back
from work.words import error_words

PAGE, SET_PAGE = "admin:evaluation_adapters", "admin:evaluation_adapters_set"
SHOWN = 20
MOST_FORGOTTEN = -0.01  # of recall@10 on texts of other subjects; an interval wholly below it is told
State = QueryAdapter.State
ORIGIN_WORDS = {
    "golden": gettext_lazy("Golden cases"),
    "vote": gettext_lazy("Answers voted helpful"),
    "citation": gettext_lazy("Sources that people opened"),
    "question": gettext_lazy("Questions written for passages"),
    "summary": gettext_lazy("Summaries of passages"),
    "heading": gettext_lazy("Headings"),
    "title": gettext_lazy("Titles"),
}
CHECKED = ("golden", "vote", "citation")  # made pairs alone hurt as often as they help
DROPPED_WORDS = {
    "length": gettext_lazy("too short or too long"),
    "characters": gettext_lazy("broken characters"),
    "pointing": gettext_lazy("refers to text that is not given"),
    "repeated": gettext_lazy("duplicate"),
    "balance": gettext_lazy("dropped to balance lengths"),
    "not_found": gettext_lazy("passage not among the first found"),
    "no_passage": gettext_lazy("no passage holds the answer"),
}


class StartForm(forms.Form):
    """Which pairs a training learns from."""

    set = forms.IntegerField(min_value=1, max_value=2**62)
    origins = forms.MultipleChoiceField(choices=[(name, name) for name in ORIGINS], required=False)


class ActForm(forms.Form):
    """One click on a version; `id` is that of the version, for `off` that of the set."""

    id = forms.IntegerField(min_value=1, max_value=2**62)
    act = forms.ChoiceField(choices=[(name, name) for name in ("publish", "cancel", "off")])


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A training as the page tells it."""

    row: QueryAdapter
    charts: list[Chart]
    pairs: list[tuple[Any, int]]
    dropped: list[tuple[Any, int]]
    overall: list[tuple[Any, dict[str, float]]]
    dimensions: list[tuple[str, dict[str, float]]]
    job: Job | None  # that trains it, or has
    error: str
    fits: bool  # the embedding model in use is the one that it was fitted for

    @property
    def state(self) -> str:
        """Where it stands."""
        return state_words(self.row, self.job)

    @property
    def forgets(self) -> bool:
        """Whether questions about other subjects find less than before, beyond chance."""
        return bool(self.row.figures.get("general", {}).get("high", 0.0) < MOST_FORGOTTEN)

    @property
    def may_be_chance(self) -> bool:
        """Whether it counts as better although the interval of every figure includes no gain."""
        return (
            self.row.state in (State.READY, State.LIVE)
            and max((one["low"] for _name, one in self.overall), default=1.0) <= 0
        )


@admin_page("query-vectors/", of=GoldenCase, name="evaluation_adapters", allowed=keeps_sets)
def list_view(request: HttpRequest) -> HttpResponseBase:
    """The sets that the person keeps, with what each has in use."""
    sets = list(sets_managed(scope=admin_scope(request)).order_by("code")[:500])
    rows = QueryAdapter.objects.filter(knowledge_set__in=sets).exclude(
        reason__in=(QueryAdapter.Reason.CANCELLED, QueryAdapter.Reason.FAILED)
    )
    latest: dict[int, QueryAdapter] = {}
    for row in rows.defer("pairs", "checkpoint", "weights", "curve", "figures").order_by("pk"):
        known = latest.get(row.knowledge_set_id)
        if known is None or row.is_open or known.state != State.LIVE:
            latest[row.knowledge_set_id] = row
    page = {
        "title": _("Fitted query vectors"),
        "sets": [(one, latest.get(one.pk)) for one in sets],
    }
    return page_response(request, "admin/evaluation/adapter/list.html", page)


@admin_page("query-vectors/set/", of=GoldenCase, name="evaluation_adapters_set", allowed=keeps_sets)
def set_view(request: HttpRequest) -> HttpResponseBase:
    """Trainings of the set of the address, and the form of a new one."""
    setup_refresh(now=True)
    home = requested_set(request, request.GET.get("set", ""))
    every = adapters_of_set(scope=admin_scope(request), set_id=home.pk)
    rows = list(every[:SHOWN])
    jobs = training_jobs(rows, kind=TRAIN_ADAPTER)
    page = {
        "title": _("Fitted query vectors of “%(name)s”") % {"name": home.shown_name},
        "set": home,
        "versions": [_shown(row, jobs.get(row.pk), admin_scope(request)) for row in rows],
        "live": every.filter(state=State.LIVE).first(),  # it may be an old one
        "is_open": any(row.is_open for row in rows),
        "trains_models": changes_models(request),
        "origins": [(name, ORIGIN_WORDS[name], name in CHECKED) for name in ORIGINS],
    }
    return page_response(request, "admin/evaluation/adapter/set.html", page)


@admin_page("query-vectors/start/", of=GoldenCase, name="evaluation_adapters_start", allowed=keeps_sets)
@require_POST
def start_view(request: HttpRequest) -> HttpResponseBase:
    """POST: begin a training."""
    form = submitted_form(StartForm, request)
    home = requested_set(request, str(form.cleaned_data["set"]))
    return run_action(
        request,
        lambda: training_start(
            scope=admin_scope(request),
            actor=admin_user(request),
            set_id=home.pk,
            origins=form.cleaned_data["origins"],
        ),
        done=_("The training is queued. You can leave this page."),
        back=_address(home.pk),
    )


@admin_page("query-vectors/act/", of=GoldenCase, name="evaluation_adapters_act", allowed=keeps_sets)
@require_POST
def act_view(request: HttpRequest) -> HttpResponseBase:
    """POST: switch a version on, cancel a training, or switch the set's query vectors off."""
    setup_refresh(now=True)
    form = submitted_form(ActForm, request)
    scope, actor, pk = admin_scope(request), admin_user(request), form.cleaned_data["id"]
    if form.cleaned_data["act"] == "off":
        home = requested_set(request, str(pk))
        kind, subject = QueryAdapters.name, {"knowledge_set_id": home.pk}
        off = lambda: version_roll_back(kind=kind, scope=scope, actor=actor, subject=subject)  # noqa: E731
        return run_action(request, off, done=_("Questions use the original vectors again."), back=_address(home.pk))
    try:
        row = adapter_get(scope=scope, adapter_id=pk)
    except NotFoundError as error:
        raise Http404 from error
    back = _address(row.knowledge_set_id)
    who: dict[str, Any] = {"scope": scope, "actor": actor}
    if form.cleaned_data["act"] == "publish":
        on = lambda: version_activate(**who, kind=QueryAdapters.name, version_id=row.pk)  # noqa: E731
        return run_action(request, on, done=_("This version is in use now."), back=back)
    end = lambda: training_cancel(**who, adapter_id=row.pk)  # noqa: E731
    return run_action(request, end, done=_("The training is cancelled; nothing has changed."), back=back)


def _address(set_id: int) -> str:
    return f"{reverse(SET_PAGE)}?set={set_id}"


def _shown(row: QueryAdapter, job: Job | None, scope: Scope) -> Shown:
    figures = row.figures
    words = lambda named, kinds: [(kinds.get(name, name), count) for name, count in named.items()]  # noqa: E731
    return Shown(
        row=row,
        charts=training_charts(row.curve) if len(row.curve) > 1 else [],
        pairs=words(figures.get("pairs", {}), ORIGIN_WORDS),
        dropped=words(figures.get("dropped", {}), DROPPED_WORDS),
        overall=figures_shown(figures),
        dimensions=[(_dimension_words(name), one) for name, one in _dimensions(figures)],
        job=job,
        error=error_words(job) if job is not None else "",
        fits=row.model == space_name(scope=scope),
    )


def _dimensions(figures: Mapping[str, Any]) -> list[tuple[str, dict[str, float]]]:
    """(name, recall@10 before and after): of parts of the held-out questions, and of texts that are not of the set."""
    general = [("general", figures["general"])] if "general" in figures else []
    return [*figures.get("dimensions", {}).items(), *general]


def _dimension_words(name: str) -> str:
    """ "language:zh" for people."""
    kind, _colon, value = name.partition(":")
    if kind == "general":
        return _("texts about other subjects")
    if kind == "origin":
        return str(ORIGIN_WORDS.get(value, value))
    languages = {"zh": _("Chinese"), "en": _("English"), "other": _("other languages")}
    return languages.get(value, value)
