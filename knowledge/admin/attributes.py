"""Attributes of documents in their four groups, with Chinese names and choices (D13)."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import AdministratorAdmin, admin_user
from accounts.services import audit_record
from knowledge.admin.source_forms import CapitalLabels, LinesField
from knowledge.models import Attribute


class AttributeForm(CapitalLabels, forms.ModelForm):  # type: ignore[type-arg]
    """Choices are lines, not JSON."""

    choices = LinesField(label=_("choices"), help_text=_("One a line. Empty: any text."))

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
