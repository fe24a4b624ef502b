"""The registry of chat models: a platform administrator changes it, every process follows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import httpx
from django.db import IntegrityError, transaction

from accounts.errors import MissingRightError, NameTakenError
from accounts.models import User
from accounts.roles import administers
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.model_errors import ModelInvalidError
from knowledge.model_setup import KEY_PURPOSE, environment_models, registry_changed
from knowledge.model_tokenizers import tokenizer_check
from knowledge.models import LanguageModel, ModelPurpose, ModelServer, SearchModel
from knowledge.rights import MODELS_MANAGE
from knowledge.sealed_text import text_seal
from ragcore.fetching.addresses import check_url

Purpose = ModelPurpose.Purpose
LIMITS = ("first_token_seconds", "between_tokens_seconds", "total_seconds")
FIELDS = ("name", "price_in", "price_out", "context_tokens", "tokenizer", *LIMITS)
OF_TEST = ("name", *LIMITS)  # what another value of makes a test out of date
MAX_KEY = 4096
UNTESTED: Mapping[str, Any] = {"tested": None, "passed": None, "test_code": "", "test_data": {}}


def model_save(
    *, scope: Scope, actor: User, model: LanguageModel, values: Mapping[str, Any], purposes: Collection[str] | None
) -> LanguageModel:
    """Store a new or changed model. A purpose that another model has goes over to this one; None: as they are.

    With another name or other limits its servers have to pass a test again before they answer. Raises
    MissingRightError, ModelInvalidError or NameTakenError.
    """
    _check_right(scope)
    is_new = model.pk is None
    stored = None if is_new else LanguageModel.objects.get(pk=model.pk)
    before = {} if stored is None else _told(stored)
    for name in FIELDS:
        if name in values:
            setattr(model, name, values[name])
    model_check(name=model.name, price_in=model.price_in, price_out=model.price_out)
    tokenizer_check(model.tokenizer)
    try:
        with transaction.atomic():
            model.save()
            if stored is not None and any(getattr(stored, name) != getattr(model, name) for name in OF_TEST):
                model.servers.update(**UNTESTED)
            if purposes is not None:
                _purposes_put(model, purposes)
            registry_changed()
    except IntegrityError:
        raise NameTakenError(name=model.name) from None
    after = _told(model)
    changed = {name: after.get(name) for name in {**before, **after} if before.get(name) != after.get(name)}
    if changed:
        action = "model.create" if is_new else "model.change"
        former = {name: before.get(name) for name in changed} if before else {}
        audit_record(actor=actor, action=action, target=model.name, before=former, after=changed)
    return model


def model_check(*, name: str, price_in: Any, price_out: Any) -> None:
    """Raises ModelInvalidError for what cannot be stored."""
    if not name or any(character.isspace() for character in name):
        raise ModelInvalidError("name")
    if (price_in is None) != (price_out is None):
        raise ModelInvalidError("price")


def purposes_check(purposes: Collection[str], *, current: Collection[str] = ()) -> None:
    """Raises ModelInvalidError where the environment sets the model for one that the model does not hold already."""
    locked = sorted(set(purposes) & set(environment_models()) - set(current))
    if locked:
        raise ModelInvalidError("locked", purposes=", ".join(str(Purpose(purpose).label) for purpose in locked))


def model_delete(*, scope: Scope, actor: User, model: LanguageModel) -> None:
    """Remove a model with its servers and keys; what it was used for falls back to the others. MissingRightError."""
    _check_right(scope)
    details = _told(model)
    with transaction.atomic():
        model.delete()
        registry_changed()
    audit_record(actor=actor, action="model.delete", target=details["name"], before=details)


def server_save(
    *, scope: Scope, actor: User, server: ModelServer, values: Mapping[str, Any], key: str | None = None
) -> ModelServer:
    """Store a new or changed server of a model. `key`: a new one, "" removes it, None leaves it as it is.

    It answers nobody until it has passed a test with this address and key. Raises MissingRightError,
    UrlNotAllowedError or ModelInvalidError, such as for a key that would go to another host.
    """
    _check_right(scope)
    stored = ModelServer.objects.filter(pk=server.pk).first() if server.pk else None
    server_check(stored=stored, url=values["url"], key=key)
    before = {"url": stored.url, "enabled": stored.enabled} if stored else {}
    server.url, server.enabled = _plain(values["url"]), bool(values.get("enabled", True))
    if key is not None:
        server.key = text_seal(key, purpose=KEY_PURPOSE) if key else ""
    if before.get("url") != server.url or key is not None:
        for name, value in UNTESTED.items():
            setattr(server, name, value)
    try:
        with transaction.atomic():
            server.save()
            registry_changed()
    except IntegrityError:
        raise ModelInvalidError("server_twice") from None
    after = {"url": server.url, "enabled": server.enabled}
    audit_record(
        actor=actor,
        action="model.server",
        target=server.model.name,
        before=before,
        after=after,
        key="kept" if key is None else "set" if key else "removed",
    )
    return server


def server_check(*, stored: ModelServer | SearchModel | None, url: str, key: str | None) -> None:
    """Raises UrlNotAllowedError for what is no address of a server, ModelInvalidError for a key that cannot be used."""
    check_url(url)
    if key is not None and (len(key) > MAX_KEY or not key.isprintable()):
        raise ModelInvalidError("key", limit=MAX_KEY)
    if stored is not None and stored.key and key is None and _origin(stored.url) != _origin(url):
        raise ModelInvalidError("key_again")


def server_delete(*, scope: Scope, actor: User, server: ModelServer) -> None:
    """Remove a server with its key. Raises MissingRightError."""
    _check_right(scope)
    with transaction.atomic():
        server.delete()
        registry_changed()
    audit_record(actor=actor, action="model.server", target=server.model.name, before={"url": server.url}, after={})


def _purposes_put(model: LanguageModel, purposes: Collection[str]) -> None:
    current = set(model.purposes.values_list("purpose", flat=True))
    purposes_check(purposes, current=current)
    model.purposes.exclude(purpose__in=purposes).delete()
    for purpose in purposes:
        ModelPurpose.objects.update_or_create(purpose=purpose, defaults={"model": model})


def _told(model: LanguageModel) -> dict[str, Any]:
    """What the audit log says of a model."""
    prices = {name: str(value) for name in ("price_in", "price_out") if (value := getattr(model, name)) is not None}
    limits = {name: value for name in LIMITS if (value := getattr(model, name)) is not None}
    purposes = sorted(model.purposes.values_list("purpose", flat=True))
    counted = {"tokenizer": model.tokenizer} if model.tokenizer else {}
    return {
        "name": model.name,
        **prices,
        "context_tokens": model.context_tokens,
        **counted,
        **limits,
        "purposes": purposes,
    }


def _plain(url: str) -> str:
    return str(check_url(url)).rstrip("/")


def _origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port: what a key belongs to."""
    parsed = httpx.URL(url)
    return parsed.scheme, parsed.host, parsed.port


def _check_right(scope: Scope) -> None:
    if not administers(scope=scope, doing=MODELS_MANAGE):
        raise MissingRightError
