"""Users, tenants, API keys and the audit log."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.access_events import access_ended_publish
from accounts.audit.events import event_add
from accounts.errors import (
    KeySettingsError,
    MissingRightError,
    MissingScopeError,
    NameTakenError,
    NotAllowedError,
    NotFoundError,
)
from accounts.key_scopes import ALL_SCOPES, EVERYDAY_SCOPES, OF_ADMINISTRATORS
from accounts.models import ApiKey, AuditEvent, Tenant, User, UserGroup
from accounts.selectors import key_digest, may_give_keys_scope

PROFILE_FIELDS = ("department", "product", "role", "interests")

PREFIX = "rs_"


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
    can_create_sets: bool = False,
    service_owner: str | None = None,
) -> User:
    """Create a user; a new tenant name creates the tenant (platform administrators only).

    `service_owner`: name of a person of the same tenant; then the user is a service account, which has no password.
    Raises NameTakenError, NotAllowedError, NotFoundError.
    """
    home = _tenant_for(actor=actor, name=tenant)
    values = {key: value for key, value in (profile or {}).items() if key in PROFILE_FIELDS}
    user = User(username=username, tenant=home, clearance=clearance, can_create_sets=can_create_sets, **values)
    if service_owner:
        user.is_service, user.service_owner = True, _service_owner(home, service_owner)
    if password and not user.is_service:
        user.set_password(password)
    else:
        user.set_unusable_password()
    try:
        with transaction.atomic():  # the constraint decides, also between two requests
            user.save()
    except IntegrityError as error:
        raise NameTakenError("username", username=username) from error
    user.user_groups.set([UserGroup.objects.get_or_create(tenant=home, name=name)[0] for name in groups])
    audit_record(
        actor=actor,
        action="user.create",
        target=username,
        tenant=home.name,
        clearance=clearance,
        **({"service_owner": service_owner} if service_owner else {}),
    )
    return user


def _service_owner(home: Tenant, username: str) -> User:
    owner = User.objects.filter(username=username, tenant=home, is_active=True, is_service=False).first()
    if owner is None:
        raise NotFoundError("person")
    return owner


def _tenant_for(*, actor: User, name: str | None) -> Tenant:
    if name is None or name == actor.tenant.name:
        return actor.tenant
    if not (actor.is_superuser and actor.tenant.is_default):
        raise NotAllowedError("users_of_others")
    return Tenant.objects.get_or_create(name=name)[0]


@transaction.atomic
def api_key_create(
    *,
    user: User,
    name: str,
    actor: User | None = None,
    scopes: Sequence[str] | None = None,
    expires: datetime | None = None,
    requests_per_minute: int | None = None,
    through: ApiKey | None = None,
) -> tuple[ApiKey, str]:
    """A new key and its secret, which is not stored and cannot be shown again.

    `actor`: who makes it; None: somebody at the machine itself. `scopes` None: the everyday ones. `through`: the key
    with which it is made; the new one has no more scopes and lives no longer.
    Raises MissingRightError where somebody else than an administrator gives the scope `keys` or `directory`,
    MissingScopeError, KeySettingsError.
    """
    chosen = _scopes_for(actor=actor, scopes=scopes, through=through)
    if through is not None and through.expires is not None:
        expires = min(expires or through.expires, through.expires)
    if expires is not None and expires <= timezone.now():
        raise KeySettingsError("expired")
    secret = PREFIX + secrets.token_urlsafe(32)
    row = ApiKey.objects.create(
        user=user,
        name=name,
        prefix=secret[:8],
        digest=key_digest(secret),
        scopes=chosen,
        expires=expires,
        requests_per_minute=requests_per_minute,
    )
    details = {"key": row.prefix, "name": name, "scopes": chosen, "expires": expires and expires.isoformat()}
    audit_record(actor=actor or user, action="api_key.create", target=user.username, **details)
    return row, secret


def _scopes_for(*, actor: User | None, scopes: Sequence[str] | None, through: ApiKey | None) -> list[str]:
    """The scopes of a new key in the order of their declaration."""
    allowed = ALL_SCOPES if through is None else through.scopes
    if scopes is None:
        return [scope.value for scope in EVERYDAY_SCOPES if scope in allowed]
    chosen = [scope.value for scope in ALL_SCOPES if scope in scopes]
    if not chosen:
        raise KeySettingsError("no_scope")
    for scope in OF_ADMINISTRATORS.intersection(chosen) if actor is not None and not may_give_keys_scope(actor) else ():
        raise MissingRightError("give_scope", scope=scope)
    if beyond := [scope for scope in chosen if scope not in allowed]:
        raise MissingScopeError("given", scope=beyond[0])
    return chosen


@transaction.atomic
def api_key_revoke(*, key: ApiKey, actor: User) -> None:
    """Make a key useless at once, and end its streams; revoking twice changes nothing."""
    if key.revoked is None:
        key.revoked = timezone.now()
        key.save(update_fields=["revoked"])
        access_ended_publish(user_id=key.user_id, key=key.pk)
        audit_record(actor=actor, action="api_key.revoke", target=key.user.username, key=key.prefix)


def audit_record(*, actor: User, action: str, target: str, **data: Any) -> AuditEvent:
    """Add one row to the audit log of the actor's tenant."""
    return event_add(actor=actor, action=action, target=target, data=data)
