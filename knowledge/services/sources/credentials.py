"""Credentials of sources: stored encrypted, read only by runs and webhooks, never shown."""

from __future__ import annotations

import json
from collections.abc import Mapping

from knowledge.connectors import connector_kinds
from knowledge.errors import SourceSettingsError
from knowledge.models import Source
from knowledge.sealed_text import text_open, text_seal

PURPOSE = b"ragsite: credentials of sources"
MIN_SECRET = 16  # characters of a secret that signs webhooks
MAX_LENGTH = 4096
FIELDS: Mapping[str, tuple[frozenset[str], ...]] = {  # kind -> the sets of fields that it takes
    Source.Kind.WEBHOOK: (frozenset({"secret"}),),
    **{name: kind.credential_fields for name, kind in connector_kinds().items()},
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
    if any(len(credentials.get(name, "x" * MIN_SECRET)) < MIN_SECRET for name in ("secret", "webhook")):
        raise SourceSettingsError("secret_length", limit=MIN_SECRET)


def credentials_encrypt(credentials: Mapping[str, str]) -> str:
    """Encrypted and authenticated, for Source.credentials; empty for none."""
    return text_seal(json.dumps(dict(credentials)), purpose=PURPOSE) if credentials else ""


def credentials_decrypt(stored: str) -> dict[str, str]:
    """The plain fields. Raises CredentialsUnreadableError after a change of SECRET_KEY."""
    if not stored:
        return {}
    plain: dict[str, str] = json.loads(text_open(stored, purpose=PURPOSE))
    return plain
