"""Knowledge sets: what they hold, how healthy they are, who owns and may read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.admin.base import admin_scope, admin_user, is_administrator
from accounts.scope import Scope
from knowledge.admin.curation import CuratorAdmin, creates_sets, keeps_sets, lists_sets, measured_first
from knowledge.admin.representation_retries import notice_of
from knowledge.errors import MeasuredFirstError
from knowledge.models import KnowledgeSet
from knowledge.selectors import sets_managed
from knowledge.selectors.dashboard import sets_counted
from knowledge.selectors.refusal_lines import refusal_line_of
from knowledge.selectors.representation_retries import retries_of_set
from knowledge.services.sets import set_create, set_delete, set_members_put, set_update

# field -> argument of the service
PEOPLE = {"members": "users", "member_groups": "groups", "owners": "owners", "editors": "editors"}
_HELD = "_held_change"  # attribute of a request whose texts are measured first


@dataclass(frozen=True, slots=True)
class Health:
    """The state of a set in words, with a sign that does not rely on colour."""

    kind: Literal["failed", "working", "nothing", "live", "empty"]
    icon: str
    words: str


def health_of(row: Any) -> list[Health]:
    """Of a set with counts (selectors.dashboard.sets_counted): what wants hands first, then what is in work."""
    states = []
    if row.failed_count:
        text = ngettext("%(count)d failed", "%(count)d failed", row.failed_count)
        states.append(Health("failed", "error", text % {"count": row.failed_count}))
    if row.processing_count:
        text = ngettext("%(count)d processing", "%(count)d processing", row.processing_count)
        states.append(Health("working", "autorenew", text % {"count": row.processing_count}))
    return states or [_at_rest(row)]


def _at_rest(row: Any) -> Health:
    if not row.document_count:
        return Health("empty", "inbox", str(_("no documents yet")))
    if not row.live_count:
        return Health("nothing", "warning", str(_("none searchable")))
    return Health("live", "check_circle", str(_("all searchable")))


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
    """Owners see and change their own sets, editors see theirs; making sets is for those with the right to."""

    form = KnowledgeSetForm
    change_form_outer_before_template = "admin/knowledge/knowledgeset/tools.html"
    change_list_template = "admin/knowledge/knowledgeset/list.html"
    list_before_template = "admin/knowledge/knowledgeset/list_top.html"
    list_display = ("name",)
    list_per_page = 200  # an organisation has some dozens
    list_filter = ("axis", "visibility", "tenant")
    search_fields = ("name", "name_zh", "code", "description")
    ordering = ("axis", "name")
    autocomplete_fields = ("members", "member_groups", "owners", "editors")
    fieldsets = (
        (
            None,
            {"fields": (("name", "name_zh"), "code", ("axis", "visibility"), ("originals", "rights"), "description")},
        ),
        (_("People"), {"fields": ("owners", "editors", "members", "member_groups")}),
        (
            _("Answer behaviour"),
            {"fields": ("persona", "answer_template", "example_questions"), "classes": ("collapse",)},
        ),
    )
    add_fieldsets = ((None, {"fields": (("name", "name_zh"), "code", ("axis", "visibility"), "description")}),)

    def get_queryset(self, request: HttpRequest) -> QuerySet[KnowledgeSet]:
        rows = sets_counted(scope=admin_scope(request)).select_related("tenant").prefetch_related("owners")
        return rows.order_by(*self.get_ordering(request))

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list, grouped by axis; every axis is there, also one without sets."""
        response: Any = super().changelist_view(request, extra_context)
        if changes := getattr(response, "context_data", {}).get("cl"):
            rows = list(changes.result_list)
            managed = sets_managed(scope=admin_scope(request)).order_by()
            response.context_data["managed"] = set(managed.values_list("pk", flat=True))
            response.context_data["axes"] = [
                (axis, [(row, health_of(row)) for row in rows if row.axis == axis.value]) for axis in KnowledgeSet.Axis
            ]
        return response

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: KnowledgeSet | None = None,
    ) -> HttpResponse:
        """The form of a set, below what rules wrote for its passages, and where its line of refusals lies."""
        if obj is not None:
            context["retries"] = notice_of(retries_of_set(scope=admin_scope(request), set_id=obj.pk))
            context["refusal_line"] = refusal_line_of(scope=admin_scope(request), set_id=obj.pk)
        return super().render_change_form(request, context, add, change, form_url, obj)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return lists_sets(request)

    def has_view_permission(self, request: HttpRequest, obj: KnowledgeSet | None = None) -> bool:
        return lists_sets(request)  # rows are narrowed to what the person curates

    def has_add_permission(self, request: HttpRequest) -> bool:
        return creates_sets(request)

    def has_change_permission(self, request: HttpRequest, obj: KnowledgeSet | None = None) -> bool:
        if obj is None:
            return keeps_sets(request)
        return sets_managed(scope=admin_scope(request)).filter(pk=obj.pk).exists()

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
        if change:
            try:
                set_update(set_id=obj.pk, **context)
            except MeasuredFirstError as error:  # everything else is saved
                setattr(request, _HELD, error)
            return
        saved = set_create(**context)
        obj.pk, obj.tenant_id = saved.pk, saved.tenant_id

    def response_change(self, request: HttpRequest, obj: KnowledgeSet) -> HttpResponse:
        refusal: MeasuredFirstError | None = getattr(request, _HELD, None)
        response: HttpResponse = super().response_change(request, obj)
        return measured_first(request, refusal) if refusal is not None else response

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        if changed := [name for name in PEOPLE if name in form.changed_data]:
            people = {PEOPLE[name]: [row.pk for row in form.cleaned_data[name]] for name in changed}
            set_members_put(scope=admin_scope(request), actor=admin_user(request), set_id=form.instance.pk, **people)

    def delete_model(self, request: HttpRequest, obj: KnowledgeSet) -> None:
        set_delete(scope=admin_scope(request), actor=admin_user(request), set_id=obj.pk)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[KnowledgeSet]) -> None:
        for row in queryset:
            self.delete_model(request, row)
