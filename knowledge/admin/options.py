"""The configuration of a set and of the site, and what another way of cutting would change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import admin_scope, admin_user, is_administrator
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message
from accounts.models import Tenant
from knowledge.admin.curation import managed_set, measured_first, run_action
from knowledge.admin.option_forms import OptionsForm, without
from knowledge.admin.representation_retries import notice_of
from knowledge.admin.site_options import Place, history_shown, place_of
from knowledge.errors import MeasuredFirstError
from knowledge.models import KnowledgeSet
from knowledge.selectors.dashboard import documents_rebuildable
from knowledge.selectors.options import options_shown
from knowledge.selectors.representation_retries import retries_of_set
from knowledge.services.chunking_previews import chunking_preview
from knowledge.services.options import ChangeNote, set_options_update, site_options_update
from knowledge.services.publish_gate import gate_notice
from knowledge.services.reingest import set_rebuild
from ragcore.errors import InvalidOptionsError, RagError

REBUILDING = _("The documents are being re-processed; answers use the old passages until they are done.")

NOTE_CHARACTERS = 256
Save = Callable[[dict[str, dict[str, Any]], ChangeNote], object]


@admin_page("<int:pk>/options/", of=KnowledgeSet, name="knowledge_knowledgeset_options")
def set_options_view(request: HttpRequest, pk: int) -> HttpResponse:
    """The options of a set that the person manages."""
    row = managed_set(request, pk)
    who: dict[str, Any] = {"scope": admin_scope(request), "actor": admin_user(request)}
    return _options_page(
        request,
        save=lambda options, why: set_options_update(set_id=row.pk, options=options, why=why, **who),
        content={
            "title": _("%(name)s settings") % {"name": row.shown_name},
            "set": row,
            "gate": gate_notice(row),
            "retries": notice_of(retries_of_set(scope=who["scope"], set_id=row.pk)),
        },
        place=Place(set_id=row.pk),
    )


@admin_page("site-options/", of=KnowledgeSet, name="knowledge_knowledgeset_site", allowed=is_administrator)
def site_options_view(request: HttpRequest) -> HttpResponse:
    """What the sets of a tenant inherit, for its administrators; `?tenant=`: of another tenant."""
    place = place_of(request, request.GET)
    who: dict[str, Any] = {"scope": admin_scope(request), "actor": admin_user(request), "tenant_id": place.tenant_id}
    return _options_page(
        request,
        save=lambda options, why: site_options_update(options=options, why=why, **who),
        content={"title": _("Default settings"), "set": None, "tenants": _tenants(request)},
        place=place,
    )


def _tenants(request: HttpRequest) -> list[Tenant]:
    """Tenants between which the person may choose; empty where there is no choice."""
    if admin_scope(request).administers != "everything":
        return []
    every = list(Tenant.objects.order_by("-is_default", "name"))
    return every if len(every) > 1 else []


def _options_page(request: HttpRequest, *, save: Save, content: dict[str, Any], place: Place) -> HttpResponse:
    scope = admin_scope(request)
    groups = options_shown(scope=scope, set_id=place.set_id, tenant_id=place.tenant_id)
    of_site = place.set_id is None
    form = OptionsForm(groups, of_site=of_site)
    if request.method == "POST":
        reset = request.POST.get("reset", "")
        form = OptionsForm(groups, without(request.POST, reset) if reset else request.POST, of_site=of_site)
        try:
            if form.is_valid() and _saved(request, form, save):
                return redirect(place.page)
        except MeasuredFirstError as error:
            return measured_first(request, error)
    page = {
        **content,
        "form": form,
        "note": request.POST.get("note", "") if request.method == "POST" else "",
        "place": place,
        "tenant_id": place.tenant_id or scope.tenant_id,
        "history": history_shown(request, place),
    }
    return page_response(request, "admin/knowledge/knowledgeset/options.html", page)


def _saved(request: HttpRequest, form: OptionsForm, save: Save) -> bool:
    """Save the form; what the options refuse together is told above the form."""
    try:
        save(form.values(), ChangeNote(note=request.POST.get("note", "").strip()[:NOTE_CHARACTERS]))
    except InvalidOptionsError as error:
        for conflict in error.data.get("conflicts", ()):
            form.add_error(conflict.option if conflict.option in form.fields else None, error_message(conflict.error))
        if not form.errors:
            form.add_error(None, error_message(error))
        return False
    except MeasuredFirstError:
        raise
    except RagError as error:
        form.add_error(None, error_message(error))
        return False
    messages.success(request, _("Saved. Documents keep their present passages until they are re-processed."))
    return True


# ── what would change ───────────────────────────────────────────────────────────────────────────


@admin_page("<int:pk>/chunking/", of=KnowledgeSet, name="knowledge_knowledgeset_chunking")
def chunking_view(request: HttpRequest, pk: int) -> HttpResponse:
    """GET: the form, and with values the comparison on a sample; POST: take them over and rebuild."""
    row, scope = managed_set(request, pk), admin_scope(request)
    groups = [group for group in options_shown(scope=scope, set_id=row.pk) if group.code == "chunking"]
    data = request.POST if request.method == "POST" else request.GET
    form = OptionsForm(groups, data if data else None)
    if request.method == "POST" and form.is_valid():
        return _applied(request, row, form)
    preview = None
    if form.is_bound and form.is_valid():
        try:
            preview = chunking_preview(scope=scope, set_id=row.pk, chunking=form.values()["chunking"])
        except RagError as error:
            form.add_error(None, error_message(error))
    title = _("Preview chunking of %(name)s") % {"name": row.shown_name}
    variables = {"title": title, "set": row, "form": form, "preview": preview}
    return page_response(request, "admin/knowledge/knowledgeset/chunking.html", variables)


def _applied(request: HttpRequest, row: KnowledgeSet, form: OptionsForm) -> HttpResponse:
    who: dict[str, Any] = {"scope": admin_scope(request), "actor": admin_user(request), "set_id": row.pk}

    def apply() -> None:
        set_options_update(options=form.values(), **who)
        set_rebuild(**who)

    listed = reverse("admin:knowledge_ingestjob_changelist")
    return run_action(
        request,
        apply,
        done=_("Saved. The documents are being re-processed; answers use the old passages until they are done."),
        back=listed,
    )


@admin_page("<int:pk>/rebuild/", of=KnowledgeSet, name="knowledge_knowledgeset_rebuild")
def rebuild_view(request: HttpRequest, pk: int) -> HttpResponse:
    """GET: how many documents that would be; POST: ingest them with the present options of the set."""
    row = managed_set(request, pk)
    if request.method == "GET":
        title = _("Re-process %(name)s") % {"name": row.shown_name}
        count = documents_rebuildable(scope=admin_scope(request), set_id=row.pk).count()
        page = {"title": title, "set": row, "count": count}
        return page_response(request, "admin/knowledge/knowledgeset/rebuild.html", page)
    return run_action(
        request,
        lambda: set_rebuild(scope=admin_scope(request), actor=admin_user(request), set_id=row.pk),
        done=REBUILDING,
        back=reverse("admin:knowledge_ingestjob_changelist"),
    )
