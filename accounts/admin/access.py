"""Admin pages of users, groups, tenants, API keys and the audit log."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from accounts.admin.base import AdministratorAdmin, ReadOnlyMixin, admin_user
from accounts.models import AuditEvent, User, UserGroup
from accounts.selectors import roles_held
from accounts.services import audit_record

admin.site.unregister(Group)  # Django's own groups give rights that nothing here asks for


class PersonForm(UserChangeForm):  # type: ignore[misc]  # the theme has no types
    """Naming an owner makes the user a service account, which has no password; without one it is a person again."""

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        owner = values.get("service_owner")
        self.instance.is_service = owner is not None
        if owner is None:
            return values
        if owner.is_service or owner == self.instance or owner.tenant != values.get("tenant"):
            self.add_error("service_owner", _("Choose another person of the same tenant."))
        self.instance.set_unusable_password()
        values["password"] = self.instance.password  # the form would write the earlier one back
        return values


@admin.register(User)
class PersonAdmin(UserAdmin, AdministratorAdmin):  # type: ignore[type-arg]
    """People: who they are, what they may see, what they work on."""

    names_for_staff = True
    form = PersonForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = (
        "username",
        "department",
        "clearance",
        "is_staff",
        "is_service",
        "is_active",
        "tenant",
        "last_login",
    )
    list_filter = ("is_active", "is_staff", "is_service", "clearance", "tenant")
    list_select_related = ("tenant",)
    autocomplete_fields = ("service_owner",)
    readonly_fields = ("roles_shown",)
    search_fields = ("username", "first_name", "last_name", "email", "department")
    filter_horizontal = ("user_groups",)
    fieldsets = (
        (None, {"fields": ("username", "password", ("first_name", "last_name"), "email")}),
        (_("Work profile"), {"fields": ("department", "product", "role", "interests")}),
        (
            _("Access"),
            {"fields": ("roles_shown", "tenant", "clearance", "user_groups", "can_create_sets", "is_active")},
        ),
        (_("Service account"), {"fields": ("service_owner",), "classes": ("collapse",)}),
        (_("Administration"), {"fields": ("is_staff", "is_superuser", "groups"), "classes": ("collapse",)}),
    )
    add_fieldsets = (
        (None, {"fields": ("username", "usable_password", "password1", "password2", "tenant", "clearance")}),
    )

    @admin.display(description=_("roles"))
    def roles_shown(self, user: User) -> str:
        """What the person is by the fields below and by the lists of knowledge sets."""
        return ", ".join(str(role.label) for role in roles_held(user))

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        """The page that sets a password; service accounts have none."""
        found = self.get_object(request, unquote(id))
        if isinstance(found, User) and found.is_service:
            raise PermissionDenied
        return super().user_change_password(request, id, form_url)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        audit_record(
            actor=admin_user(request),
            action="user.change" if change else "user.create",
            target=obj.username,
            fields=[name for name in form.changed_data if "password" not in name],
        )

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        audit_record(actor=admin_user(request), action="user.delete", target=obj.username)
        super().delete_model(request, obj)


@admin.register(UserGroup)
class UserGroupAdmin(AdministratorAdmin):
    """Groups that share access to knowledge sets."""

    names_for_staff = True
    list_display = ("name", "people", "tenant")
    list_filter = ("tenant",)
    list_select_related = ("tenant",)
    search_fields = ("name",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[UserGroup]:
        rows: QuerySet[UserGroup] = super().get_queryset(request)
        return rows.annotate(people_count=Count("members"))

    @admin.display(description=_("people"), ordering="people_count")
    def people(self, group: Any) -> int:
        return int(group.people_count)


ACTIONS = {
    "access.request": _("Requested access"),
    "access.approve": _("Granted access"),
    "access.decline": _("Declined access"),
    "access.withdraw": _("Withdrew request for access"),
    "api_key.create": _("Created API key"),
    "api_key.revoke": _("Revoked API key"),
    "case.move": _("Moved case"),
    "case.reopen": _("Reopened case"),
    "document.clearance": _("Changed document clearance"),
    "document.delete": _("Deleted document"),
    "document.rebuild": _("Re-processed document"),
    "documents.transfer": _("Moved documents"),
    "documents.weigh": _("Set document weight"),
    "duplicates.keep": _("Kept both near-duplicates"),
    "handler.create": _("Created source handler"),
    "handler.change": _("Changed source handler"),
    "handler.delete": _("Deleted source handler"),
    "attribute.create": _("Created attribute"),
    "attribute.change": _("Changed attribute"),
    "job.cancel": _("Cancelled job"),
    "job.pause": _("Paused job"),
    "job.resume": _("Resumed job"),
    "job.retry": _("Retried job"),
    "passage.change": _("Edited passage"),
    "passage.disable": _("Excluded passage from search"),
    "passage.questions": _("Added questions to passage"),
    "passage.undo": _("Undid passage edit"),
    "set.change": _("Changed knowledge set"),
    "set.create": _("Created knowledge set"),
    "set.delete": _("Deleted knowledge set"),
    "set.enrich": _("Enriched passages again"),
    "set.ingest": _("Loaded documents into set"),
    "set.members": _("Changed members"),
    "set.options": _("Changed set settings"),
    "set.rebuild": _("Re-processed knowledge set"),
    "set.sources": _("Changed set sources"),
    "site.options": _("Changed default settings"),
    "source.change": _("Changed source"),
    "source.create": _("Created source"),
    "source.credentials": _("Changed source credentials"),
    "source.delete": _("Deleted source"),
    "source.run": _("Synchronised source"),
    "tenant.create": _("Created tenant"),
    "tenant.change": _("Changed tenant"),
    "user.create": _("Created user"),
    "user.change": _("Changed user"),
    "user.delete": _("Deleted user"),
    "golden_case.create": _("Created golden case"),
    "golden_case.change": _("Changed golden case"),
    "demo.load": _("Loaded demo data"),
    "version.withdraw": _("Withdrew document version"),
}


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyMixin, AdministratorAdmin):
    """Who did what to whose access."""

    list_display = ("action_shown", "target", "actor", "at", "tenant")
    list_filter = ("action", "at")
    list_select_related = ("actor", "tenant")
    search_fields = ("target", "action", "actor__username")
    date_hierarchy = "at"
    fields = (("action_shown", "target"), ("actor", "at"), "tenant", "details_shown")
    readonly_fields = ("action_shown", "details_shown")

    @admin.display(description=_("action"), ordering="action")
    def action_shown(self, event: AuditEvent) -> str:
        """The act in words; the code itself where it has none."""
        return str(ACTIONS.get(event.action, event.action))

    @admin.display(description=_("details"))
    def details_shown(self, event: AuditEvent) -> SafeString:
        return format_html("<pre>{}</pre>", json.dumps(event.data, ensure_ascii=False, indent=2))
