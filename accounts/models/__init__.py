"""Tenants, people, keys and the audit log."""

from accounts.models.audit import AuditEvent
from accounts.models.keys import ApiKey
from accounts.models.people import Tenant, User, UserGroup

__all__ = ["ApiKey", "AuditEvent", "Tenant", "User", "UserGroup"]
