"""Domain vectors in the admin: versions with their state, drift and history; switching to another one, off and on."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.admin.base import AdministratorAdmin, ReadOnlyMixin, admin_scope, admin_user, ago, badge
from accounts.admin.pages import admin_page
from knowledge.admin.curation import run_action
from knowledge.models import LatentModel
from knowledge.selectors.latent_models import domain_vectors_off, latent_models_managed
from knowledge.services.latent_models import (
    LEAST_PASSAGES,
    finds_less,
    latent_fit_request,
    latent_switch_off,
    latent_use,
)

State = LatentModel.State
COLOURS = {"live": "success", "building": "info", "retired": "warning", "dropped": "danger"}
LIST = "admin:knowledge_latentmodel_changelist"


@admin.register(LatentModel)
class LatentModelAdmin(ReadOnlyMixin, AdministratorAdmin):
    """Versions of the domain vectors of the own organisation. Index maintenance makes them; nobody edits one."""

    list_display = ("number", "shown_state", "passages", "terms", "shown_drift", "fitted", "used_since", "author")
    list_display_links = None
    list_before_template = "admin/knowledge/latentmodel/list_top.html"
    ordering = ("-number",)
    list_select_related: ClassVar = ["author"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[LatentModel]:
        return latent_models_managed(scope=admin_scope(request))

    @badge(description=gettext_lazy("state"), ordering="state", colours=COLOURS)
    def shown_state(self, row: LatentModel) -> tuple[str, str]:
        return row.state, row.get_state_display()

    @admin.display(description=gettext_lazy("drift"), ordering="drift")
    def shown_drift(self, row: LatentModel) -> str:
        if row.drift is None:
            return "–"
        return _("%(share).0f %% in %(count)d new passages") % {"share": 100 * row.drift, "count": row.drift_passages}

    @admin.display(description=gettext_lazy("fitted"), ordering="created")
    def fitted(self, row: LatentModel) -> SafeString:
        return ago(row.created)

    @admin.display(description=gettext_lazy("in use since"), ordering="switched")
    def used_since(self, row: LatentModel) -> SafeString | str:
        return ago(row.switched) if row.switched and row.state == State.LIVE else "–"

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        scope = admin_scope(request)
        rows = latent_models_managed(scope=scope)
        extra = {
            **(extra_context or {}),
            "live": rows.filter(state=State.LIVE).first(),
            "building": rows.filter(state=State.BUILDING).first(),
            "former": rows.filter(state=State.RETIRED),
            "measured": [_measured(row) for row in rows.filter(state__in=(State.LIVE, State.RETIRED))],
            "is_off": domain_vectors_off(scope=scope),
            "least": LEAST_PASSAGES,
        }
        page: HttpResponse = super().changelist_view(request, extra)
        return page

    @admin_page("<int:latent_id>/use/", name="knowledge_latentmodel_use")
    def use(self, request: HttpRequest, latent_id: int) -> HttpResponse:
        """POST: bring a version into use."""
        return run_action(
            request,
            lambda: latent_use(scope=admin_scope(request), actor=admin_user(request), latent_id=latent_id),
            done=_("Searches now use this version."),
            back=LIST,
        )

    @admin_page("<int:latent_id>/off/", name="knowledge_latentmodel_off")
    def switch_off(self, request: HttpRequest, latent_id: int) -> HttpResponse:
        """POST: search by the embedder's own vectors again."""
        return run_action(
            request,
            lambda: latent_switch_off(scope=admin_scope(request), actor=admin_user(request), latent_id=latent_id),
            done=_("Searches now use only the vectors of the embedding model."),
            back=LIST,
        )

    @admin_page("on/", name="knowledge_latentmodel_on")
    def switch_on(self, request: HttpRequest) -> HttpResponse:
        """POST: let index maintenance make domain vectors again."""
        return run_action(
            request,
            lambda: latent_fit_request(scope=admin_scope(request), actor=admin_user(request)),
            done=_("Index maintenance switches a kept version on again, or builds a new one."),
            back=LIST,
        )


def _measured(row: LatentModel) -> str:
    """What a version finds, and why it is not in use where that is the reason; "" where it was not measured."""
    if "domain" not in row.figures:
        return ""
    values = {
        "number": row.number,
        "questions": row.figures["questions"],
        "embedder": round(100 * row.figures["embedder"]),
        "domain": round(100 * row.figures["domain"]),
    }
    told = _(
        "Version %(number)d: of %(questions)d sentences of your passages, asked as questions, %(domain)d %% find their "
        "own passage among the first ten; by the embedding model alone %(embedder)d %%."
    )
    if row.state == State.RETIRED and finds_less(row):
        why = _("It finds less, so it is kept but not switched on automatically; you can still use it.")
        told = f"{told} {why}"
    return told % values
