"""Admin page of API keys."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminSelectWidget

from accounts.admin.base import AdministratorAdmin, admin_user
from accounts.admin.pages import page_response
from accounts.key_forms import LifetimeField, ScopesField
from accounts.key_scopes import KeyScope
from accounts.models import ApiKey
from accounts.services import api_key_create, api_key_revoke


class ApiKeyForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new key; administrators may give it every scope."""

    scopes = ScopesField(widget=UnfoldAdminCheckboxSelectMultipleWidget)
    expires = LifetimeField(widget=UnfoldAdminSelectWidget)

    class Meta:
        model = ApiKey
        fields: ClassVar = ["user", "name", "scopes", "expires", "requests_per_minute"]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        field: Any = self.fields["scopes"]
        field.offer(KeyScope)


@admin.register(ApiKey)
class ApiKeyAdmin(AdministratorAdmin):
    """Keys are made and revoked, never edited; the secret is shown on the page that follows its creation only."""

    tenant_path = "user__tenant"
    form = ApiKeyForm
    list_display = ("name", "user", "prefix", "scopes_shown", "expires", "last_used", "revoked")
    list_filter = (("revoked", admin.EmptyFieldListFilter), "expires")
    list_select_related = ("user",)
    search_fields = ("name", "prefix", "user__username")
    fields = ("user", "name", "scopes", "expires", "requests_per_minute")
    actions = ("revoke",)

    def has_change_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        return False

    @admin.display(description=_("scopes"))
    def scopes_shown(self, key: ApiKey) -> str:
        return ", ".join(key.scope_labels)

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        row, secret = api_key_create(actor=admin_user(request), **form.cleaned_data)
        obj.pk, obj.prefix, obj.digest = row.pk, row.prefix, row.digest
        obj._secret = secret  # type: ignore[attr-defined]

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None) -> HttpResponse:
        """Show the secret in this response, not in a message, which would be stored in a cookie."""
        context = {
            "title": _("API key created"),
            "key": obj,
            "secret": obj._secret,  # type: ignore[attr-defined]
        }
        return page_response(request, "admin/accounts/apikey/created.html", context)

    @admin.action(description=_("Revoke: these keys stop working at once"))
    def revoke(self, request: HttpRequest, rows: QuerySet[ApiKey]) -> None:
        keys = list(rows.select_related("user"))
        for key in keys:
            api_key_revoke(key=key, actor=admin_user(request))
        text = ngettext("%(count)d key is revoked.", "%(count)d keys are revoked.", len(keys))
        messages.success(request, text % {"count": len(keys)})
