"""Looking for model servers on this machine, when a platform administrator wants it."""

from __future__ import annotations

from collections.abc import Collection

from accounts.errors import MissingRightError
from accounts.models import User
from accounts.roles import administers
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.model_setup import hosts_allowed
from knowledge.rights import MODELS_MANAGE
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


def is_machine_allowed() -> bool:
    """Whether registered models may be at this machine's own address."""
    return AddressPolicy.of(hosts_allowed()).covers(HOST)
