"""Looking for model servers on this machine, when a platform administrator wants it."""

from __future__ import annotations

from collections.abc import Collection

import httpx

from accounts.errors import MissingRightError, NotAllowedError
from accounts.models import Tenant, User
from accounts.roles import administers
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.errors import UnknownTenantError
from knowledge.model_setup import hosts_allowed
from knowledge.models import LanguageModel, ModelServer, SourcePlace
from knowledge.rights import MODELS_MANAGE, PLACES_MANAGE
from knowledge.services.places import place_save
from ragcore.fetching.addresses import AddressPolicy
from ragcore.llm import local_servers
from ragcore.llm.local_servers import HOST, LocalServer


def servers_discover(*, scope: Scope, actor: User, own_ports: Collection[int] = ()) -> list[LocalServer]:
    """Model servers that answer on this machine now. `own_ports`: where this product itself answers.

    Raises MissingRightError.
    """
    if not administers(scope=scope, doing=MODELS_MANAGE):
        raise MissingRightError
    ports = [port for port in local_servers.PORTS if port not in own_ports]
    servers = local_servers.local_servers(ports)
    audit_record(actor=actor, action="model.discover", target=HOST, servers=[server.url for server in servers])
    return servers


def may_allow_hosts(*, scope: Scope) -> bool:
    """Whether the person may allow private addresses."""
    return administers(scope=scope, doing=PLACES_MANAGE)


def host_allow(*, scope: Scope, actor: User, host: str) -> None:
    """Allow model servers at a host with a private address; owners get no sources there by it.

    A host that is allowed already stays as it is. Raises NotAllowedError, PlaceInvalidError, UnknownTenantError.
    """
    if not may_allow_hosts(scope=scope):
        raise NotAllowedError
    tenant = Tenant.objects.filter(is_default=True).first()
    if tenant is None:
        raise UnknownTenantError("name", tenant="")
    if AddressPolicy.of(hosts_allowed()).covers(host):
        return
    values = {"tenant": tenant, "kind": SourcePlace.Kind.HOST, "location": host, "for_owners": False}
    place_save(scope=scope, actor=actor, place=SourcePlace(), values=values)


def hosts_to_allow(model: LanguageModel) -> list[str]:
    """Hosts of the servers of a model whose latest test found that nobody has allowed them."""
    servers = model.servers.filter(enabled=True, test_code="not_allowed")
    return sorted({httpx.URL(server.url).host for server in servers})


def models_at(url: str) -> dict[str, int]:
    """Registered models of a server: name to primary key."""
    rows = ModelServer.objects.filter(url=url).values_list("model__name", "model_id")
    return dict(rows)


def is_machine_allowed() -> bool:
    """Whether registered models may be at this machine's own address."""
    return AddressPolicy.of(hosts_allowed()).covers(HOST)
