"""Admin pages of users, tenants, API keys and the audit log."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from accounts.access_events import access_ended_publish
from accounts.admin.base import AdministratorAdmin, admin_user, badge, is_administrator
from accounts.admin.leaving import leaving_view
from accounts.admin.pages import admin_page
from accounts.admin.person_rights import rights_view
from accounts.admin.privacy import PrivacyActions
from accounts.models import User
from accounts.people.leaving import person_delete, person_move
from accounts.selectors import person_name, roles_in_words
from accounts.services import audit_record
from accounts.sign_in.passwords import password_given
from accounts.sign_in.second_factor import second_factor_remove
from accounts.sign_in.sessions import sessions_end

RIGHTS = ("clearance", "can_create_sets", "is_active", "is_staff", "is_superuser")
PASSWORD_FIELDS = ("password", "password1", "password2", "usable_password")

admin.site.unregister(Group)  # Django's own groups give rights that nothing here asks for
admin.site.unregister([TOTPDevice, StaticDevice])  # they show secrets, and those of every tenant


class PersonForm(UserChangeForm):  # type: ignore[misc]  # the theme has no types
    """Naming an owner makes the user a service account, which has no password; without one it is a person again."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "is_active" in self.fields:
            self.fields["is_active"].help_text = _("The user was deactivated. Tick to let them sign in again.")

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
class PersonAdmin(PrivacyActions, UserAdmin, AdministratorAdmin):  # type: ignore[type-arg]
    """People: who they are, what they may see, what they work on."""

    names_for_staff = True
    form = PersonForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("person", "roles_listed", "department", "clearance", "tenant", "last_login", "state")
    list_filter = ("is_active", "is_staff", "is_service", "clearance", "tenant")
    list_select_related = ("tenant",)
    autocomplete_fields = ("service_owner",)
    readonly_fields = ("roles_shown", "leaving_link", "password_link")
    search_fields = ("username", "first_name", "last_name", "email", "department")
    filter_horizontal = ("user_groups",)
    actions = ("end_sessions", "remove_second_factor", "export_person", "erase_person")
    fieldsets = (
        (None, {"fields": ("username", "password_link", ("first_name", "last_name"), "email")}),
        (_("Work profile"), {"fields": ("department", "product", "role", "interests", "locale")}),
        (
            _("Access"),
            {
                "fields": (
                    "roles_shown",
                    "tenant",
                    "clearance",
                    "user_groups",
                    "is_active",
                    "leaving_link",
                    "must_change_password",
                )
            },
        ),
        (_("Service account"), {"fields": ("service_owner",), "classes": ("collapse",)}),
    )
    add_fieldsets = (
        (None, {"fields": ("username", "usable_password", "password1", "password2", "tenant", "clearance")}),
    )

    list_before_template = "admin/accounts/user/list_top.html"
    change_form_outer_before_template = "admin/accounts/user/top.html"

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        """Staff who only complete names find nobody by what a name does not show, such as a mail address."""
        return self.search_fields if is_administrator(request) else ("username", "first_name", "last_name")

    @admin_page("<path:object_id>/leave/", name="accounts_user_leave")
    def leave(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """What ends with a person, before it does."""
        user = self.get_object(request, unquote(object_id))
        if user is None:
            raise Http404
        return leaving_view(request, user=user)

    @admin_page("<path:object_id>/rights/", name="accounts_user_rights")
    def rights(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Roles and knowledge sets of a person."""
        user = self.get_object(request, unquote(object_id))
        if user is None:
            raise Http404
        return rights_view(request, person=user)

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        """Deactivating has a page of its own, which says what ends; only who is inactive has a box, to tick again."""
        sets = super().get_fieldsets(request, obj)
        if obj is None or not obj.is_active:
            return sets
        return [
            (name, {**options, "fields": [field for field in options["fields"] if field != "is_active"]})
            for name, options in sets
        ]

    @admin.display(description=_("name"), ordering="username")
    def person(self, user: User) -> SafeString:
        """The name of the person, and what they sign in with."""
        name = person_name(user)
        if name == user.username:
            return format_html("{}", name)
        return format_html('{} <span class="rs-quiet">{}</span>', name, user.username)

    @admin.display(description=_("roles"))
    def roles_listed(self, user: User) -> str:
        return str(_("Service account")) if user.is_service else ", ".join(roles_in_words(user))

    @badge(description=_("state"), ordering="is_active", colours={"active": "success", "inactive": "danger"})
    def state(self, user: User) -> tuple[str, str]:
        return ("active", str(_("Active"))) if user.is_active else ("inactive", str(_("Deactivated")))

    @admin.display(description=_("password"))
    def password_link(self, user: User) -> SafeString | str:
        """Whether there is one, and where another one is set; nothing of what is stored."""
        if user.is_service:
            return str(_("Service accounts have none."))
        address = reverse("admin:auth_user_password_change", args=[user.pk])
        words = _("Set another password") if user.has_usable_password() else _("Set a password")
        return format_html('<a class="rs-link" href="{}">{}</a>', address, words)

    @admin.display(description=_("deactivate"))
    def leaving_link(self, user: User) -> str:
        """To the page that says what ends."""
        if not user.is_active:
            return str(_("Keys, service accounts, sources and links that have ended do not come back."))
        address = reverse("admin:accounts_user_leave", args=[user.pk])
        return format_html('<a class="rs-link" href="{}">{}</a>', address, _("Deactivate and hand over…"))

    @admin.display(description=_("roles"))
    def roles_shown(self, user: User) -> SafeString:
        """What the person is, and where that is changed."""
        address, words = reverse("admin:accounts_user_rights", args=[user.pk]), _("Change roles and knowledge sets…")
        return format_html('{} · <a class="rs-link" href="{}">{}</a>', ", ".join(roles_in_words(user)), address, words)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        stored = User.objects.get(pk=obj.pk) if change else None
        before = _rights(stored) if stored is not None else {}
        if stored is not None and stored.tenant_id != obj.tenant_id:
            person_move(user=stored, actor=admin_user(request))
        request._rights_before = before  # type: ignore[attr-defined]  # for save_related, when groups are known, too
        super().save_model(request, obj, form, change)
        if not change and obj.has_usable_password():
            password_given(user=obj, actor=admin_user(request))

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """The event with the rights before and after, and the names of other fields."""
        super().save_related(request, form, formsets, change)
        if change and "tenant" in form.changed_data:  # the form still held the groups of the old one
            groups = form.instance.user_groups
            groups.remove(*groups.exclude(tenant=form.instance.tenant_id))
        before, after = request._rights_before, _rights(form.instance)  # type: ignore[attr-defined]
        audit_record(
            actor=admin_user(request),
            action="user.change" if change else "user.create",
            target=form.instance.username,
            fields=[name for name in form.changed_data if name not in PASSWORD_FIELDS],
            changes={name: [before.get(name), value] for name, value in after.items() if before.get(name) != value},
        )

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        """Django's page; a new password ends the person's sessions, and its owner is asked for another one.

        Service accounts have none.
        """
        user = self.get_object(request, unquote(id))
        if isinstance(user, User) and user.is_service:
            raise PermissionDenied
        before = user.password if isinstance(user, User) else ""
        response: HttpResponse = super().user_change_password(request, id, form_url)
        if isinstance(user, User):
            user.refresh_from_db()
            if user.password != before:
                password_given(user=user, actor=admin_user(request))
        return response

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
        person_delete(user=obj, actor=admin_user(request))

    @transaction.atomic
    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """All or none."""
        for user in queryset:
            self.delete_model(request, user)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        """Open connections of people who are deleted end, too."""
        for user in queryset:
            audit_record(actor=admin_user(request), action="user.delete", target=user.username)
            access_ended_publish(user_id=user.pk, with_keys=True)
        return super().log_deletions(request, queryset)


def _rights(user: User) -> dict[str, Any]:
    """What decides on what a person may see and do."""
    plain = {name: getattr(user, name) for name in RIGHTS}
    groups = {name: sorted(getattr(user, name).values_list("name", flat=True)) for name in ("user_groups", "groups")}
    return {**plain, "tenant": user.tenant.name, **groups}
