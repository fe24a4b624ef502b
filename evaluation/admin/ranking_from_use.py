"""Pages of ranking from use: what was learnt of each set, which passages it moves, and switching it on and off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from accounts.errors import NotAllowedError, NotFoundError
from evaluation.admin.base import requested_id, submitted_form
from evaluation.models import GoldenCase
from evaluation.services.ranking_from_use import use_ranking_switch
from feedback.ranking_from_use import ENOUGH_ANSWERS, ENOUGH_PEOPLE
from knowledge.admin.curation import keeps_sets, run_action
from knowledge.models import KnowledgeSet, UseEvidence, UseSummary
from knowledge.selectors import sets_managed
from knowledge.selectors.options import site_options
from knowledge.selectors.use_evidence import use_evidence_of_set, use_summary_get

PAGE, SET_PAGE = "admin:evaluation_use", "admin:evaluation_use_set"
SHOWN = 50  # passages that rise, and as many that fall
PLACES_SHOWN = 8


class ActForm(forms.Form):
    """One click."""

    set = forms.IntegerField(min_value=1, max_value=2**62)
    act = forms.ChoiceField(choices=[("on", "on"), ("off", "off")])


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSet:
    """A set with what was learnt of it. `shift`: the bound that holds where the set is asked alone; 0: off."""

    row: KnowledgeSet
    summary: UseSummary | None
    shift: float

    @property
    def state(self) -> str:
        """In words."""
        if self.shift > 0:
            return _("On") if self.is_enough else _("On, but not enough use yet")
        return _("Off, ready to switch on") if self.is_enough else _("Not enough use yet")

    @property
    def is_enough(self) -> bool:
        return self.summary is not None and self.summary.is_enough


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPassage:
    """What use says of a passage."""

    row: UseEvidence

    @property
    def place(self) -> str:
        return " › ".join(self.row.chunk.heading_path)

    @property
    def words(self) -> str:
        return " ".join(self.row.chunk.text.split())[:160]


@admin_page("ranking-from-use/", of=GoldenCase, name="evaluation_use", allowed=keeps_sets)
def list_view(request: HttpRequest) -> HttpResponseBase:
    """The sets that the person keeps."""
    sets = list(sets_managed(scope=admin_scope(request)).order_by("code")[:500])
    summaries = UseSummary.objects.in_bulk([one.pk for one in sets])
    site: dict[int, Mapping[str, Any]] = {
        tenant: site_options(tenant_id=tenant).get("retrieval", {}) for tenant in {one.tenant_id for one in sets}
    }
    page = {
        "title": _("Ranking from use"),
        "sets": [ShownSet(row=one, summary=summaries.get(one.pk), shift=_shift(one, site)) for one in sets],
    }
    return page_response(request, "admin/evaluation/use/list.html", page)


@admin_page("ranking-from-use/set/", of=GoldenCase, name="evaluation_use_set", allowed=keeps_sets)
def set_view(request: HttpRequest) -> HttpResponseBase:
    """What was learnt of one set."""
    home, summary = _set_asked(request, request.GET.get("set", ""))
    scope = admin_scope(request)
    site = {home.tenant_id: site_options(tenant_id=home.tenant_id).get("retrieval", {})}
    rows = use_evidence_of_set(scope=scope, set_id=home.pk)
    total, readable = UseEvidence.objects.filter(knowledge_set=home).count(), rows.count()
    looked = summary.examination[:PLACES_SHOWN] if summary is not None else []
    page = {
        "title": _("Ranking from use in “%(name)s”") % {"name": home.shown_name},
        "shown": ShownSet(row=home, summary=summary, shift=_shift(home, site)),
        "enough": {"answers": ENOUGH_ANSWERS, "people": ENOUGH_PEOPLE},
        "places": [(place, 100 * share) for place, share in enumerate(looked, 1)],
        "raised": [ShownPassage(row=one) for one in rows.filter(value__gt=0).order_by("-value", "pk")[:SHOWN]],
        "lowered": [ShownPassage(row=one) for one in rows.filter(value__lt=0).order_by("value", "pk")[:SHOWN]],
        "withheld": total - readable,
        "most": SHOWN,
    }
    return page_response(request, "admin/evaluation/use/set.html", page)


@admin_page("ranking-from-use/act/", of=GoldenCase, name="evaluation_use_act", allowed=keeps_sets)
@require_POST
def act_view(request: HttpRequest) -> HttpResponseBase:
    """POST: switch it on or off."""
    form = submitted_form(ActForm, request)
    home, _summary = _set_asked(request, str(form.cleaned_data["set"]))
    is_on = form.cleaned_data["act"] == "on"
    return run_action(
        request,
        lambda: use_ranking_switch(scope=admin_scope(request), actor=admin_user(request), set_id=home.pk, is_on=is_on),
        done=_("Ranking from use is on.") if is_on else _("Ranking from use is off."),
        back=f"{reverse(SET_PAGE)}?set={home.pk}",
    )


def _set_asked(request: HttpRequest, text: str) -> tuple[KnowledgeSet, UseSummary | None]:
    try:
        return use_summary_get(scope=admin_scope(request), set_id=requested_id(text))
    except (NotFoundError, NotAllowedError) as error:
        raise Http404 from error


def _shift(row: KnowledgeSet, site: Mapping[int, Mapping[str, Any]]) -> float:
    """The bound where the set is asked alone."""
    own = row.options.get("retrieval", {}).get("use_shift")
    return float(site[row.tenant_id].get("use_shift", 0.0) if own is None else own)
