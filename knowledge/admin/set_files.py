"""Pages on which a set is exported, and a file is offered, looked at and imported."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message
from knowledge.admin.curation import creates_sets, keeps_sets, lists_sets, managed_set, run_action
from knowledge.models import KnowledgeSet, SetFile
from knowledge.models.sets import is_chinese
from knowledge.selectors.set_files import set_file_get, set_files_visible
from knowledge.services.set_files.exporting import export_open, set_export_start
from knowledge.services.set_files.importing import set_file_delete, set_import_offer, set_import_start
from knowledge.services.set_files.people import mapping_of
from ragcore.errors import RagError
from work.models import Job

FILES_SHOWN = 20
PERSON = "person:"  # before the names of fields that map people
ROLES = {
    "owners": _("owner"),
    "editors": _("editor"),
    "members": _("member"),
    "member_groups": _("member"),
    "readers": _("reader of documents"),
}
SECTIONS = {
    "lexicon": _("Lexicon entries"),
    "facts": _("Facts"),
    "decisions": _("Decisions about facts and names"),
    "approved_answers": _("Approved answers"),
    "golden_cases": _("Golden cases"),
    "relations": _("Relations of documents"),
}


class OfferForm(forms.Form):
    """A file to be imported."""

    file = forms.FileField()


class ConfirmForm(forms.Form):
    """Code and name of the new set; "" as in the file."""

    code = forms.SlugField(max_length=64, required=False)
    name = forms.CharField(max_length=128, required=False)


@admin_page("<int:pk>/export/", name="knowledge_knowledgeset_export", of=KnowledgeSet, allowed=keeps_sets)
def export_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Exports of a set; POST starts one."""
    knowledge_set = managed_set(request, pk)
    back = reverse("admin:knowledge_knowledgeset_export", args=[pk])
    if request.method == "POST":
        return run_action(
            request,
            lambda: set_export_start(scope=admin_scope(request), actor=admin_user(request), set_id=pk),
            done=_("The export has started."),
            back=back,
        )
    rows = set_files_visible(scope=admin_scope(request)).filter(kind=SetFile.Kind.EXPORT, knowledge_set=knowledge_set)
    context = {"title": _("Export knowledge set"), "set": knowledge_set, **_listed(rows)}
    return page_response(request, "admin/knowledge/knowledgeset/export.html", context)


@admin_page("import/", name="knowledge_knowledgeset_import", of=KnowledgeSet, allowed=creates_sets)
def import_page(request: HttpRequest) -> HttpResponse:
    """Offer a file; below it the imports so far."""
    fault = ""
    if request.method == "POST":
        form = OfferForm(request.POST, request.FILES)
        if form.is_valid():
            file = form.cleaned_data["file"]
            who: dict[str, Any] = {"scope": admin_scope(request), "actor": admin_user(request)}
            try:
                row = set_import_offer(name=file.name, content=file, **who)
            except RagError as error:
                fault = error_message(error)
            else:
                return redirect("admin:knowledge_knowledgeset_import_file", file_id=row.pk)
        else:
            fault = str(_("Choose a file."))
    rows = set_files_visible(scope=admin_scope(request)).filter(kind=SetFile.Kind.IMPORT)
    context = {"title": _("Import knowledge set"), "fault": fault, **_listed(rows)}
    return page_response(request, "admin/knowledge/knowledgeset/import.html", context, status=400 if fault else 200)


@admin_page("import/<int:file_id>/", name="knowledge_knowledgeset_import_file", of=KnowledgeSet, allowed=creates_sets)
def import_file_page(request: HttpRequest, file_id: int) -> HttpResponse:
    """What importing a file would do; POST confirms it. Then its progress, and what was done."""
    row = set_file_get(scope=admin_scope(request), file_id=file_id)
    fault = ""
    form = ConfirmForm(request.POST or None)
    if request.method == "POST":
        if form.is_valid():
            try:
                set_import_start(
                    scope=admin_scope(request),
                    actor=admin_user(request),
                    file_id=file_id,
                    people=_people(request),
                    **form.cleaned_data,
                )
            except RagError as error:
                fault = error_message(error)
            else:
                messages.success(request, _("The import has started."))
                return redirect("admin:knowledge_knowledgeset_import_file", file_id=file_id)
        else:
            fault = str(_("The code may contain letters, digits, hyphens and underscores only."))
    summary = row.summary
    names = summary.get("set", {})
    context = {
        "title": _("Import knowledge set"),
        "row": row,
        "job": _job(row),
        "fault": fault,
        "summary": summary,
        "shown_name": (is_chinese() and names.get("name_zh")) or names.get("name", ""),
        "code": request.POST.get("code", "") or summary.get("free_code", ""),
        "name": request.POST.get("name", "") or names.get("name", ""),
        "people": [_person(request, person) for person in summary.get("people", ())],
        "sections": [(SECTIONS.get(name, name), count) for name, count in summary.get("sections", {}).items()],
        "counts": summary.get("counts", {}),
        "open": int(row.state == SetFile.State.WORKING),
    }
    return page_response(
        request, "admin/knowledge/knowledgeset/import_file.html", context, status=400 if fault else 200
    )


@admin_page("files/<int:file_id>/", name="knowledge_knowledgeset_file", of=KnowledgeSet, allowed=keeps_sets)
def file_download(request: HttpRequest, file_id: int) -> HttpResponseBase:
    """A finished export."""
    row, file = export_open(scope=admin_scope(request), actor=admin_user(request), file_id=file_id)
    headers = {"Cache-Control": "private, no-store"}
    return FileResponse(file, as_attachment=True, filename=row.name, content_type="application/zip", headers=headers)


@admin_page(
    "files/<int:file_id>/delete/", name="knowledge_knowledgeset_file_delete", of=KnowledgeSet, allowed=lists_sets
)
def file_delete(request: HttpRequest, file_id: int) -> HttpResponse:
    """POST: a file goes; a set that was imported stays."""
    row = set_file_get(scope=admin_scope(request), file_id=file_id)
    is_export = row.kind == SetFile.Kind.EXPORT and row.knowledge_set_id
    back = (
        reverse("admin:knowledge_knowledgeset_export", args=[row.knowledge_set_id])
        if is_export
        else reverse("admin:knowledge_knowledgeset_import")
    )
    return run_action(
        request,
        lambda: set_file_delete(scope=admin_scope(request), actor=admin_user(request), file_id=file_id),
        done=_("The file was deleted."),
        back=back,
    )


def _listed(rows: Any) -> dict[str, Any]:
    files = list(rows[:FILES_SHOWN])
    open_files = sum(row.state == SetFile.State.WORKING for row in files)
    return {"files": [(row, _job(row)) for row in files], "open": open_files}


def _job(row: SetFile) -> Job | None:
    kind = f"knowledge.{row.kind}_set"
    return Job.objects.filter(kind=kind, subject=row.subject, tenant=row.tenant_id).order_by("-pk").first()


def _people(request: HttpRequest) -> dict[str, str]:
    """What was entered beside the names of a file: who is left as it was is not chosen."""
    fields = {key[len(PERSON) :]: value for key, value in request.POST.items() if key.startswith(PERSON)}
    chosen = {key: str(value).strip() for key, value in fields.items()}
    return mapping_of(f"{key}={value}" for key, value in chosen.items() if value or request.POST.get(f"is_here:{key}"))


def _person(request: HttpRequest, person: dict[str, Any]) -> dict[str, Any]:
    key = f"{person['kind']}:{person['name']}"
    roles = dict.fromkeys(str(ROLES.get(role, role)) for role in person["roles"])
    here = person["name"] if person["is_here"] else ""
    return {
        **person,
        "key": key,
        "field": f"{PERSON}{key}",
        "shown_roles": list(roles),
        "value": request.POST.get(f"{PERSON}{key}", here),
    }
