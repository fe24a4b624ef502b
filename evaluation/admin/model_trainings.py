"""Page of trainings of whole embedding models with a set: preparing, starting, and what came of them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from django import forms
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message
from accounts.errors import NotFoundError
from evaluation.admin.adapter_curve import curve_chart, figures_shown, state_words
from evaluation.admin.adapters import CHECKED, DROPPED_WORDS, ORIGIN_WORDS
from evaluation.admin.base import requested_set, submitted_form
from evaluation.admin.charts import Chart
from evaluation.models import GoldenCase
from evaluation.queue import TRAIN_MODEL
from evaluation.services.adapter_pairs import ORIGINS
from evaluation.services.model_training import (
    LIMITS,
    bases,
    model_offer,
    model_training_cancel,
    model_training_prepare,
    model_training_start,
)
from evaluation.services.trainings import training_jobs
from evaluation.services.tuning_process import torch_check
from evaluation.training_errors import ModelTrainingError
from knowledge.admin.curation import run_action
from knowledge.admin.site_models import changes_models
from knowledge.model_setup import setup_refresh
from knowledge.models import ModelTraining
from knowledge.selectors.model_trainings import model_training_get, model_trainings_managed
from ragcore.model_file.sizes import size_words
from ragcore.training.whole_model.plan import PACKAGED, TuneSettings
from work.models import Job
from work.words import error_words

SET_PAGE = "admin:evaluation_tuning_set"
SHOWN = 20
State = ModelTraining.State
PERCENT = 100
SETTINGS_WORDS = {
    "epochs": gettext_lazy("Epochs"),
    "batch": gettext_lazy("Examples in a batch"),
    "rate": gettext_lazy("Learning rate"),
    "warm_up": gettext_lazy("Warm-up (%)"),
    "tokens": gettext_lazy("Tokens that are read of a text"),
    "examples": gettext_lazy("Maximum examples"),
}
EXAMPLE_WORDS = {
    **ORIGIN_WORDS,
    "answer": gettext_lazy("Answers voted helpful, as text"),
    "form": gettext_lazy("Other forms of such questions"),
}


class PrepareForm(forms.Form):
    """What a training begins with, and how it learns."""

    set = forms.IntegerField(min_value=1, max_value=2**62)
    base = forms.IntegerField(min_value=0, max_value=2**62)
    origins = forms.MultipleChoiceField(choices=[(name, name) for name in ORIGINS], required=False)
    epochs = forms.IntegerField()
    batch = forms.IntegerField()
    rate = forms.FloatField()
    warm_up = forms.FloatField()
    tokens = forms.IntegerField()
    examples = forms.IntegerField()

    def settings(self) -> TuneSettings:
        """As a training has them."""
        values = {field.name: self.cleaned_data[field.name] for field in fields(TuneSettings)}
        return TuneSettings(**{**values, "warm_up": values["warm_up"] / PERCENT})


class ActForm(forms.Form):
    """One click on a training."""

    id = forms.IntegerField(min_value=1, max_value=2**62)
    act = forms.ChoiceField(choices=[(name, name) for name in ("start", "cancel", "offer")])


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A training as the page tells it."""

    row: ModelTraining
    job: Job | None  # the latest one

    @property
    def is_waiting(self) -> bool:
        """It is prepared, and nobody has started it yet."""
        return (
            self.row.is_open and "estimate" in self.row.figures and self.row.confirmed is None and not self.is_working
        )

    @property
    def is_working(self) -> bool:
        return self.row.is_open and self.job is not None and self.job.is_open

    @property
    def state(self) -> str:
        """Where it stands."""
        return _("Prepared") if self.is_waiting else state_words(self.row, self.job)

    @property
    def error(self) -> str:
        return error_words(self.job) if self.job is not None else ""

    @property
    def model(self) -> str:
        """That it begins with."""
        return _("the built-in model of Chinese and English") if self.row.model == PACKAGED else self.row.model

    @property
    def estimate(self) -> dict[str, Any]:
        """How long it takes and what it needs, as words and numbers; {} where nothing was measured."""
        measured = self.row.figures.get("estimate")
        if not measured:
            return {}
        return {**measured, "time": _minutes_words(measured["seconds"]), "memory": size_words(measured["memory_bytes"])}

    @property
    def examples(self) -> list[tuple[Any, int]]:
        """(kind, number) of what it learns from."""
        return [(EXAMPLE_WORDS.get(name, name), n) for name, n in self.row.figures.get("examples", {}).items()]

    @property
    def dropped(self) -> list[tuple[Any, int]]:
        return [(DROPPED_WORDS.get(name, name), n) for name, n in self.row.figures.get("dropped", {}).items()]

    @property
    def overall(self) -> list[tuple[Any, dict[str, float]]]:
        return figures_shown(self.row.figures)

    @property
    def others(self) -> list[tuple[str, dict[str, float]]]:
        """(name, recall@10 before and after) with 384 numbers, and of texts about other subjects."""
        figures = self.row.figures
        narrow = [(_("with 384 numbers"), figure) for figure in figures.get("dimensions", {}).values()]
        return [*narrow, *([(_("texts about other subjects"), figures["general"])] if "general" in figures else [])]

    @property
    def forgets(self) -> bool:
        """Whether texts about other subjects find less than may be."""
        return bool(self.row.figures.get("general", {}).get("difference", 0.0) < -0.01)

    @property
    def charts(self) -> list[Chart]:
        names = {"loss": (_("Loss"), "refused")}
        return [curve_chart(_("Loss on trained pairs"), self.row.curve, names)] if len(self.row.curve) > 1 else []


@admin_page("model-training/set/", of=GoldenCase, name="evaluation_tuning_set", allowed=changes_models)
def set_view(request: HttpRequest) -> HttpResponseBase:
    """Trainings with the set of the address, and the form of a new one."""
    setup_refresh(now=True)
    home = requested_set(request, request.GET.get("set", ""))
    rows = list(model_trainings_managed(scope=admin_scope(request)).filter(knowledge_set=home)[:SHOWN])
    jobs = training_jobs(rows, kind=TRAIN_MODEL)
    versions = [Shown(row=row, job=jobs.get(row.pk)) for row in rows]
    page = {
        "title": _("Embedding models trained with “%(name)s”") % {"name": home.shown_name},
        "set": home,
        "versions": versions,
        "is_open": any(row.is_open for row in rows),
        "is_working": any(version.is_working for version in versions),
        "missing": _missing(),
        "bases": bases(),
        "origins": [(name, ORIGIN_WORDS[name], name in CHECKED) for name in ORIGINS],
        "settings": _settings_shown(),
    }
    return page_response(request, "admin/evaluation/model_training/set.html", page)


@admin_page("model-training/prepare/", of=GoldenCase, name="evaluation_tuning_prepare", allowed=changes_models)
@require_POST
def prepare_view(request: HttpRequest) -> HttpResponseBase:
    """POST: collect pairs and estimate a training."""
    form = submitted_form(PrepareForm, request)
    home = requested_set(request, str(form.cleaned_data["set"]))
    prepare = lambda: model_training_prepare(  # noqa: E731
        scope=admin_scope(request),
        actor=admin_user(request),
        set_id=home.pk,
        base=form.cleaned_data["base"],
        origins=form.cleaned_data["origins"],
        settings=form.settings(),
    )
    return run_action(
        request, prepare, done=_("The training is being prepared. You can leave this page."), back=_address(home.pk)
    )


@admin_page("model-training/act/", of=GoldenCase, name="evaluation_tuning_act", allowed=changes_models)
@require_POST
def act_view(request: HttpRequest) -> HttpResponseBase:
    """POST: start a training, give it up, or put its model among the search models again."""
    setup_refresh(now=True)
    form = submitted_form(ActForm, request)
    who: dict[str, Any] = {"scope": admin_scope(request), "actor": admin_user(request)}
    try:
        row = model_training_get(scope=who["scope"], training_id=form.cleaned_data["id"])
    except NotFoundError as error:
        raise Http404 from error
    acts: dict[str, tuple[Any, str]] = {
        "start": (model_training_start, _("The training is queued. You can leave this page.")),
        "cancel": (model_training_cancel, _("The training is cancelled; nothing has changed.")),
        "offer": (model_offer, _("The model is among the search models.")),
    }
    act, message = acts[form.cleaned_data["act"]]
    return run_action(
        request, lambda: act(**who, training_id=row.pk), done=message, back=_address(row.knowledge_set_id)
    )


def _address(set_id: int) -> str:
    return f"{reverse(SET_PAGE)}?set={set_id}"


def _missing() -> str:
    """What has to be installed before anything can be trained; "" where all is there."""
    try:
        torch_check()
    except ModelTrainingError as error:
        return error_message(error)
    return ""


def _settings_shown() -> list[dict[str, Any]]:
    """Number fields of the form with their defaults."""
    defaults = TuneSettings()
    settings = []
    for name, words in SETTINGS_WORDS.items():
        low, high = LIMITS[name]
        times = PERCENT if name == "warm_up" else 1
        step = "any" if name in ("rate", "warm_up") else "1"
        settings.append(
            {
                "name": name,
                "words": words,
                "value": _plain(getattr(defaults, name) * times),
                "low": _plain(low * times),
                "high": _plain(high * times),
                "step": step,
            }
        )
    return settings


def _plain(value: float) -> str:
    """As a number field takes it: 0.00002."""
    return f"{value:.8f}".rstrip("0").rstrip(".")


def _minutes_words(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    if minutes < 120:
        return ngettext("%(n)d minute", "%(n)d minutes", minutes) % {"n": minutes}
    hours = round(minutes / 60)
    return ngettext("%(n)d hour", "%(n)d hours", hours) % {"n": hours}
