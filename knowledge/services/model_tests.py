"""Testing a model at its servers: what failed, in words (D42)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.errors import MissingRightError
from accounts.models import User
from accounts.roles import administers
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.model_errors import ModelInvalidError
from knowledge.model_registry import permitted_at
from knowledge.model_setup import Endpoint, endpoint_of, environment_models, hosts_allowed
from knowledge.models import LanguageModel, ModelPurpose
from knowledge.rights import MODELS_MANAGE
from ragcore.fetching.addresses import AddressPolicy, permitted_addresses, system_resolve
from ragcore.llm.probe import SECONDS, ProbeResult, probe_chat

Purpose = ModelPurpose.Purpose
MOST_AT_ONCE = 8
ANYWHERE = AddressPolicy.of(["0.0.0.0/0", "::/0"])
KEY_UNREADABLE = "key_unreadable"  # besides the codes of ragcore.llm.probe

# What a test says, by its code. Placeholders: host, port, model, status, said, seconds.
SENTENCES: Mapping[str, Any] = {
    "ok": _("It answers (%(seconds)s s)."),
    "address": _("The address is not one of a web server. It begins with http:// or https://."),
    "not_allowed": _(
        "%(host)s has a private address. Allow this host for the default tenant under “Folders and hosts”, "
        "or name it in FETCH_ALLOWED_HOSTS."
    ),
    "name_unresolved": _("The name %(host)s cannot be resolved. Check its spelling, and the name server."),
    "connection_refused": _(
        "No connection to %(host)s, port %(port)s: nothing listens there, or a firewall is between."
    ),
    "tls": _("The certificate of %(host)s cannot be verified, or the server does not speak TLS on port %(port)s."),
    "timeout": _("No answer within the time. The server may be loading the model; test again in a minute."),
    "lost": _("The server closed the connection before it answered."),
    "key_refused": _("The server refuses the key (status %(status)s)."),
    "path_unknown": _(
        "The server does not know this address (status %(status)s). Most addresses of model servers end with /v1."
    ),
    "model_unknown": _("The server does not know the model “%(model)s”."),
    "busy": _("The server wants fewer requests (status 429), or the quota of the key is used up."),
    "rejected": _("The server refuses the request (status %(status)s): %(said)s"),
    "server_failed": _("The server has a fault (status %(status)s): %(said)s"),
    "redirected": _("The server sends us to another address (status %(status)s). Enter that one."),
    "nonsense": _("What answers is not an OpenAI-compatible model server: %(said)s"),
    "silent": _("The model answers without a word."),
    KEY_UNREADABLE: _("The stored key cannot be read since SECRET_KEY has changed. Enter it again."),
}
KNOWS = _("It has: %(models)s.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """The outcome at one server."""

    url: str
    code: str
    sentence: str

    @property
    def is_ok(self) -> bool:
        return self.code == "ok"


def model_test(*, scope: Scope, actor: User, model: LanguageModel) -> list[Tested]:
    """Ask all servers of a model that are in use, at once, and keep what came of it. Takes up to 40 seconds.

    Call outside of transactions. Raises MissingRightError, or ModelInvalidError where there is no server.
    """
    _check_right(scope)
    servers = list(model.servers.filter(enabled=True))
    if not servers:
        raise ModelInvalidError("no_server")
    hosts = hosts_allowed()
    found = _probed(model.name, [endpoint_of(server, hosts) for server in servers])
    for server, result in zip(servers, found, strict=True):
        server.tested, server.test_code, server.test_data = timezone.now(), result[0], dict(result[1])
        server.save(update_fields=["tested", "test_code", "test_data"])
    outcome = [_tested(server.url, *result) for server, result in zip(servers, found, strict=True)]
    audit_record(actor=actor, action="model.test", target=model.name, codes={one.url: one.code for one in outcome})
    return outcome


def environment_model_test(*, scope: Scope, actor: User, purpose: str) -> list[Tested]:
    """The same for a model that the environment sets; nothing is kept.

    Raises MissingRightError, or ModelInvalidError where the environment sets none for the purpose.
    """
    _check_right(scope)
    spec = environment_models().get(purpose)
    if spec is None:
        raise ModelInvalidError("no_server")
    found = _probed(spec.name, spec.endpoints)
    outcome = [_tested(one.url, *result) for one, result in zip(spec.endpoints, found, strict=True)]
    audit_record(actor=actor, action="model.test", target=spec.name, codes={one.url: one.code for one in outcome})
    return outcome


def tested_sentence(code: str, data: Mapping[str, Any]) -> str:
    """What a test found, in the language of the reader."""
    if code not in SENTENCES:
        return code
    shown = {"seconds": "", "host": "", "port": "", "model": "", "status": "", "said": "–", **data}
    words = str(SENTENCES[code]) % shown
    models: Sequence[str] = data.get("models") or ()
    return f"{words} {str(KNOWS) % {'models': ', '.join(models)}}" if code == "model_unknown" and models else words


def _probed(name: str, endpoints: Sequence[Endpoint | None]) -> list[tuple[str, Mapping[str, Any]]]:
    """Code and data of each; None is a server whose key cannot be read."""

    def ask(endpoint: Endpoint | None) -> tuple[str, Mapping[str, Any]]:
        if endpoint is None:
            return KEY_UNREADABLE, {}
        result: ProbeResult = probe_chat(
            endpoint.url, endpoint.key, name, permitted=permitted_at(endpoint) or _anywhere, seconds=SECONDS
        )
        return result.code, without_key(result.data, endpoint.key)

    with ThreadPoolExecutor(max_workers=MOST_AT_ONCE) as threads:
        return list(threads.map(ask, endpoints))


def without_key(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The data without the key, which some servers repeat in their errors."""
    return {name: value.replace(key, "…") if key and isinstance(value, str) else value for name, value in data.items()}


def _anywhere(host: str, port: int) -> list[str]:
    """Addresses of a server that the operator has named."""
    return permitted_addresses(host, port, allow=ANYWHERE, resolve=system_resolve)


def _tested(url: str, code: str, data: Mapping[str, Any]) -> Tested:
    return Tested(url=url, code=code, sentence=tested_sentence(code, data))


def _check_right(scope: Scope) -> None:
    if not administers(scope=scope, doing=MODELS_MANAGE):
        raise MissingRightError
