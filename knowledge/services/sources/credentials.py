"""Credentials of sources: stored encrypted, read only by runs and webhooks, never shown."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.conf import settings

from knowledge.errors import CredentialsUnreadableError, SourceSettingsError
from knowledge.models import Source

if TYPE_CHECKING:  # the library is loaded on first use
    from cryptography.fernet import Fernet

PURPOSE = b"ragsite: credentials of sources"
MIN_SECRET = 16  # characters of a webhook's secret
MAX_LENGTH = 4096
FIELDS: Mapping[str, tuple[frozenset[str], ...]] = {  # kind -> the sets of fields that it takes
    Source.Kind.WEBHOOK: (frozenset({"secret"}),),
}


def credentials_normalise(*, kind: str, credentials: Mapping[str, str]) -> Mapping[str, str]:
    """A single value without a name is the secret of a webhook, the token of others."""
    if set(credentials) != {""}:
        return credentials
    return {"secret" if kind == Source.Kind.WEBHOOK else "token": credentials[""]}


def credentials_check(*, kind: str, credentials: Mapping[str, str]) -> None:
    """Raises SourceSettingsError where a kind of source has no use for these fields, or a secret is short."""
    allowed = FIELDS.get(kind, ())
    if not allowed:
        raise SourceSettingsError("no_credentials")
    if frozenset(credentials) not in allowed:
        wanted = " or ".join(" and ".join(sorted(one)) for one in allowed)
        raise SourceSettingsError("credentials", wanted=wanted)
    if not all(0 < len(value) <= MAX_LENGTH for value in credentials.values()):
        raise SourceSettingsError("credential_length")
    if len(credentials.get("secret", "x" * MIN_SECRET)) < MIN_SECRET:
        raise SourceSettingsError("secret_length", limit=MIN_SECRET)


def credentials_encrypt(credentials: Mapping[str, str]) -> str:
    """Encrypted and authenticated (Fernet), for Source.credentials; empty for none."""
    return _fernet().encrypt(json.dumps(dict(credentials)).encode()).decode() if credentials else ""


def credentials_decrypt(stored: str) -> dict[str, str]:
    """The plain fields. Raises CredentialsUnreadableError after a change of SECRET_KEY."""
    from cryptography.fernet import InvalidToken

    if not stored:
        return {}
    try:
        plain: dict[str, str] = json.loads(_fernet().decrypt(stored.encode()))
    except InvalidToken:
        raise CredentialsUnreadableError from None
    return plain


def _fernet() -> Fernet:
    """The cipher under a key that is derived from SECRET_KEY for this purpose alone (HKDF, RFC 5869)."""
    from cryptography.fernet import Fernet
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=PURPOSE).derive(settings.SECRET_KEY.encode())
    return Fernet(base64.urlsafe_b64encode(derived))
