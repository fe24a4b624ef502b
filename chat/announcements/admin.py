"""Admin page of announcements, for administrators."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.widgets import INPUT_CLASSES

from accounts.admin.base import AdministratorAdmin, admin_scope, admin_user, ago, badge
from chat.announcements.banner import announcement_delete, announcement_save
from chat.models import Announcement

LEVEL_COLOURS = {"info": "info", "warning": "warning", "urgent": "danger"}
STATE_COLOURS = {"shown": "success", "planned": "info", "over": "", "off": ""}
STATES = {"shown": _("Shown"), "planned": _("Planned"), "over": _("Over"), "off": _("Off")}
COMPARED = ("text", "text_zh", "level", "begins", "ends", "is_active", "is_dismissible")


class MinuteWidget(forms.DateTimeInput):
    """Day and time in one field of the browser: the two fields of the theme are wider than a phone."""

    input_type = "datetime-local"

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        super().__init__(attrs={"class": " ".join(INPUT_CLASSES), **(attrs or {})}, format="%Y-%m-%dT%H:%M")


class AnnouncementForm(forms.ModelForm):  # type: ignore[type-arg]
    """Form of an announcement: needs a text in one language, and an end after its start."""

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if not (values.get("text") or "").strip() and not (values.get("text_zh") or "").strip():
            self.add_error("text", _("Write the announcement in at least one language."))
        begins, ends = values.get("begins"), values.get("ends")
        if begins and ends and ends <= begins:
            self.add_error("ends", _("The end is before the beginning."))
        return values


@admin.register(Announcement)
class AnnouncementAdmin(AdministratorAdmin):
    """What stands above the chat of everybody in the tenant."""

    form = AnnouncementForm
    list_display = ("__str__", "level_badge", "state_badge", "begins_shown", "ends_shown", "tenant")
    list_filter = ("level", "tenant")
    list_select_related = ("tenant",)
    ordering = ("-pk",)
    fields = ("text", "text_zh", "level", "begins", "ends", "is_active", "is_dismissible", "tenant")
    formfield_overrides: ClassVar = {
        models.DateTimeField: {"form_class": forms.DateTimeField, "widget": MinuteWidget},
    }

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Only who administers several tenants chooses one."""
        everything = admin_scope(request).administers == "everything"
        return self.fields if everything else self.fields[:-1]

    def save_model(self, request: HttpRequest, obj: Announcement, form: Any, change: bool) -> None:
        if admin_scope(request).administers != "everything":
            obj.tenant_id = admin_scope(request).tenant_id
        before = Announcement.objects.filter(pk=obj.pk).values(*COMPARED).first() if change else None
        announcement_save(actor=admin_user(request), row=obj, before=before)

    def delete_model(self, request: HttpRequest, obj: Announcement) -> None:
        announcement_delete(actor=admin_user(request), row=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Announcement]) -> None:
        for row in queryset:
            self.delete_model(request, row)

    @badge(description=_("level"), ordering="level", colours=LEVEL_COLOURS)
    def level_badge(self, row: Announcement) -> tuple[str, str]:
        return row.level, row.get_level_display()

    @badge(description=_("state"), ordering="is_active", colours=STATE_COLOURS)
    def state_badge(self, row: Announcement) -> tuple[str, Any]:
        state = row.state_at(timezone.now())
        return state, STATES[state]

    @admin.display(description=_("shown from"), ordering="begins")
    def begins_shown(self, row: Announcement) -> SafeString | str:
        return "–" if row.begins is None else ago(row.begins)

    @admin.display(description=_("shown until"), ordering="ends")
    def ends_shown(self, row: Announcement) -> SafeString | str:
        return "–" if row.ends is None else ago(row.ends)
