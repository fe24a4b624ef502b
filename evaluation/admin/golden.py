"""Golden sets with import and export; golden cases (D15)."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminFileFieldWidget

from accounts.admin.base import TenantAdmin, admin_scope
from accounts.error_messages import error_message
from chat.admin import is_reviewer
from evaluation.admin.lab import lab_urls
from evaluation.errors import InvalidGoldenFileError
from evaluation.models import EvaluationRun, GoldenCase, GoldenSet
from evaluation.services import GoldenImported, cases_as_jsonl, golden_import, rows_from_file
from knowledge.admin.rights import is_curator


class EvaluationAdmin(TenantAdmin):
    """Pages of those who judge quality: curators and reviewers."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_curator(request) or is_reviewer(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_module_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)


class GoldenImportForm(forms.Form):
    """A file of cases; faults are shown with their lines."""

    file = forms.FileField(label=_("CSV or JSON Lines file"), widget=UnfoldAdminFileFieldWidget)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if file := values.get("file"):
            try:
                values["rows"] = rows_from_file(name=file.name, content=file.read())
            except InvalidGoldenFileError as error:
                faults = error.data["faults"][:20]
                lines = [
                    _("Line %(line)s %(fault)s.") % {"line": line, "fault": error_message(fault)}
                    for line, fault in faults
                ]
                self.add_error("file", lines)
        return values


@admin.register(GoldenSet)
class GoldenSetAdmin(EvaluationAdmin):
    """Named collections of cases."""

    list_display = ("name", "case_total", "last_ndcg", "created", "tenant")
    list_select_related = ("tenant",)
    search_fields = ("name",)
    filter_horizontal = ("sets",)
    fields = ("name", "description", "sets")
    change_form_outer_before_template = "admin/evaluation/goldenset/tools.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[GoldenSet]:
        last = EvaluationRun.objects.filter(golden_set=OuterRef("pk")).order_by("-started")
        rows: QuerySet[GoldenSet] = super().get_queryset(request)
        return rows.annotate(
            case_count=Count("cases"), last_figure=Subquery(last.values("figures__ndcg@10__value")[:1])
        )

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        own = [
            path("<int:pk>/import/", view(self.import_cases), name="evaluation_goldenset_import"),
            path("<int:pk>/export/", view(self.export_cases), name="evaluation_goldenset_export"),
        ]
        return [*own, *super().get_urls()]

    def save_model(self, request: HttpRequest, obj: GoldenSet, form: Any, change: bool) -> None:
        if not change:
            obj.tenant_id = admin_scope(request).tenant_id
        super().save_model(request, obj, form, change)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        extra = {**(extra_context or {}), "golden_set": self.get_object(request, object_id)}
        page: HttpResponse = super().change_view(request, object_id, form_url, extra)
        return page

    def import_cases(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        """GET: the form; POST: add the cases of a file."""
        golden_set = self._allowed(request, pk)
        form = GoldenImportForm(request.POST or None, request.FILES or None)
        if form.is_valid():
            done = golden_import(tenant=golden_set.tenant, name=golden_set.name, rows=form.cleaned_data["rows"])
            messages.success(request, _imported(done))
            return redirect("admin:evaluation_goldenset_change", pk)
        context = {
            **self.admin_site.each_context(request),
            "title": _("Import cases into “%(name)s”") % {"name": golden_set.name},
            "form": form,
            "golden_set": golden_set,
        }
        return TemplateResponse(request, "admin/evaluation/goldenset/import.html", context)

    def export_cases(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        """All cases as JSON Lines."""
        golden_set = self._allowed(request, pk)
        name = slugify(golden_set.name) or f"golden-{pk}"
        lines = "".join(cases_as_jsonl(golden_set=golden_set))
        return HttpResponse(
            lines,
            content_type="application/x-ndjson",
            headers={"Content-Disposition": f'attachment; filename="{name}.jsonl"'},
        )

    def _allowed(self, request: HttpRequest, pk: int) -> GoldenSet:
        if not self.has_change_permission(request):
            raise PermissionDenied
        return get_object_or_404(self.get_queryset(request).select_related("tenant"), pk=pk)

    @admin.display(description=_("golden cases"), ordering="case_count")
    def case_total(self, row: Any) -> SafeString:
        url = f"{reverse('admin:evaluation_goldencase_changelist')}?golden_set__id__exact={row.pk}"
        return format_html('<a class="rs-link rs-number" href="{}">{}</a>', url, row.case_count)

    @admin.display(description=_("nDCG@10 of the last run"))
    def last_ndcg(self, row: Any) -> str:
        return "–" if row.last_figure is None else f"{float(row.last_figure):.3f}"


def _imported(done: GoldenImported) -> str:
    return _("%(added)d cases added, %(updated)d updated.") % {"added": done.added, "updated": done.updated}


@admin.register(GoldenCase)
class GoldenCaseAdmin(EvaluationAdmin):
    """Single cases."""

    tenant_path = "golden_set__tenant"
    list_display = ("question", "golden_set", "relevant", "tags")
    list_filter = ("golden_set",)
    list_select_related = ("golden_set",)
    search_fields = ("question",)
    fields = ("golden_set", "question", "answers", "relevant", "tags")
    change_form_outer_before_template = "admin/evaluation/goldencase/tools.html"

    def get_urls(self) -> list[URLPattern]:
        return [*lab_urls(self), *super().get_urls()]
