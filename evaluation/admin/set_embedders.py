"""Pages of embedding models of sets: what is in use, starting one, its progress, and switching."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from django.views.decorators.http import require_POST

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from accounts.errors import NotFoundError
from evaluation.admin.base import requested_set, submitted_form
from evaluation.models import GoldenCase
from evaluation.services.training_publishing import set_embedder_publish
from knowledge.admin.curation import keeps_sets, run_action
from knowledge.model_registry import live_model
from knowledge.model_setup import setup_refresh
from knowledge.models import SetEmbedder
from knowledge.queue import FILL_SET_VECTORS, set_embedder_subject
from knowledge.selectors import sets_managed
from knowledge.selectors.set_embedders import set_embedder_get, set_embedders_of_set, set_targets
from knowledge.services.fill_jobs import fills_of
from knowledge.services.set_embedders import (
    set_embedder_cancel,
    set_embedder_drop,
    set_embedder_pause,
    set_embedder_resume,
    set_embedder_start,
    set_embedder_switch_off,
)
from work.models import Job
from work.words import error_words

SET_PAGE = "admin:evaluation_set_embedders_set"
SHOWN = 20
MOST_SETS = 500
ACTS = ("publish", "off", "pause", "resume", "cancel", "drop")
State, Mode = SetEmbedder.State, SetEmbedder.Mode


class StartForm(forms.Form):
    """Which model is to be used in which way."""

    set = forms.IntegerField(min_value=1, max_value=2**62)
    model = forms.IntegerField(min_value=1, max_value=2**62)
    mode = forms.ChoiceField(choices=Mode.choices)


class ActForm(forms.Form):
    """One click on a row."""

    id = forms.IntegerField(min_value=1, max_value=2**62)
    act = forms.ChoiceField(choices=[(name, name) for name in ACTS])


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A choice of a model as the page tells it."""

    row: SetEmbedder
    site_model: str
    fill: Job | None

    @property
    def done(self) -> int:
        """Passages of the set that have a vector."""
        return self.fill.done if self.fill is not None else 0

    @property
    def total(self) -> int:
        return self.fill.total if self.fill is not None else 0

    @property
    def error(self) -> str:
        """What has gone wrong last; "" where nothing has."""
        return error_words(self.fill) if self.fill is not None else ""

    @property
    def percent(self) -> int:
        """How many of the passages have a vector; 100 only once all have, also those that came meanwhile."""
        most = 100 if self.row.state in SetEmbedder.COMPLETE else 99
        return min(100 * self.done // max(self.total, 1), most)

    @property
    def is_of_site(self) -> bool:
        """The site uses the same model by now, so it adds nothing."""
        return self.row.model == self.site_model

    @property
    def is_compared(self) -> bool:
        """Whether its cosines can be used beside those of the site's model."""
        return self.site_model in self.row.figures.get("scales", {})

    @property
    def is_estimated(self) -> bool:
        """The set has too few passages for a scale that is measured."""
        return self.is_compared and not self.row.figures["scales"][self.site_model]["questions"]

    @property
    def found(self) -> list[tuple[str, float]]:
        """Percent of sentences that find their own passage: by the site's model, by this one, by both."""
        compared = self.row.figures.get("comparison") or {}
        words = {
            "site": _("the site's model"),
            "alone": _("this model alone"),
            "fused": _("both models"),
        }
        return [(word, 100 * compared[name]) for name, word in words.items() if name in compared]


@admin_page("set-models/", of=GoldenCase, name="evaluation_set_embedders", allowed=keeps_sets)
def list_view(request: HttpRequest) -> HttpResponseBase:
    """The sets that the person keeps, with the model that each has in use or is preparing."""
    sets = list(sets_managed(scope=admin_scope(request)).order_by("code")[:MOST_SETS])
    rows = SetEmbedder.objects.filter(knowledge_set__in=sets, state__in=SetEmbedder.HELD).select_related("target")
    latest: dict[int, SetEmbedder] = {}
    for row in rows.order_by("pk"):
        known = latest.get(row.knowledge_set_id)
        if known is None or row.is_open or known.state != State.LIVE:
            latest[row.knowledge_set_id] = row
    page = {
        "title": _("Embedding models of sets"),
        "sets": [(one, latest.get(one.pk)) for one in sets],
    }
    return page_response(request, "admin/evaluation/set_embedder/list.html", page)


@admin_page("set-models/set/", of=GoldenCase, name="evaluation_set_embedders_set", allowed=keeps_sets)
def set_view(request: HttpRequest) -> HttpResponseBase:
    """What the set of the address uses, and the form of a new model."""
    setup_refresh(now=True)
    scope = admin_scope(request)
    home = requested_set(request, request.GET.get("set", ""))
    site_model = live_model()
    every = set_embedders_of_set(scope=scope, set_id=home.pk)
    live = every.filter(state=State.LIVE).first()  # it may be an old one
    rows = _shown(list(every[:SHOWN]), site_model)
    page = {
        "title": _("Embedding model of “%(name)s”") % {"name": home.shown_name},
        "set": home,
        "rows": rows,
        "live": None if live is None else _shown([live], site_model)[0],
        "is_open": any(one.row.is_open for one in rows),
        "is_working": any(one.row.state == State.BUILDING for one in rows),
        "targets": set_targets(scope=scope),
        "modes": _modes(),
    }
    return page_response(request, "admin/evaluation/set_embedder/set.html", page)


def _modes() -> list[tuple[str, str]]:
    return [
        (Mode.FUSED, _("Together: relevance is the mean of both models.")),
        (Mode.ALONE, _("Alone: only this model is used, for texts that the site's model does not understand.")),
    ]


@admin_page("set-models/start/", of=GoldenCase, name="evaluation_set_embedders_start", allowed=keeps_sets)
@require_POST
def start_view(request: HttpRequest) -> HttpResponseBase:
    """POST: begin to make vectors."""
    given = submitted_form(StartForm, request).cleaned_data
    home = requested_set(request, str(given["set"]))
    return run_action(
        request,
        lambda: set_embedder_start(
            scope=admin_scope(request),
            actor=admin_user(request),
            set_id=home.pk,
            target_id=given["model"],
            mode=given["mode"],
        ),
        done=_("Vectors are being computed. You can leave this page."),
        back=_address(home.pk),
    )


@admin_page("set-models/act/", of=GoldenCase, name="evaluation_set_embedders_act", allowed=keeps_sets)
@require_POST
def act_view(request: HttpRequest) -> HttpResponseBase:
    """POST: switch a model on or off, pause, resume or cancel its vectors, or delete them."""
    given = submitted_form(ActForm, request).cleaned_data
    scope, actor = admin_scope(request), admin_user(request)
    try:
        row = set_embedder_get(scope=scope, embedder_id=given["id"])
    except NotFoundError as error:
        raise Http404 from error
    acts: dict[str, tuple[Callable[..., Any], str]] = {
        "publish": (set_embedder_publish, _("This model is in use now.")),
        "off": (set_embedder_switch_off, _("Only the site's model is used again.")),
        "pause": (set_embedder_pause, pgettext("making vectors", "Paused.")),
        "resume": (set_embedder_resume, _("Vectors are being computed again.")),
        "cancel": (set_embedder_cancel, _("Cancelled. Nothing has changed.")),
        "drop": (set_embedder_drop, _("The vectors are deleted.")),
    }
    act, done = acts[given["act"]]
    back = _address(row.knowledge_set_id)
    return run_action(request, lambda: act(scope=scope, actor=actor, embedder_id=row.pk), done=done, back=back)


def _address(set_id: int) -> str:
    return f"{reverse(SET_PAGE)}?set={set_id}"


def _shown(rows: Sequence[SetEmbedder], site_model: str) -> list[Shown]:
    subjects = {row.pk: set_embedder_subject(row.pk) for row in rows}
    fills = fills_of(FILL_SET_VECTORS, list(subjects.values()))
    return [Shown(row=row, site_model=site_model, fill=fills.get(subjects[row.pk])) for row in rows]
