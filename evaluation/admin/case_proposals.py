"""The page of golden cases that were made from documents: start, progress, and a decision on each."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message
from evaluation.admin.base import judges_quality, requested_golden_set
from evaluation.models import GoldenSet
from evaluation.services.case_proposals import (
    MOST_WANTED,
    STYLES,
    proposal_decide,
    proposals_cancel,
    proposals_latest,
    proposals_shown,
    proposals_start,
)
from knowledge import model_registry
from knowledge.admin.curation import ids_of
from ragcore.errors import RagError
from ragcore.llm.model_profile import profile_of

SHOWN = 25
WANTED = 30  # to begin with
PAGE = "admin:evaluation_goldenset_proposals"


class ProposeForm(forms.Form):
    """How many, by what, and in which phrasings."""

    wanted = forms.IntegerField(min_value=1, max_value=MOST_WANTED)
    with_model = forms.BooleanField(required=False)
    styles = forms.MultipleChoiceField(required=False, choices=[(str(style), style.label) for style in STYLES])


@admin_page("<int:pk>/proposals/", of=GoldenSet, name="evaluation_goldenset_proposals", allowed=judges_quality)
def proposals_view(request: HttpRequest, pk: int) -> HttpResponseBase:
    """GET: the form, the progress and the proposals; POST `act`: start, cancel, accept or reject."""
    golden_set = requested_golden_set(request, pk)
    if request.method == "POST":
        _act(request, golden_set)
        return redirect(PAGE, pk)
    return page_response(request, "admin/evaluation/goldenset/proposals.html", _content(request, golden_set))


def _content(request: HttpRequest, golden_set: GoldenSet) -> dict[str, Any]:
    shown = proposals_shown(scope=admin_scope(request), golden_set=golden_set)
    run, model = proposals_latest(golden_set=golden_set), model_registry.light_model()
    return {
        "title": _("Propose cases for “%(name)s”") % {"name": golden_set.name},
        "golden_set": golden_set,
        "run": run,
        "is_open": run is not None and run.is_open,
        "proposals": list(shown[:SHOWN]),
        "total": shown.count(),
        "has_model": model is not None,
        "writes_json": profile_of(model).json != "none",
        "phrasings": [(str(style), style.label) for style in STYLES],  # `styles` are those of the administration
        "wanted": WANTED,
        "most": MOST_WANTED,
    }


def _act(request: HttpRequest, golden_set: GoldenSet) -> None:
    """POST `act`: start, cancel, accept or reject; what went wrong is said on the page."""
    acts = {"start": _start, "cancel": _cancel, "accept": _decide, "reject": _decide}
    act = acts.get(request.POST.get("act", ""))
    if act is None:
        raise PermissionDenied
    try:
        act(request, golden_set)
    except RagError as error:
        messages.error(request, error_message(error))


def _start(request: HttpRequest, golden_set: GoldenSet) -> None:
    form = ProposeForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Ask for 1 to %(most)s golden cases at a time.") % {"most": MOST_WANTED})
        return
    proposals_start(scope=admin_scope(request), actor=admin_user(request), golden_set=golden_set, **form.cleaned_data)


def _cancel(request: HttpRequest, golden_set: GoldenSet) -> None:
    proposals_cancel(actor=admin_user(request), golden_set=golden_set)


def _decide(request: HttpRequest, golden_set: GoldenSet) -> None:
    is_accepted = request.POST["act"] == "accept"
    lines = {name: request.POST.get(name, "").splitlines() for name in ("answers", "key_points")}
    cases = proposal_decide(
        scope=admin_scope(request),
        actor=admin_user(request),
        golden_set=golden_set,
        proposal_id=next(iter(ids_of([request.POST.get("proposal", "")])), 0),
        values={"question": request.POST.get("question", ""), **lines} if is_accepted else None,
    )
    if is_accepted:
        text = ngettext("%(count)d golden case was added.", "%(count)d golden cases were added.", len(cases))
        messages.success(request, text % {"count": len(cases)})
