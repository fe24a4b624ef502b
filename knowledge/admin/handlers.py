"""Pages of source handlers with their rules, and of attributes in their four groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import AdministratorAdmin, admin_user, is_administrator
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message
from accounts.services import audit_record
from knowledge.admin.source_forms import CapitalLabels, LinesField, PairsField
from knowledge.models import Attribute, HandlerRule, SourceHandler
from knowledge.relation_kinds import KINDS
from knowledge.services.handlers import (
    HandlerOutcome,
    handler_evaluate,
    handler_value,
    pattern_check,
    template_check,
    text_nest,
)
from ragcore.errors import RagError

if TYPE_CHECKING:  # the theme has no types; its class is Django's with other templates
    from django.contrib.admin import TabularInline as UntypedTabularInline

    TabularInline = UntypedTabularInline[Any, Any]
else:
    from unfold.admin import TabularInline

TEMPLATES = ("series_template", "version_template", "title_template")


def checked(check: Callable[[], None]) -> None:
    """Run a check of the services for a form. Raises forms.ValidationError in the reader's language."""
    try:
        check()
    except RagError as error:
        raise forms.ValidationError(error_message(error)) from None


class HandlerForm(CapitalLabels, forms.ModelForm):  # type: ignore[type-arg]
    """Templates that cannot be filled are refused."""

    field_map = PairsField(
        label=_("field map"),
        help_text=_(
            "Name in the source system = attribute here, one per line. “clearance” and “readers” decide who may read; "
            "“review_by” is the date by which the document is to be reviewed."
        ),
    )

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        for name in TEMPLATES:
            try:
                checked(lambda name=name: template_check(self.cleaned_data.get(name) or ""))  # type: ignore[misc]
            except forms.ValidationError as error:
                self.add_error(name, error)
        return cleaned


class RuleForm(forms.ModelForm):  # type: ignore[type-arg]
    """Patterns that cannot be read or take long, and rules without what they write, are refused."""

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        data = self.cleaned_data
        if data.get("pattern") and data.get("match"):
            checked(lambda: pattern_check(match=data["match"], pattern=data["pattern"]))
        checked(lambda: template_check(data.get("value") or ""))
        action = data.get("action")
        if action == HandlerRule.Action.SET_ATTRIBUTE and not data.get("attribute"):
            self.add_error("attribute", _("Which attribute?"))
        actions = HandlerRule.Action
        valued = (actions.SET_ATTRIBUTE, actions.ADD_TAG, actions.INDENTATION, actions.RELATE)
        if action == HandlerRule.Action.RELATE and data.get("attribute") not in KINDS:
            self.add_error("attribute", _("Which kind of relation? One of: %(kinds)s") % {"kinds": ", ".join(KINDS)})
        if action in valued and not data.get("value"):
            self.add_error("value", _("Which value?"))
        looks_at_paragraphs = data.get("looks") in (HandlerRule.Looks.STYLE, HandlerRule.Looks.LINE)
        if looks_at_paragraphs != (action == HandlerRule.Action.INDENTATION):
            self.add_error("looks", _("Paragraph style and line are for nesting, and nesting is for them only."))
        return cleaned


class RuleInline(TabularInline):
    """The rules in their order."""

    model = HandlerRule
    form = RuleForm
    fields = ("position", "looks", "match", "pattern", "action", "attribute", "value")
    extra = 0


class TrialForm(forms.Form):
    """A file that the handler is tried on."""

    path = forms.CharField(label=_("path or address"), max_length=1024)
    title = forms.CharField(label=_("title"), max_length=512, required=False)
    metadata = PairsField(label=_("attributes"), help_text=_("As sent by the source system: name = value."))
    text = forms.CharField(
        label=_("text"), required=False, max_length=200_000, widget=forms.Textarea({"rows": 6}), strip=False
    )

    style = forms.CharField(
        label=_("paragraph style"),
        required=False,
        max_length=64,
        help_text=_("Of all paragraphs of the text, such as B1."),
    )

    def nested(self, row: SourceHandler) -> str:
        """The text with its nested lists; empty where the handler sees none."""
        data = self.cleaned_data
        return text_nest(data["text"], style=data["style"], handler=handler_value(row)) if data["text"] else ""

    def outcome(self, row: SourceHandler) -> HandlerOutcome:
        """What the handler says about it."""
        data = self.cleaned_data
        name = data["path"].rpartition("/")[2] or data["path"]
        title = data["title"] or name.rpartition(".")[0] or name
        return handler_evaluate(
            handler=handler_value(row),
            path=data["path"],
            name=name,
            title=title,
            text=data["text"] or None,
            metadata=data["metadata"],
        )


@admin.register(SourceHandler)
class SourceHandlerAdmin(AdministratorAdmin):
    """See the module."""

    form = HandlerForm
    inlines: ClassVar = [RuleInline]
    list_display = ("name", "code", "splitting", "keep_latest", "rule_total", "source_total")
    search_fields = ("name", "code", "description")
    ordering = ("name",)
    change_form_outer_after_template = "admin/knowledge/sourcehandler/try.html"
    fieldsets = (
        (None, {"fields": (("name", "code"), "description", ("splitting", "title_template"))}),
        (
            _("Keep only the latest version"),
            {"fields": ("keep_latest", ("series_template", "version_template")), "classes": ("collapse",)},
        ),
        (_("Attributes of the source system"), {"fields": ("field_map",), "classes": ("collapse",)}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[SourceHandler]:
        rows: QuerySet[SourceHandler] = super().get_queryset(request)
        return rows.annotate(
            rule_count=Count("rules", distinct=True), source_count=Count("sources", distinct=True)
        ).order_by(*self.get_ordering(request))

    @admin.display(description=_("rules"), ordering="rule_count")
    def rule_total(self, row: Any) -> int:
        return int(row.rule_count)

    @admin.display(description=_("sources"), ordering="source_count")
    def source_total(self, row: Any) -> int:
        return int(row.source_count)

    def save_model(self, request: HttpRequest, obj: SourceHandler, form: Any, change: bool) -> None:
        if not change:
            obj.tenant = admin_user(request).tenant
        super().save_model(request, obj, form, change)
        action = "handler.change" if change else "handler.create"
        audit_record(actor=admin_user(request), action=action, target=obj.code, fields=list(form.changed_data))

    def delete_model(self, request: HttpRequest, obj: SourceHandler) -> None:
        audit_record(actor=admin_user(request), action="handler.delete", target=obj.code)
        super().delete_model(request, obj)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        extra = {"handler_row": self.get_object(request, object_id), "trial": TrialForm()}
        page: HttpResponse = super().change_view(request, object_id, form_url, {**(extra_context or {}), **extra})
        return page

    @admin_page("<int:pk>/try/", name="knowledge_sourcehandler_try", allowed=is_administrator)
    def trial(self, request: HttpRequest, pk: int) -> HttpResponse:
        """What would be set on a file; nothing is stored."""
        row = get_object_or_404(self.get_queryset(request), pk=pk)
        form = TrialForm(request.POST or None)
        context = {
            "title": _("Test %(name)s") % {"name": row.name},
            "handler_row": row,
            "trial": form,
            "outcome": form.outcome(row) if form.is_valid() else None,
            "nested": form.nested(row) if form.is_valid() else "",
        }
        return page_response(request, "admin/knowledge/sourcehandler/trial.html", context)


# ── attributes ────────────────────────────────────────────────────────────────────────────────────


class AttributeForm(CapitalLabels, forms.ModelForm):  # type: ignore[type-arg]
    """Choices are lines, not JSON."""

    choices = LinesField(label=_("choices"), help_text=_("One per line. If empty, any text."))

    class Meta:
        model = Attribute
        fields: ClassVar = ["name", "name_zh", "code", "group", "position", "choices"]


@admin.register(Attribute)
class AttributeAdmin(AdministratorAdmin):
    """See the module."""

    form = AttributeForm
    list_display = ("name", "name_zh", "code", "group", "position", "choice_list")
    list_filter = ("group",)
    search_fields = ("name", "name_zh", "code")
    ordering = ("group", "position", "code")
    fieldsets = ((None, {"fields": (("name", "name_zh"), ("code", "group"), "position", "choices")}),)

    @admin.display(description=_("choices"))
    def choice_list(self, row: Attribute) -> str:
        return ", ".join(map(str, row.choices)) or "–"

    def save_model(self, request: HttpRequest, obj: Attribute, form: Any, change: bool) -> None:
        if not change:
            obj.tenant = admin_user(request).tenant
        super().save_model(request, obj, form, change)
        action = "attribute.change" if change else "attribute.create"
        audit_record(actor=admin_user(request), action=action, target=obj.code, fields=list(form.changed_data))
