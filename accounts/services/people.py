"""Making tenants and users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction

from accounts.errors import NameTakenError, NotAllowedError
from accounts.models import Tenant, User, UserGroup
from accounts.services.audit import audit_record

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
