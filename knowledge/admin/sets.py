"""Knowledge sets: what they hold, how healthy they are, who owns and may read them (D12)."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import Count, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.admin.base import admin_scope, admin_user, badge, is_administrator
from accounts.scope import Scope
from knowledge.admin.rights import CuratorAdmin
from knowledge.models import Chunk, Document, KnowledgeSet, Source
from knowledge.selectors import sets_managed
from knowledge.services.sets import set_create, set_delete, set_members_put, set_update

PEOPLE = {"members": "users", "member_groups": "groups", "owners": "owners"}  # field -> argument of the service


def _counted(**conditions: Any) -> Coalesce:
    """How many documents of a set meet the conditions, as a subquery that does not multiply rows."""
    rows = Document.objects.filter(sets=OuterRef("pk"), deleted=None, **conditions).order_by()
    counted = rows.values("sets").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def _chunks() -> Coalesce:
    rows = Chunk.objects.filter(version__live_for__sets=OuterRef("pk"), version__live_for__deleted=None).order_by()
    counted = rows.values("version__live_for__sets").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


class KnowledgeSetForm(forms.ModelForm):  # type: ignore[type-arg]
    """Says beside the field what the services would refuse."""

    scope: ClassVar[Scope]

    class Meta:
        model = KnowledgeSet
        fields: ClassVar = ["name", "code"]

    def clean_code(self) -> str:
        code = str(self.cleaned_data["code"])
        tenant_id = self.instance.tenant_id or self.scope.tenant_id
        if KnowledgeSet.objects.filter(tenant=tenant_id, code=code).exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError(_("Another knowledge set has this code."))
        return code

    def clean_owners(self) -> Any:
        owners = self.cleaned_data["owners"]
        if not owners and self.scope.administers == "nothing":
            raise forms.ValidationError(_("A knowledge set needs at least one owner."))
        return owners


@admin.register(KnowledgeSet)
class KnowledgeSetAdmin(CuratorAdmin):
    """Owners see and change their own sets; making and deleting sets is for administrators."""

    form = KnowledgeSetForm
    list_display = ("name", "axis_label", "document_total", "chunk_total", "health", "owner_names", "readers", "tenant")
    list_filter = ("axis", "visibility", "tenant")
    search_fields = ("name", "code", "description")
    ordering = ("axis", "name")
    autocomplete_fields = ("members", "member_groups", "owners")
    fieldsets = (
        (None, {"fields": (("name", "code"), ("axis", "visibility"), "description")}),
        (_("People"), {"fields": ("owners", "members", "member_groups")}),
        (_("How it answers"), {"fields": ("persona", "example_questions"), "classes": ("collapse",)}),
    )
    add_fieldsets = ((None, {"fields": (("name", "code"), ("axis", "visibility"), "description")}),)

    def get_queryset(self, request: HttpRequest) -> QuerySet[KnowledgeSet]:
        rows: QuerySet[KnowledgeSet] = super().get_queryset(request)
        rows = (
            rows.select_related("tenant")
            .prefetch_related("owners")
            .filter(pk__in=sets_managed(scope=admin_scope(request)).order_by().values("pk"))
        )
        return rows.annotate(
            document_count=_counted(),
            failed_count=_counted(state=Document.State.FAILED),
            processing_count=_counted(state=Document.State.PROCESSING),
            chunk_count=_chunks(),
        )

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_administrator(request)

    def has_change_permission(self, request: HttpRequest, obj: KnowledgeSet | None = None) -> bool:
        return self.has_view_permission(request, obj)  # rows are narrowed to what the person manages

    def has_delete_permission(self, request: HttpRequest, obj: KnowledgeSet | None = None) -> bool:
        return is_administrator(request)

    def get_form(
        self, request: HttpRequest, obj: KnowledgeSet | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        return type(form.__name__, (form,), {"scope": admin_scope(request)})

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Only the sets are named: their documents stay."""
        return [str(obj) for obj in objs], {str(self.opts.verbose_name_plural): len(objs)}, set(), []

    # ── writing, by the services only ───────────────────────────────────────────────────────────

    def save_model(self, request: HttpRequest, obj: KnowledgeSet, form: Any, change: bool) -> None:
        values = {name: value for name, value in form.cleaned_data.items() if name not in PEOPLE}
        context: dict[str, Any] = {"scope": admin_scope(request), "actor": admin_user(request), "values": values}
        saved = set_update(set_id=obj.pk, **context) if change else set_create(**context)
        obj.pk, obj.tenant_id = saved.pk, saved.tenant_id

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        if changed := [name for name in PEOPLE if name in form.changed_data]:
            people = {PEOPLE[name]: [row.pk for row in form.cleaned_data[name]] for name in changed}
            set_members_put(scope=admin_scope(request), actor=admin_user(request), set_id=form.instance.pk, **people)

    def delete_model(self, request: HttpRequest, obj: KnowledgeSet) -> None:
        set_delete(scope=admin_scope(request), actor=admin_user(request), set_id=obj.pk)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[KnowledgeSet]) -> None:
        for row in queryset:
            self.delete_model(request, row)

    # ── columns ─────────────────────────────────────────────────────────────────────────────────

    @admin.display(description=_("axis"), ordering="axis")
    def axis_label(self, row: KnowledgeSet) -> str:
        return f"{row.axis} · {row.get_axis_display()}"

    @admin.display(description=_("documents"), ordering="document_count")
    def document_total(self, row: KnowledgeSet) -> SafeString:
        url = f"{reverse('admin:knowledge_document_changelist')}?sets__id__exact={row.pk}&hands=all"
        return format_html('<a class="rs-link rs-number" href="{}">{}</a>', url, row.document_count)  # type: ignore[attr-defined]

    @admin.display(description=_("passages"), ordering="chunk_count")
    def chunk_total(self, row: KnowledgeSet) -> SafeString:
        return format_html('<span class="rs-number">{}</span>', row.chunk_count)  # type: ignore[attr-defined]

    @badge(
        description=_("health"),
        ordering="failed_count",
        colours={"failed": "danger", "processing": "info", "ok": "success", "empty": "warning"},
    )
    def health(self, row: Any) -> tuple[str, str]:
        if row.failed_count:
            text = ngettext("%(count)d failed", "%(count)d failed", row.failed_count)
            return "failed", text % {"count": row.failed_count}
        if row.processing_count:
            text = ngettext("%(count)d in work", "%(count)d in work", row.processing_count)
            return "processing", text % {"count": row.processing_count}
        return ("ok", str(_("in order"))) if row.document_count else ("empty", str(_("no documents yet")))

    @admin.display(description=_("owners"))
    def owner_names(self, row: KnowledgeSet) -> str:
        return ", ".join(owner.username for owner in row.owners.all()) or "–"

    @admin.display(description=_("who may read"), ordering="visibility")
    def readers(self, row: KnowledgeSet) -> str:
        return row.get_visibility_display()


@admin.register(Source)
class SourceAdmin(CuratorAdmin):
    """Where documents come from; external ids are unique within a source."""

    list_display = ("name", "kind", "documents_here", "created")
    list_filter = ("kind",)
    search_fields = ("name",)
    ordering = ("name",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Source]:
        rows: QuerySet[Source] = super().get_queryset(request)
        return rows.annotate(document_count=Count("documents", filter=Q(documents__deleted=None)))

    def has_view_permission(self, request: HttpRequest, obj: Source | None = None) -> bool:
        return is_administrator(request)

    has_module_permission = has_view_permission

    @admin.display(description=_("documents"), ordering="document_count")
    def documents_here(self, row: Any) -> int:
        return int(row.document_count)
