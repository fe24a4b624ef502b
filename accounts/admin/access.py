"""Admin pages of users, groups, tenants, API keys and the audit log."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from accounts.access_events import access_ended_publish
from accounts.admin.base import AdministratorAdmin, admin_scope, admin_user
from accounts.admin.privacy import PrivacyActions
from accounts.models import ApiKey, Tenant, User, UserGroup
from accounts.services import api_key_create, api_key_revoke, audit_record
from accounts.sign_in.passwords import password_given
from accounts.sign_in.second_factor import second_factor_remove
from accounts.sign_in.sessions import sessions_end

PASSWORD_FIELDS = ("password", "password1", "password2", "usable_password")

admin.site.unregister(Group)  # Django's own groups give rights that nothing here asks for
admin.site.unregister([TOTPDevice, StaticDevice])  # they show secrets, and those of every tenant


@admin.register(User)
class PersonAdmin(PrivacyActions, UserAdmin, AdministratorAdmin):  # type: ignore[type-arg]
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
    actions = ("end_sessions", "remove_second_factor", "export_person", "erase_person")
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
        before = _rights(User.objects.get(pk=obj.pk)) if change else {}
        request._rights_before = before  # type: ignore[attr-defined]  # for save_related, when groups are known, too
        super().save_model(request, obj, form, change)
        if not change and obj.has_usable_password():
            password_given(user=obj, actor=admin_user(request))
        if change and "is_active" in form.changed_data and not obj.is_active:
            sessions_end(user=obj, actor=admin_user(request), with_keys=True)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """The event with the rights before and after, and the names of other fields."""
        super().save_related(request, form, formsets, change)
        before, after = request._rights_before, _rights(form.instance)  # type: ignore[attr-defined]
        audit_record(
            actor=admin_user(request),
            action="user.change" if change else "user.create",
            target=form.instance.username,
            fields=[name for name in form.changed_data if name not in PASSWORD_FIELDS],
            changes={name: [before.get(name), value] for name, value in after.items() if before.get(name) != value},
        )

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

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        """Open connections of people who are deleted end, too."""
        for user in queryset:
            audit_record(actor=admin_user(request), action="user.delete", target=user.username)
            access_ended_publish(user_id=user.pk, with_keys=True)
        return super().log_deletions(request, queryset)


def _rights(user: User) -> dict[str, Any]:
    """What decides on what a person may see and do."""
    plain = {name: getattr(user, name) for name in ("clearance", "is_active", "is_staff", "is_superuser")}
    groups = {name: sorted(getattr(user, name).values_list("name", flat=True)) for name in ("user_groups", "groups")}
    return {**plain, "tenant": user.tenant.name, **groups}


@admin.register(UserGroup)
class UserGroupAdmin(AdministratorAdmin):
    """Groups that share access to knowledge sets."""

    audit_name = "group"
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

    audit_name = "tenant"
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
