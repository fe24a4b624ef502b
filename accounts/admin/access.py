"""Admin pages of users, groups, tenants, API keys and the audit log."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from accounts.admin.base import AdministratorAdmin, ReadOnlyMixin, admin_scope, admin_user
from accounts.models import ApiKey, AuditEvent, Tenant, User, UserGroup
from accounts.services import api_key_create, api_key_revoke, audit_record
from accounts.sign_in.passwords import password_given
from accounts.sign_in.second_factor import second_factor_remove
from accounts.sign_in.sessions import sessions_end

PASSWORD_FIELDS = ("password", "password1", "password2", "usable_password")

admin.site.unregister(Group)  # Django's own groups give rights that nothing here asks for
admin.site.unregister([TOTPDevice, StaticDevice])  # they show secrets, and those of every tenant


@admin.register(User)
class PersonAdmin(UserAdmin, AdministratorAdmin):  # type: ignore[type-arg]
    """People: who they are, what they may see, what they work on."""

    names_for_staff = True
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "department", "role", "clearance", "is_staff", "is_active", "tenant", "last_login")
    list_filter = ("is_active", "is_staff", "clearance", "tenant")
    list_select_related = ("tenant",)
    search_fields = ("username", "first_name", "last_name", "email", "department")
    filter_horizontal = ("user_groups",)
    actions = ("end_sessions", "remove_second_factor")
    fieldsets = (
        (None, {"fields": ("username", "password", ("first_name", "last_name"), "email")}),
        (_("Work profile"), {"fields": ("department", "product", "role", "interests")}),
        (_("Access"), {"fields": ("tenant", "clearance", "user_groups", "is_active", "must_change_password")}),
        (_("Administration"), {"fields": ("is_staff", "is_superuser", "groups"), "classes": ("collapse",)}),
    )
    add_fieldsets = (
        (None, {"fields": ("username", "usable_password", "password1", "password2", "tenant", "clearance")}),
    )

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        audit_record(
            actor=admin_user(request),
            action="user.change" if change else "user.create",
            target=obj.username,
            fields=[name for name in form.changed_data if name not in PASSWORD_FIELDS],
        )
        if not change and obj.has_usable_password():
            password_given(user=obj, actor=admin_user(request))
        if change and "is_active" in form.changed_data and not obj.is_active:
            sessions_end(user=obj, actor=admin_user(request), with_keys=True)

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        """Django's page; a new password ends the person's sessions, and its owner is asked for another one."""
        before = User.objects.filter(pk=id).values_list("password", flat=True).first() if id.isdigit() else None
        response = super().user_change_password(request, id, form_url)
        user = User.objects.filter(pk=id).first() if before is not None else None
        if user is not None and user.password != before:
            password_given(user=user, actor=admin_user(request))
        return response  # type: ignore[no-any-return]

    @admin.action(description=_("Sign out everywhere"))
    def end_sessions(self, request: HttpRequest, rows: QuerySet[User]) -> None:
        count = sum(sessions_end(user=user, actor=admin_user(request), with_keys=True) for user in rows)
        text = ngettext("%(count)d session has ended.", "%(count)d sessions have ended.", count)
        messages.success(request, text % {"count": count})

    @admin.action(description=_("Turn off two-step sign-in (lost device)"))
    def remove_second_factor(self, request: HttpRequest, rows: QuerySet[User]) -> None:
        removed = [second_factor_remove(user=user, actor=admin_user(request)) for user in rows]
        text = ngettext(
            "Two-step sign-in of %(count)d user is off.", "Two-step sign-in of %(count)d users is off.", sum(removed)
        )
        messages.success(request, text % {"count": sum(removed)})

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


@admin.register(Tenant)
class TenantPageAdmin(AdministratorAdmin):
    """Organisations; only administrators of the default tenant see this page."""

    tenant_path = "pk"
    list_display = ("name", "is_default", "created")
    readonly_fields: ClassVar = ("is_default", "created")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return super().has_module_permission(request) and admin_scope(request).administers == "everything"

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)

    has_change_permission = has_view_permission

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_module_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Tenant | None = None) -> bool:
        """Never: deleting a tenant would cascade into its documents; that wants a tool of its own."""
        return False


@admin.register(ApiKey)
class ApiKeyAdmin(AdministratorAdmin):
    """Keys are made and revoked, never edited; the secret is shown on the page that follows its creation only."""

    tenant_path = "user__tenant"
    list_display = ("name", "user", "prefix", "created", "last_used", "revoked")
    list_filter = (("revoked", admin.EmptyFieldListFilter),)
    list_select_related = ("user",)
    search_fields = ("name", "prefix", "user__username")
    fields = ("user", "name")
    actions = ("revoke",)

    def has_change_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        row, secret = api_key_create(user=obj.user, name=obj.name, actor=admin_user(request))
        obj.pk, obj.prefix, obj.digest = row.pk, row.prefix, row.digest
        obj._secret = secret  # type: ignore[attr-defined]

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None) -> HttpResponse:
        """Show the secret in this response, not in a message, which would be stored in a cookie."""
        context = {
            **self.admin_site.each_context(request),
            "title": _("API key created"),
            "key": obj,
            "secret": obj._secret,  # type: ignore[attr-defined]
        }
        return TemplateResponse(request, "admin/accounts/apikey/created.html", context)

    @admin.action(description=_("Revoke: these keys stop working at once"))
    def revoke(self, request: HttpRequest, rows: QuerySet[ApiKey]) -> None:
        found = list(rows.select_related("user"))
        for key in found:
            api_key_revoke(key=key, actor=admin_user(request))
        text = ngettext("%(count)d key is revoked.", "%(count)d keys are revoked.", len(found))
        messages.success(request, text % {"count": len(found)})


ACTIONS = {
    "sign_in.done": _("Signed in"),
    "sign_in.fail": _("Failed to sign in"),
    "sign_in.out": _("Signed out"),
    "session.revoke": _("Ended session"),
    "session.end_all": _("Ended sessions"),
    "password.change": _("Changed password"),
    "password.give": _("Set password of user"),
    "second_factor.set": _("Set up two-step sign-in"),
    "second_factor.codes": _("Created recovery codes"),
    "second_factor.recovery": _("Used recovery code"),
    "second_factor.remove": _("Turned off two-step sign-in"),
    "identity.link": _("Linked account of sign-in provider"),
    "user.deactivate": _("Deactivated user"),
    "api_key.create": _("Created API key"),
    "api_key.revoke": _("Revoked API key"),
    "case.move": _("Moved case"),
    "case.reopen": _("Reopened case"),
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
    "user.create": _("Created user"),
    "user.change": _("Changed user"),
    "user.delete": _("Deleted user"),
    "golden_case.create": _("Created golden case"),
    "golden_case.change": _("Changed golden case"),
    "demo.load": _("Loaded demo data"),
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
