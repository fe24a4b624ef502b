"""Pages of experiments online: what runs, what came of it, and starting one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message
from accounts.errors import NotFoundError
from chat.answering.experiments import GROUPS, KEPT
from chat.models import Experiment
from evaluation.admin.base import requested_set, submitted_form
from evaluation.models import GoldenCase
from evaluation.services.experiments import (
    LEAST_SHARE,
    MOST_SHARE,
    Outcome,
    experiment_outcomes,
    experiment_publish,
    experiment_roll_back,
    experiment_start,
    experiment_stop,
    experiments_of,
)
from knowledge.admin.curation import keeps_sets, measured_first
from knowledge.admin.option_forms import OptionsForm
from knowledge.errors import MeasuredFirstError
from knowledge.models import KnowledgeSet
from knowledge.selectors import sets_managed
from knowledge.selectors.options import OptionGroupShown, option_label, options_shown, value_label
from ragcore.errors import RagError

PAGE = "admin:evaluation_experiments"
SHOWN = 20
ACTS: dict[str, tuple[Callable[..., Any], Any]] = {
    "stop": (experiment_stop, gettext_lazy("The experiment is stopped; everybody gets the current settings again.")),
    "publish": (experiment_publish, gettext_lazy("The settings of the candidate are now those of the knowledge set.")),
    "roll_back": (experiment_roll_back, gettext_lazy("Rolled back; everybody gets the settings from before.")),
}
VERDICTS = {
    "too_few": gettext_lazy("too few people yet"),
    "open": gettext_lazy("not decided"),
    "better": gettext_lazy("candidate is better"),
    "worse": gettext_lazy("candidate is worse"),
}


class StartForm(forms.Form):
    """What is asked besides the settings."""

    name = forms.CharField(max_length=100, required=False, label=gettext_lazy("Name"))
    share = forms.IntegerField(min_value=LEAST_SHARE, max_value=MOST_SHARE, initial=50)


class ActForm(forms.Form):
    """One click on an experiment."""

    id = forms.IntegerField(min_value=1, max_value=2**62)
    act = forms.ChoiceField(choices=[(name, name) for name in ACTS])


@dataclass(frozen=True, slots=True)
class Shown:
    """An experiment with what it changes and what came of it."""

    row: Experiment
    changes: list[tuple[str, str]]
    outcomes: list[tuple[Outcome, Any]]  # with the verdict in words

    @property
    def is_running(self) -> bool:
        return self.row.state == Experiment.State.RUNNING

    @property
    def is_published(self) -> bool:
        return self.row.state == Experiment.State.PUBLISHED

    @property
    def may_publish(self) -> bool:
        return self.row.state in (Experiment.State.RUNNING, Experiment.State.STOPPED)


@admin_page("experiments/", of=GoldenCase, name="evaluation_experiments", allowed=keeps_sets)
def list_view(request: HttpRequest) -> HttpResponseBase:
    """All experiments of the person's sets, running ones first."""
    rows = list(experiments_of(scope=admin_scope(request))[:SHOWN])
    rows.sort(key=lambda row: row.state != Experiment.State.RUNNING)
    page = {
        "title": _("Experiments"),
        "experiments": [_shown(row) for row in rows],
        "sets": sets_managed(scope=admin_scope(request)).order_by("code")[:500],
    }
    return page_response(request, "admin/evaluation/experiment/list.html", page)


@admin_page("experiments/start/", of=GoldenCase, name="evaluation_experiments_start", allowed=keeps_sets)
def start_view(request: HttpRequest) -> HttpResponseBase:
    """The form of a new experiment on the set of the address; POST starts it."""
    home = requested_set(request, request.GET.get("set", ""))
    groups = _candidate_groups(request, home)
    form, options = StartForm(request.POST or None), OptionsForm(groups, request.POST or None)
    if request.method == "POST" and form.is_valid() and options.is_valid():
        chosen = {
            code: {name: value for name, value in values.items() if value is not None}
            for code, values in options.values().items()
        }
        try:
            experiment_start(
                actor=admin_user(request),
                set_id=home.pk,
                name=form.cleaned_data["name"],
                options={code: values for code, values in chosen.items() if values},
                share=form.cleaned_data["share"],
            )
        except RagError as error:
            messages.error(request, error_message(error))
        else:
            messages.success(request, _("The experiment is running."))
            return redirect(PAGE)
    page = {
        "title": _("New experiment on “%(name)s”") % {"name": home.shown_name},
        "set": home,
        "form": form,
        "options": options,
        "share": form["share"].value(),
        "least": LEAST_SHARE,
        "most": MOST_SHARE,
    }
    return page_response(request, "admin/evaluation/experiment/start.html", page)


@admin_page("experiments/act/", of=GoldenCase, name="evaluation_experiments_act", allowed=keeps_sets)
@require_POST
def act_view(request: HttpRequest) -> HttpResponseBase:
    """Stop, publish or roll back; back to the list."""
    form = submitted_form(ActForm, request)
    act, done = ACTS[form.cleaned_data["act"]]
    try:
        act(actor=admin_user(request), experiment_id=form.cleaned_data["id"])
    except NotFoundError as error:
        raise Http404 from error
    except MeasuredFirstError as error:
        return measured_first(request, error)
    except RagError as error:
        messages.error(request, error_message(error))
    else:
        messages.success(request, done)
    return redirect(PAGE)


def _candidate_groups(request: HttpRequest, home: KnowledgeSet) -> list[OptionGroupShown]:
    """The settings that a candidate may change; empty fields stay as they are in the set."""
    groups = options_shown(scope=admin_scope(request), set_id=home.pk)
    return [
        replace(
            group,
            options=tuple(
                replace(option, inherited=option.value, own=None)
                for option in group.options
                if option.name not in KEPT.get(group.code, frozenset())
            ),
        )
        for group in groups
        if group.code in GROUPS
    ]


def _shown(row: Experiment) -> Shown:
    changes = [
        (option_label(code, name), value_label(code, name, value))
        for code, values in row.options.items()
        for name, value in values.items()
    ]
    return Shown(
        row, changes, [(outcome, VERDICTS[outcome.comparison.verdict]) for outcome in experiment_outcomes(row)]
    )
