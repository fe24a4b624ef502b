"""Writing accounts."""

from accounts.services.audit import audit_record
from accounts.services.keys import api_key_create, api_key_revoke
from accounts.services.people import tenant_ensure_default, user_create

__all__ = ["api_key_create", "api_key_revoke", "audit_record", "tenant_ensure_default", "user_create"]
