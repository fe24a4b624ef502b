"""The servers of models: where they are, how a client reaches them, and what they say of themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ragcore.checked_hosts import Permitted
from ragcore.client_registry import ClientSettings
from ragcore.fetching.addresses import AddressPolicy, permitted_addresses, system_resolve
from ragcore.llm.model_profile import UNTESTED, ModelProfile
from ragcore.llm.probe import MAX_SECONDS, SECONDS, ProbeResult, listing_of, probe_chat
from ragcore.model_limits import DEFAULT_LIMITS, ModelLimits
from ragcore.ports import TokenCounter

ANYWHERE = AddressPolicy.of(["0.0.0.0/0", "::/0"])
MODEL_NAMES = ("reported", "listed")  # fields of a test with names that servers give to the model


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One server of a model."""

    url: str
    key: str = field(default="", repr=False)
    hosts: tuple[str, ...] | None = None  # private hosts that may be connected to; None: any, the operator named it
    identity: str = ""  # by which it is known where address and key change with each start; "": by these

    @property
    def known_by(self) -> tuple[str, ...]:
        """What makes it another server."""
        return (self.identity,) if self.identity else (self.url, self.key, *(self.hosts or ()))


def client_settings(
    endpoint: Endpoint,
    limits: ModelLimits = DEFAULT_LIMITS,
    profile: ModelProfile = UNTESTED,
    tokens: TokenCounter | None = None,
) -> ClientSettings:
    """How a client reaches one server; a registered one only at addresses that are public or allowed.

    `tokens`: counts what the server does not.
    """
    return ClientSettings(
        base_url=endpoint.url,
        api_key=endpoint.key,
        limits=limits,
        permitted=permitted_at(endpoint),
        left_out=profile.left_out,
        thinks_first=profile.thinks_first,
        tokens=tokens,
    )


def permitted_at(endpoint: Endpoint) -> Permitted | None:
    """The addresses of a host that may be connected to; None: any, because the operator named the server."""
    if endpoint.hosts is None:
        return None
    return partial(permitted_addresses, allow=AddressPolicy.of(endpoint.hosts), resolve=system_resolve)


def probed_at(endpoint: Endpoint, spec_name: str, limits: ModelLimits) -> ProbeResult:
    """What one server of a model says to a short question, in the time that its limits give it."""
    seconds = min(max(SECONDS, limits.first_token_seconds or 0.0), MAX_SECONDS)
    permitted = permitted_at(endpoint) or _anywhere
    result = probe_chat(endpoint.url, endpoint.key, spec_name, permitted=permitted, seconds=seconds)
    return replace(result, data=without_key(result.data, endpoint.key))


def listed_at(endpoint: Endpoint, spec_name: str) -> str:
    """How a server lists a model now, see `listed_model`; "" where it does not."""
    permitted = permitted_at(endpoint) or _anywhere
    return listing_of(endpoint.url, endpoint.key, spec_name, permitted=permitted)


def without_key(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The data without the key, which some servers repeat in their errors; names of models may contain a short one."""
    return {
        name: value.replace(key, "…") if key and isinstance(value, str) and name not in MODEL_NAMES else value
        for name, value in data.items()
    }


def _anywhere(host: str, port: int) -> list[str]:
    """Addresses of a server that the operator has named."""
    return permitted_addresses(host, port, allow=ANYWHERE, resolve=system_resolve)
