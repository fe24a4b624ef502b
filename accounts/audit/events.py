"""Adding events to the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from accounts.models import AuditEvent, User


def event_add(
    *, actor: User | None, action: str, target: str, data: Mapping[str, Any], tenant_id: int | None = None
) -> AuditEvent:
    """One row in the log of a tenant: the given one, else the actor's; one of the two is needed.

    The actor's name is copied: the row says who it was after the account is gone.
    """
    home = cast(User, actor).tenant_id if tenant_id is None else tenant_id
    return AuditEvent.objects.create(
        tenant_id=home,
        actor=actor,
        actor_name=actor.username if actor else "",
        action=action,
        target=target[:256],
        data=dict(data),
    )
