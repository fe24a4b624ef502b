"""The history of options: export, import with a preview, and taking changes back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message
from accounts.errors import NotAllowedError, NotFoundError
from accounts.services import audit_record
from knowledge.admin.curation import OwnerAdmin, ids_of, keeps_sets, measured_first
from knowledge.admin.option_forms import FORMAT, ImportForm, faults_of
from knowledge.errors import MeasuredFirstError
from knowledge.models import OptionsChange
from knowledge.selectors.options import (
    Difference,
    OptionsOwner,
    Stored,
    group_label,
    option_label,
    options_changes,
    options_differences,
    options_owner,
    options_shown,
    value_label,
)
from knowledge.services.options import ChangeNote, options_restore, set_options_update, site_options_update
from ragcore.errors import RagError

SHOWN_CHANGES = 10  # on the page of the options; the list has all
PREVIEW = "admin/knowledge/optionschange/preview.html"
SITE_PAGE = "admin:knowledge_knowledgeset_site"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Whose options a page is about: a set, or the site of a tenant (None: of one's own)."""

    set_id: int | None = None
    tenant_id: int | None = None

    @property
    def query(self) -> str:
        """The part of an address that says so."""
        parameters = {"set": self.set_id, "tenant": self.tenant_id}
        return urlencode({name: number for name, number in parameters.items() if number is not None})

    @property
    def page(self) -> str:
        """The page with the form."""
        if self.set_id is not None:
            return reverse("admin:knowledge_knowledgeset_options", args=[self.set_id])
        return reverse(SITE_PAGE) + (f"?{self.query}" if self.query else "")


@dataclass(frozen=True, slots=True)
class Row:
    """One difference in words."""

    group: str
    label: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Change:
    """One line of the history."""

    row: OptionsChange
    rows: list[Row]
    undo: str  # address


def place_of(request: HttpRequest, data: Mapping[str, str]) -> Place:
    """The place that `?set=` or `?tenant=` names. Raises Http404, PermissionDenied where it is not theirs."""
    parameters = {name: next(iter(ids_of([data.get(name, "")])), None) for name in ("set", "tenant")}
    if any(data.get(name) and number is None for name, number in parameters.items()):
        raise Http404
    place = Place(set_id=parameters["set"], tenant_id=parameters["tenant"])
    _owner(request, place)
    return place


def _owner(request: HttpRequest, place: Place) -> OptionsOwner:
    try:
        return options_owner(scope=admin_scope(request), set_id=place.set_id, tenant_id=place.tenant_id)
    except NotFoundError as error:
        raise Http404(error.message) from error
    except NotAllowedError as error:
        kind = PermissionDenied if place == Place() else Http404  # what is somebody else's does not exist
        raise kind(error.message) from error


def history_shown(request: HttpRequest, place: Place) -> list[Change]:
    """The latest changes of a place, the newest first."""
    scope = admin_scope(request)
    changes = options_changes(scope=scope).filter(knowledge_set=place.set_id)
    if place.set_id is None:
        changes = changes.filter(tenant=place.tenant_id or scope.tenant_id)
    return [_change(request, row) for row in changes[:SHOWN_CHANGES]]


def _change(request: HttpRequest, row: OptionsChange) -> Change:
    undo = reverse("admin:knowledge_optionschange_undo", args=[row.pk])
    return Change(row, _rows(request, row.before, row.after, of_site=row.knowledge_set_id is None), undo)


def _rows(request: HttpRequest, old: Stored, new: Stored, *, of_site: bool) -> list[Row]:
    differences = options_differences(scope=admin_scope(request), old=old, new=new)
    return [_row(difference, empty=_("built-in default") if of_site else _("inherited")) for difference in differences]


def _row(difference: Difference, *, empty: Any) -> Row:
    """`empty`: what is said of a value that is not set."""
    group, name = difference.group, difference.option
    old, new = (
        str(empty) if value is None else value_label(group, name, value) for value in (difference.old, difference.new)
    )
    return Row(group_label(group), option_label(group, name), old, new)


@admin.register(OptionsChange)
class OptionsChangeAdmin(OwnerAdmin):
    """Who changed which options when. Owners see those of their sets, administrators those of their site, too."""

    list_display = ("at", "target", "kind", "what", "note", "actor")
    list_filter = ("kind", ("knowledge_set", admin.RelatedOnlyFieldListFilter))  # no names of other tenants
    ordering = ("-pk",)
    fields = readonly_fields = ("at", "target", "kind", "note", "actor")
    change_form_outer_after_template = "admin/knowledge/optionschange/change.html"

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """With each option before and after, and the way back."""
        row = self.get_object(request, object_id)
        variables = {"made": _change(request, row)} if row else {}  # `change` is Django's own
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **variables})

    def get_queryset(self, request: HttpRequest) -> QuerySet[OptionsChange]:
        return options_changes(scope=admin_scope(request))

    @admin.display(description=_("knowledge set"), ordering="knowledge_set")
    def target(self, row: OptionsChange) -> str:
        return str(row.knowledge_set or _("Site: %(tenant)s") % {"tenant": row.tenant.name})

    @admin.display(description=_("changes"))
    def what(self, row: OptionsChange) -> str:
        names = [
            option_label(code, name)
            for code in {**row.before, **row.after}
            for name in {**row.before.get(code, {}), **row.after.get(code, {})}
            if row.before.get(code, {}).get(name) != row.after.get(code, {}).get(name)
        ]
        return ", ".join(names)


# ── out and in ──────────────────────────────────────────────────────────────────────────────────


@admin_page("export/", of=OptionsChange, name="knowledge_optionschange_export", allowed=keeps_sets)
def export_view(request: HttpRequest) -> HttpResponse:
    """The own options of a set or a site as a file that `import` takes."""
    owner = _owner(request, place_of(request, request.GET))
    content = {"format": FORMAT, "of": owner.code, "options": owner.own}
    text = json.dumps(content, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
    audit_record(actor=admin_user(request), action="options.export", target=owner.code)
    headers = {"Content-Disposition": f'attachment; filename="options-{slugify(owner.code)}.json"'}
    return HttpResponse(text, content_type="application/json", headers=headers)


@admin_page("import/", of=OptionsChange, name="knowledge_optionschange_import", allowed=keeps_sets)
def import_view(request: HttpRequest) -> HttpResponse:
    """GET: the form; POST: what would change; POST with `confirm`: change it."""
    place = place_of(request, request.GET)
    owner = _owner(request, place)
    form = ImportForm(request.POST, request.FILES) if request.method == "POST" else ImportForm()
    rows: list[Row] | None = None
    if form.is_bound and form.is_valid():
        options = form.options
        groups = options_shown(scope=admin_scope(request), set_id=place.set_id, tenant_id=place.tenant_id)
        for fault in faults_of(groups, options):
            form.add_error(None, fault)
        if form.is_valid() and request.POST.get("confirm"):
            return _imported(request, place, options, note=form.cleaned_data["note"])
        rows = _rows(request, owner.own, options, of_site=place.set_id is None) if form.is_valid() else None
    page = {"title": _("Import settings into “%(name)s”") % {"name": _name(owner)}, "place": place}
    return page_response(request, PREVIEW, {**page, "form": form, "rows": rows})


def _imported(request: HttpRequest, place: Place, options: Stored, *, note: str) -> HttpResponse:
    who: dict[str, Any] = {"scope": admin_scope(request), "actor": admin_user(request), "replaces": True}
    why = ChangeNote(kind=OptionsChange.Kind.IMPORT, note=note)
    try:
        if place.set_id is not None:
            set_options_update(set_id=place.set_id, options=options, why=why, **who)
        else:
            site_options_update(tenant_id=place.tenant_id, options=options, why=why, **who)
    except MeasuredFirstError as error:
        return measured_first(request, error)
    except RagError as error:
        messages.error(request, error_message(error))
    else:
        messages.success(request, _("The settings were imported."))
    return redirect(place.page)


def _name(owner: OptionsOwner) -> str:
    return str(_("site")) if owner.knowledge_set is None else owner.knowledge_set.shown_name


# ── back ────────────────────────────────────────────────────────────────────────────────────────


@admin_page("<int:pk>/undo/", of=OptionsChange, name="knowledge_optionschange_undo", allowed=keeps_sets)
def undo_view(request: HttpRequest, pk: int) -> HttpResponse:
    """GET: what would change on the way back to before a change; POST: go back."""
    change = options_changes(scope=admin_scope(request)).filter(pk=pk).first()
    if change is None:
        raise Http404
    site = change.tenant_id if change.tenant_id != admin_scope(request).tenant_id else None
    place = Place(set_id=change.knowledge_set_id, tenant_id=None if change.knowledge_set_id else site)
    if request.method == "POST":
        try:
            options_restore(scope=admin_scope(request), actor=admin_user(request), change_id=pk)
        except RagError as error:
            messages.error(request, error_message(error))
        else:
            messages.success(request, _("The previous settings were restored."))
        return redirect(place.page)
    rows = _rows(request, _owner(request, place).own, change.before, of_site=place.set_id is None)
    page = {"title": _("Restore previous value"), "place": place, "change": change, "rows": rows}
    return page_response(request, PREVIEW, page)
