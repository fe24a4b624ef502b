"""Admin pages of golden sets, golden cases and evaluation runs."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from accounts.services import audit_record
from evaluation.admin.base import EvaluationAdmin, judges_quality, requested_golden_set
from evaluation.admin.golden_forms import AttentionFilter, GoldenCaseForm, GoldenImportForm
from evaluation.admin.run_forms import GoldenSetForm
from evaluation.errors import InvalidGoldenFileError
from evaluation.models import EvaluationRun, GoldenCase, GoldenSet
from evaluation.selectors import cases_outdated, cases_withheld, documents_titled, golden_sets_kept
from evaluation.services.golden import (
    GoldenImportResult,
    golden_import,
    version_changes,
    version_keep,
    version_restore,
)
from evaluation.services.golden_files import CHOICES, csv_file_lines, jsonl_lines, row_of

SHOWN_VERSIONS = 50


class KeptGoldenAdmin(EvaluationAdmin):
    """Everybody who judges quality sees the golden sets of the tenant; only who keeps one changes it."""

    golden_set_path = ""  # from the model to its golden set, with double underscores; "": it is one

    def _kept(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        golden_sets = golden_sets_kept(scope=admin_scope(request), actor=admin_user(request)).order_by().values("pk")
        return rows.filter(**{f"{self.golden_set_path or 'pk'}__in": golden_sets})

    def _may_change(self, request: HttpRequest, obj: Any) -> bool:
        if obj is None:
            return self.has_module_permission(request)
        return self._kept(request, self.model._default_manager.filter(pk=obj.pk)).exists()

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request) and self._may_change(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request) and self._may_change(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        super().delete_queryset(request, self.model._default_manager.filter(pk__in=self._kept(request, queryset)))


@admin.register(GoldenSet)
class GoldenSetAdmin(KeptGoldenAdmin):
    """Named collections of cases."""

    audit_name = "golden_set"

    list_display = ("name", "case_total", "last_ndcg", "created", "tenant")
    list_select_related = ("tenant",)
    search_fields = ("name",)
    filter_horizontal = ("sets",)
    fields = ("name", "description", "sets", "guards", "floors")
    form = GoldenSetForm
    change_form_outer_before_template = "admin/evaluation/goldenset/tools.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[GoldenSet]:
        last = EvaluationRun.objects.filter(golden_set=OuterRef("pk")).order_by("-started")
        rows: QuerySet[GoldenSet] = super().get_queryset(request)
        return rows.annotate(
            case_count=Count("cases"), last_figure=Subquery(last.values("figures__ndcg@10__value")[:1])
        )

    def save_model(self, request: HttpRequest, obj: GoldenSet, form: Any, change: bool) -> None:
        if not change:
            obj.tenant_id, obj.created_by = admin_scope(request).tenant_id, admin_user(request)
        super().save_model(request, obj, form, change)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        golden_set = self.get_object(request, object_id)
        extra = {
            **(extra_context or {}),
            "golden_set": golden_set,
            "may_import": golden_set and self._may_change(request, golden_set),
        }
        page: HttpResponse = super().change_view(request, object_id, form_url, extra)
        return page

    @admin_page("<int:pk>/import/", name="evaluation_goldenset_import", allowed=judges_quality)
    def import_cases(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        """GET: the form; POST: add the cases of a file. For those who keep the golden set."""
        golden_set = requested_golden_set(request, pk)
        form = GoldenImportForm(request.POST or None, request.FILES or None)
        if form.is_valid() and (done := self._imported(request, golden_set, form)) is not None:
            audit_record(actor=admin_user(request), action="golden_set.import", target=golden_set.name)
            messages.success(request, _import_summary(done))
            return redirect("admin:evaluation_goldenset_change", pk)
        page = {
            "title": _("Import cases into “%(name)s”") % {"name": golden_set.name},
            "form": form,
            "golden_set": golden_set,
        }
        return page_response(request, "admin/evaluation/goldenset/import.html", page)

    def _imported(
        self, request: HttpRequest, golden_set: GoldenSet, form: GoldenImportForm
    ) -> GoldenImportResult | None:
        """What the file of a form has added; None: the form says what is wrong with it."""
        try:
            return golden_import(
                tenant=golden_set.tenant,
                name=golden_set.name,
                rows=form.cleaned_data["rows"],
                scope=admin_scope(request),
                actor=admin_user(request),
            )
        except InvalidGoldenFileError as error:
            form.refuse(error)
            return None

    @admin_page("<int:pk>/export/", name="evaluation_goldenset_export", allowed=judges_quality)
    def export_cases(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        """All cases whose documents the person may open, as JSON Lines or, with ?as=csv, as CSV."""
        golden_set = get_object_or_404(self.get_queryset(request), pk=pk)
        name = slugify(golden_set.name) or f"golden-{pk}"
        cases = golden_set.cases.order_by("id")
        withheld = cases_withheld(scope=admin_scope(request), cases=cases)
        rows = [row_of(case) for case in cases.exclude(pk__in=withheld.values("pk"))]
        is_csv = request.GET.get("as") == "csv"
        lines = csv_file_lines(rows) if is_csv else jsonl_lines(rows)
        audit_record(actor=admin_user(request), action="golden_set.export", target=golden_set.name, cases=len(rows))
        return HttpResponse(
            "".join(lines),
            content_type="text/csv; charset=utf-8" if is_csv else "application/x-ndjson",
            headers={"Content-Disposition": f'attachment; filename="{name}.{"csv" if is_csv else "jsonl"}"'},
        )

    @admin_page("<int:pk>/versions/", name="evaluation_goldenset_versions", allowed=judges_quality)
    def versions(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        """GET: what each version changed; POST: keep the cases as a version, or restore one of `version`."""
        rows = self.get_queryset(request)
        golden_set = get_object_or_404(self._kept(request, rows) if request.method == "POST" else rows, pk=pk)
        if request.method == "POST":
            number = request.POST.get("version", "")
            if number:
                chosen = golden_set.versions.filter(number=int(number) if number.isdecimal() else 0).first()
                if chosen is None:
                    raise Http404
                version_restore(scope=admin_scope(request), version=chosen, actor=admin_user(request))
                messages.success(request, _("Version %(number)s is restored.") % {"number": chosen.number})
            else:
                version = version_keep(golden_set=golden_set, actor=admin_user(request))
                messages.success(request, _("The cases are saved as version %(number)s.") % {"number": version.number})
            return redirect("admin:evaluation_goldenset_versions", pk)
        versions = list(golden_set.versions.select_related("created_by")[: SHOWN_VERSIONS + 1])
        page = {
            "title": _("Versions of “%(name)s”") % {"name": golden_set.name},
            "golden_set": golden_set,
            "changes": version_changes(versions)[:SHOWN_VERSIONS],
            "may_change": self.has_change_permission(request, golden_set),
        }
        return page_response(request, "admin/evaluation/goldenset/versions.html", page)

    @admin.display(description=_("golden cases"), ordering="case_count")
    def case_total(self, row: Any) -> SafeString:
        url = f"{reverse('admin:evaluation_goldencase_changelist')}?golden_set__id__exact={row.pk}"
        return format_html('<a class="rs-link rs-number" href="{}">{}</a>', url, row.case_count)

    @admin.display(description=_("nDCG@10 of the last run"))
    def last_ndcg(self, row: Any) -> str:
        return "–" if row.last_figure is None else f"{float(row.last_figure):.3f}"


def _import_summary(result: GoldenImportResult) -> str:
    return _("%(added)d cases added, %(updated)d updated.") % {"added": result.added, "updated": result.updated}


@admin.register(GoldenCase)
class GoldenCaseAdmin(KeptGoldenAdmin):
    """Single cases. Of one on a document that the person may not open only the question is shown."""

    form = GoldenCaseForm

    golden_set_path = "golden_set"

    audit_name = "golden_case"
    tenant_path = "golden_set__tenant"
    list_display = ("question", "golden_set", "expectation", "style", "level", "tags")
    list_filter = (AttentionFilter, "golden_set", *CHOICES, "expects_refusal")
    list_select_related = ("golden_set",)
    search_fields = ("question",)
    fields = (
        *("golden_set", "question", "answers", "relevant", "passages", "grades", "key_points"),
        *("expects_refusal", ("style", "level"), ("target", "structure", "robustness"), "tags"),
    )
    change_form_outer_before_template = "admin/evaluation/goldencase/tools.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[GoldenCase]:
        rows: QuerySet[GoldenCase] = super().get_queryset(request)
        asked = request.resolver_match.kwargs.get("object_id", "") if request.resolver_match else ""
        looked_at = rows.filter(pk=int(asked)) if asked.isdecimal() and len(asked) < 18 else rows  # a page of one case
        hidden = cases_withheld(scope=admin_scope(request), cases=looked_at)
        lost = cases_outdated(cases=looked_at)
        return rows.annotate(
            is_withheld=Exists(hidden.order_by().filter(pk=OuterRef("pk"))),
            is_outdated=Exists(lost.order_by().filter(pk=OuterRef("pk"))),
        )

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:
        form: Any = super().get_form(request, obj, change, **options)
        form.scope = admin_scope(request)
        return form

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        extra = {**(extra_context or {}), "needs_golden_set": not self._kept_sets(request).exists()}
        page: HttpResponse = super().add_view(request, form_url, extra)
        return page

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ("golden_set", "question") if getattr(obj, "is_withheld", False) else self.fields

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return not getattr(obj, "is_withheld", False) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return not getattr(obj, "is_withheld", False) and super().has_delete_permission(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[GoldenCase]) -> None:
        hidden = cases_withheld(
            scope=admin_scope(request), cases=GoldenCase.objects.filter(pk__in=queryset.values("pk"))
        )
        super().delete_queryset(request, queryset.exclude(pk__in=hidden.order_by().values("pk")))

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """The list, with the titles of the documents on its page looked up at once."""
        changelist = super().get_changelist_instance(request)
        readable = [case for case in changelist.result_list if not case.is_withheld]
        names = {name for case in readable for name in case.relevant}
        titles = documents_titled(scope=admin_scope(request), names=names)
        for case in readable:
            case.titles = [titles.get(name, name) for name in case.relevant]
        return changelist

    @admin.display(description=_("expected"))
    def expectation(self, case: Any) -> str | SafeString:
        if case.is_withheld:
            words = str(_("(withheld)"))
        elif case.expects_refusal:
            words = str(_("a refusal"))
        else:
            words = "; ".join(case.titles or case.answers or case.key_points)
        if not case.is_outdated:
            return words or "–"
        gone = _("Needs attention: a document is gone")
        return format_html('<span class="rs-trouble">{}</span> {}', gone, words)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """A case goes into golden sets that the person keeps."""
        if db_field.name == "golden_set":
            kwargs["queryset"] = self._kept_sets(request)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def _kept_sets(self, request: HttpRequest) -> QuerySet[GoldenSet]:
        return golden_sets_kept(scope=admin_scope(request), actor=admin_user(request)).order_by("name")
