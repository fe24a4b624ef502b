"""What administrators do with embedded chats: settings, keys, removal. Each act is recorded."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction

from accounts.errors import MissingRightError, NotFoundError
from accounts.models import User
from accounts.roles import EMBEDS_MANAGE, administers
from accounts.scope import Scope
from accounts.services import audit_record
from chat.embeds.errors import EmbedSettingsError
from chat.embeds.keys import public_key, secret_key, secret_make
from chat.embeds.origins import origins_parse
from chat.embeds.sessions import sessions_end_in
from chat.models import Embed, EmbedKey
from knowledge.models import KnowledgeSet

MOST_KEYS = 2  # the new one and the one that it replaces
FIELDS = (
    *("name", "is_active", "origins", "subject", "token_seconds", "session_minutes"),
    *("title", "title_zh", "greeting", "greeting_zh", "theme", "language", "position"),
)

AUDIT_NAMES = {"origins": "pages"}  # "origins" are something else in the log


@transaction.atomic
def embed_save(*, scope: Scope, actor: User, row: Embed, sets: Sequence[KnowledgeSet]) -> Embed:
    """Store a new embedded chat, or a changed one. Open chats lose sets at once; disabled, they end.

    Raises MissingRightError, EmbedSettingsError, and NotFoundError for sets of another tenant.
    """
    embed_may_manage(scope=scope, tenant_id=row.tenant_id)
    row.origins = origins_parse(row.origins)
    if foreign := [chosen.pk for chosen in sets if chosen.tenant_id != row.tenant_id]:
        raise NotFoundError("set", set=foreign[0])
    before = Embed.objects.select_for_update().filter(pk=row.pk).values(*FIELDS).first()
    sets_before = set(row.sets.values_list("pk", flat=True)) if before else set()
    try:
        with transaction.atomic():  # the constraint decides, also between two requests
            row.save()
    except IntegrityError:
        raise EmbedSettingsError("name") from None
    row.sets.set(sets)
    _record(row, actor, before, sets_changed=sets_before != {chosen.pk for chosen in sets})
    if before and (not row.is_active or set(before["origins"]) - set(row.origins)):
        sessions_end_in(row)
    return row


def _record(row: Embed, actor: User, before: Mapping[str, Any] | None, *, sets_changed: bool) -> None:
    codes = list(row.sets.order_by("code").values_list("code", flat=True))
    if before is None:
        audit_record(actor=actor, action="embed.create", target=row.name, sets=codes, pages=row.origins)
        return
    changed = [AUDIT_NAMES.get(name, name) for name in FIELDS if before[name] != getattr(row, name)]
    changed += ["sets"] * sets_changed
    if changed:
        audit_record(actor=actor, action="embed.change", target=row.name, fields=changed, sets=codes, pages=row.origins)


@transaction.atomic
def embed_delete(*, scope: Scope, actor: User, row: Embed) -> None:
    """Remove a chat with its keys; open ones end. Conversations stay with their people. Raises MissingRightError."""
    embed_may_manage(scope=scope, tenant_id=row.tenant_id)
    sessions_end_in(row)
    audit_record(actor=actor, action="embed.delete", target=row.name, pages=row.origins)
    row.delete()


@transaction.atomic
def embed_secret_add(*, scope: Scope, actor: User, row: Embed) -> tuple[EmbedKey, str]:
    """A new key for HS256 and its secret, which is stored sealed and never shown again.

    Raises MissingRightError, EmbedSettingsError.
    """
    secret = secret_make()
    return _key_add(scope, actor, row, secret_key(secret)), secret


@transaction.atomic
def embed_public_key_add(*, scope: Scope, actor: User, row: Embed, algorithm: str, pem: str) -> EmbedKey:
    """A public key of the page's server. Raises MissingRightError, EmbedSettingsError."""
    return _key_add(scope, actor, row, public_key(algorithm, pem))


def _key_add(scope: Scope, actor: User, row: Embed, key: EmbedKey) -> EmbedKey:
    embed_may_manage(scope=scope, tenant_id=row.tenant_id)
    Embed.objects.select_for_update().get(pk=row.pk)  # two requests at once do not make three keys
    fingerprints: Collection[str] = row.keys.values_list("fingerprint", flat=True)
    if key.fingerprint in fingerprints:
        raise EmbedSettingsError("same_key")
    if len(fingerprints) >= MOST_KEYS:
        raise EmbedSettingsError("two_keys")
    key.embed = row
    key.save(force_insert=True)
    audit_record(actor=actor, action="embed.key_add", target=row.name, embed_key=str(key))
    return key


@transaction.atomic
def embed_key_remove(*, scope: Scope, actor: User, row: Embed, key_id: int) -> EmbedKey:
    """Tokens that are signed with this key count no more, and chats that they began end.

    Raises MissingRightError, and NotFoundError for a key that is gone.
    """
    embed_may_manage(scope=scope, tenant_id=row.tenant_id)
    key = row.keys.filter(pk=key_id).first()
    if key is None:
        raise NotFoundError("embed_key")
    sessions_end_in(row, key=key)
    audit_record(actor=actor, action="embed.key_remove", target=row.name, embed_key=str(key))
    key.delete()
    return key


def embed_may_manage(*, scope: Scope, tenant_id: int) -> None:
    """Administrators of the tenant: whoever has a key can speak as any of its people. Raises MissingRightError."""
    of_tenant = scope.administers == "everything" or scope.tenant_id == tenant_id
    if not (administers(scope=scope, doing=EMBEDS_MANAGE) and of_tenant):
        raise MissingRightError("manage_embeds")
