"""API keys and the audit log."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.admin.base import AdministratorAdmin, ReadOnlyMixin, admin_user
from accounts.models import ApiKey, AuditEvent
from accounts.services import api_key_create, api_key_revoke


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


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyMixin, AdministratorAdmin):
    """Who did what to whose access."""

    list_display = ("action", "target", "actor", "at", "tenant")
    list_filter = ("action", "at")
    list_select_related = ("actor", "tenant")
    search_fields = ("target", "action", "actor__username")
    date_hierarchy = "at"
    fields = (("action", "target"), ("actor", "at"), "tenant", "details_shown")
    readonly_fields = ("details_shown",)

    @admin.display(description=_("details"))
    def details_shown(self, event: AuditEvent) -> SafeString:
        return format_html("<pre>{}</pre>", json.dumps(event.data, ensure_ascii=False, indent=2))
