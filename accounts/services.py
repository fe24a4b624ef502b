"""Users, tenants, API keys and the audit log."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.audit.events import event_add
from accounts.errors import NameTakenError, NotAllowedError
from accounts.models import ApiKey, AuditEvent, Tenant, User, UserGroup
from accounts.selectors import key_digest

PROFILE_FIELDS = ("department", "product", "role", "interests")


def tenant_ensure_default() -> Tenant:
    """The default tenant, made if there is none."""
    tenant, _ = Tenant.objects.get_or_create(is_default=True, defaults={"name": "default"})
    return tenant


@transaction.atomic
def user_create(
    *,
    actor: User,
    username: str,
    tenant: str | None = None,
    clearance: int = 0,
    groups: Sequence[str] = (),
    profile: Mapping[str, Any] | None = None,
    password: str | None = None,
) -> User:
    """Create a user; a new tenant name creates the tenant (staff of the default tenant only).

    Raises NameTakenError, NotAllowedError.
    """
    home = _tenant_for(actor=actor, name=tenant)
    values = {key: value for key, value in (profile or {}).items() if key in PROFILE_FIELDS}
    user = User(username=username, tenant=home, clearance=clearance, **values)
    if password:
        user.set_password(password)
    else:
        user.set_unusable_password()
    try:
        with transaction.atomic():  # the constraint decides, also between two requests
            user.save()
    except IntegrityError as error:
        raise NameTakenError("username", username=username) from error
    user.user_groups.set([UserGroup.objects.get_or_create(tenant=home, name=name)[0] for name in groups])
    audit_record(actor=actor, action="user.create", target=username, tenant=home.name, clearance=clearance)
    return user


def _tenant_for(*, actor: User, name: str | None) -> Tenant:
    if name is None or name == actor.tenant.name:
        return actor.tenant
    if not (actor.is_superuser and actor.tenant.is_default):
        raise NotAllowedError("users_of_others")
    return Tenant.objects.get_or_create(name=name)[0]


PREFIX = "rs_"


@transaction.atomic
def api_key_create(*, user: User, name: str, actor: User | None = None) -> tuple[ApiKey, str]:
    """A new key and its secret, which is not stored and cannot be shown again."""
    secret = PREFIX + secrets.token_urlsafe(32)
    row = ApiKey.objects.create(user=user, name=name, prefix=secret[:8], digest=key_digest(secret))
    audit_record(actor=actor or user, action="api_key.create", target=user.username, key=row.prefix, name=name)
    return row, secret


@transaction.atomic
def api_key_revoke(*, key: ApiKey, actor: User) -> None:
    """Make a key useless at once; revoking twice changes nothing."""
    if key.revoked is None:
        key.revoked = timezone.now()
        key.save(update_fields=["revoked"])
        audit_record(actor=actor, action="api_key.revoke", target=key.user.username, key=key.prefix)


def audit_record(*, actor: User, action: str, target: str, **data: Any) -> AuditEvent:
    """Add one row to the audit log of the actor's tenant."""
    return event_add(actor=actor, action=action, target=target, data=data)
