"""Admin page of folders and private hosts: platform administrators give them, other administrators see their own."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.admin.base import AdministratorAdmin, admin_scope, admin_user
from accounts.error_messages import error_message
from accounts.roles import administers
from knowledge.models import SourcePlace
from knowledge.rights import PLACES_MANAGE
from knowledge.services.places import FIELDS, place_location_read, place_save, place_take
from ragcore.errors import RagError


class SourcePlaceForm(forms.ModelForm):  # type: ignore[type-arg]
    """Says beside the field what the service would refuse."""

    class Meta:
        model = SourcePlace
        fields: ClassVar = list(FIELDS)

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean() or {}
        kind = cleaned.get("kind", self.instance.kind)
        if cleaned.get("location"):
            try:
                cleaned["location"] = place_location_read(kind=kind, location=cleaned["location"])
            except RagError as error:
                self.add_error("location", error_message(error))
        return cleaned


@admin.register(SourcePlace)
class SourcePlaceAdmin(AdministratorAdmin):
    """What sources of a tenant may read besides the public web."""

    form = SourcePlaceForm
    list_display = ("location", "kind", "tenant", "clearance_floor", "for_owners")
    list_filter = ("kind", "tenant")
    search_fields = ("location",)
    fieldsets = ((None, {"fields": (("tenant", "kind"), "location", ("clearance_floor", "for_owners"))}),)

    def get_readonly_fields(self, request: HttpRequest, obj: SourcePlace | None = None) -> tuple[str, ...]:
        """A place stays with its tenant: another one gets its own."""
        return ("tenant", "kind") if obj is not None else ()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return super().has_add_permission(request) and administers(scope=admin_scope(request), doing=PLACES_MANAGE)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_add_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_add_permission(request)

    def save_model(self, request: HttpRequest, obj: SourcePlace, form: Any, change: bool) -> None:
        stored = SourcePlace.objects.get(pk=obj.pk) if change else SourcePlace()
        values = {name: form.cleaned_data[name] for name in FIELDS if name in form.cleaned_data}
        saved = place_save(scope=admin_scope(request), actor=admin_user(request), place=stored, values=values)
        obj.pk, obj.location = saved.pk, saved.location

    def delete_model(self, request: HttpRequest, obj: SourcePlace) -> None:
        place_take(scope=admin_scope(request), actor=admin_user(request), place=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[SourcePlace]) -> None:
        for place in queryset:
            self.delete_model(request, place)
