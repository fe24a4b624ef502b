"""Admin page of tenants: quotas and what is used of them."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import AdministratorAdmin, admin_scope, admin_user
from accounts.models import Tenant
from accounts.roles import TENANTS_MANAGE, administers
from accounts.services import audit_record
from knowledge.services.quotas import usage_of


@admin.register(Tenant)
class TenantPageAdmin(AdministratorAdmin):
    """Organisations. Platform administrators change them; other administrators see their own."""

    tenant_path = "pk"
    list_display = ("name", "is_default", "created")
    readonly_fields: ClassVar = ("is_default", "created", "sets_used", "documents_used", "bytes_used")
    fieldsets = (
        (None, {"fields": ("name", "is_default", "created")}),
        (
            _("Quotas"),
            {
                "fields": (
                    ("max_sets", "sets_used"),
                    ("max_documents", "documents_used"),
                    ("max_megabytes", "bytes_used"),
                    "queue_share",
                )
            },
        ),
    )
    add_fieldsets = ((None, {"fields": ("name", "max_sets", "max_documents", "max_megabytes", "queue_share")}),)

    def get_fieldsets(self, request: HttpRequest, obj: Tenant | None = None) -> Any:
        """A new tenant has no usage to show."""
        return self.fieldsets if obj is not None else self.add_fieldsets

    def has_add_permission(self, request: HttpRequest) -> bool:
        return super().has_add_permission(request) and administers(scope=admin_scope(request), doing=TENANTS_MANAGE)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_add_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Tenant | None = None) -> bool:
        """Never: deleting a tenant would cascade into its documents; that wants a tool of its own."""
        return False

    def get_object(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        tenant = super().get_object(request, *args, **kwargs)
        if tenant is not None:
            tenant.usage = usage_of(scope=admin_scope(request), tenant_id=tenant.pk)
        return tenant

    def save_model(self, request: HttpRequest, obj: Tenant, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        action = "tenant.change" if change else "tenant.create"
        audit_record(actor=admin_user(request), action=action, target=obj.name, fields=form.changed_data)

    @admin.display(description=_("knowledge sets used"))
    def sets_used(self, tenant: Any) -> int:
        return int(tenant.usage.sets)

    @admin.display(description=_("documents used"))
    def documents_used(self, tenant: Any) -> int:
        return int(tenant.usage.documents)

    @admin.display(description=_("storage used"))
    def bytes_used(self, tenant: Any) -> str:
        return filesizeformat(tenant.usage.bytes)
