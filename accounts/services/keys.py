"""Making and revoking API keys."""

from __future__ import annotations

import secrets

from django.db import transaction
from django.utils import timezone

from accounts.models import ApiKey, User
from accounts.selectors import key_digest
from accounts.services.audit import audit_record

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
