"""Reading accounts: who is this, and what may they see."""

from __future__ import annotations

import hashlib
from typing import Literal

from django.utils import timezone

from accounts.errors import NotAuthenticatedError, NotFoundError
from accounts.models import ApiKey, User
from accounts.scope import Scope


def scope_for(user: User) -> Scope:
    """The rights of a user at this moment."""
    return Scope(
        tenant_id=user.tenant_id,
        user_id=user.pk,
        clearance=user.clearance,
        group_ids=frozenset(user.user_groups.values_list("pk", flat=True)),
        administers=_administers(user),
    )


def _administers(user: User) -> Literal["nothing", "tenant", "everything"]:
    if not (user.is_staff and user.is_superuser):
        return "nothing"
    return "everything" if user.tenant.is_default else "tenant"


def api_key_user(key: str) -> User:
    """The active user for whom this key acts. Raises NotAuthenticatedError."""
    row = (
        ApiKey.objects.select_related("user__tenant")
        .filter(digest=key_digest(key), revoked=None, user__is_active=True)
        .first()
    )
    if row is None:
        raise NotAuthenticatedError
    _note_use(row)
    return row.user


def key_digest(key: str) -> str:
    """SHA-256 of a key as stored. Keys have 256 random bits, so a slow hash would add nothing."""
    return hashlib.sha256(key.encode()).hexdigest()


def _note_use(row: ApiKey) -> None:
    """Remember the day of use without a write for each request."""
    now = timezone.now()
    if row.last_used is None or (now - row.last_used).total_seconds() > 3600:
        ApiKey.objects.filter(pk=row.pk).update(last_used=now)


def tenant_check(*, user: User, tenant_id: str | None) -> None:
    """A tenant in a request, by name or number, is compared, never trusted. Raises NotFoundError for another one."""
    if tenant_id is not None and tenant_id not in (user.tenant.name, str(user.tenant_id)):
        raise NotFoundError("tenant")
