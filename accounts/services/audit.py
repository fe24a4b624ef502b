"""The audit log."""

from __future__ import annotations

from typing import Any

from accounts.models import AuditEvent, User


def audit_record(*, actor: User, action: str, target: str, **data: Any) -> AuditEvent:
    """Add one row to the audit log of the actor's tenant."""
    return AuditEvent.objects.create(
        tenant_id=actor.tenant_id, actor=actor, action=action, target=target[:256], data=data
    )
