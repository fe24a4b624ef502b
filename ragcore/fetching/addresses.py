"""Which hosts and addresses may be fetched: public ones, and those that the operator names.

The check is on the address that is connected to, not on the name, because a name may mean another address a moment
later (DNS rebinding), and because one address has many spellings (decimal, octal, IPv4 inside IPv6).
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import httpx

from ragcore.errors import UrlNotAllowedError, UrlUnreachableError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolver = Callable[[str, int], Sequence[str]]  # host and port -> addresses; raises OSError where there are none

MAX_URL_CHARACTERS = 4096
WEB_PORTS = (80, 443)
LAST_PORT = 65_535
FIRST_FREE_PORT = 1024  # below it, apart from the web's, other protocols answer: mail, shells, file servers

# not public, whatever their registry says: relays between IPv4 and IPv6, and addresses at which clouds keep secrets
_NEVER_PUBLIC = tuple(
    map(ip_network, ("168.63.129.16/32", "192.88.99.0/24", "::/96", "64:ff9b:1::/48", "100::/64", "fec0::/10"))
)
# not even where the operator allows the network around them
_NEVER = tuple(
    map(
        ip_network,
        ("169.254.0.0/16", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32", "fd00:ec2::254/128")
        + ("fe80::/10", "0.0.0.0/8", "::/128", "224.0.0.0/4", "ff00::/8", "255.255.255.255/32"),
    )
)
_HOST = re.compile(rb"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252})|[0-9A-Fa-f:.]{2,45}")  # a name, or IPv6
_NAT64 = ip_network("64:ff9b::/96")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressPolicy:
    """Hosts and networks that may be fetched although they are not public, e.g. a wiki of the company.

    Addresses of clouds' metadata, link-local and multicast addresses stay refused.
    """

    hosts: frozenset[str] = frozenset()  # "wiki.example.org", or ".example.org" for all below it
    networks: tuple[Network, ...] = ()

    @classmethod
    def of(cls, entries: Iterable[str]) -> AddressPolicy:
        """A policy of names and networks as an operator writes them. Raises ValueError for what is neither."""
        hosts: set[str] = set()
        networks: list[Network] = []
        for entry in filter(None, (entry.strip().lower() for entry in entries)):
            try:
                networks.append(ip_network(entry))
            except ValueError:
                if not all(part.replace("-", "").replace("_", "").isalnum() for part in entry.strip(".").split(".")):
                    raise
                hosts.add(entry.rstrip("."))
        return cls(hosts=frozenset(hosts), networks=tuple(networks))

    def permits(self, host: str, address: str) -> bool:
        """Whether a connection to this address may be made for this host."""
        plain = _plain(address)
        if plain is None or _is_in(plain, _NEVER):
            return False
        return self._names(host) or _is_in(plain, self.networks) or is_public(plain)

    def covers(self, host: str) -> bool:
        """Whether this host is among those of the policy, by its name or as an address of a network."""
        address = _plain(host.strip("[]"))
        return self._names(host) or (address is not None and _is_in(address, self.networks))

    def _names(self, host: str) -> bool:
        name = host.lower().rstrip(".")
        return name in self.hosts or any(name.endswith(entry) for entry in self.hosts if entry.startswith("."))


def is_public(address: Address) -> bool:
    """Whether an address is one of the public internet, also after unpacking an IPv4 address inside it."""
    if _is_in(address, (*_NEVER, *_NEVER_PUBLIC)) or not address.is_global or address.is_multicast:
        return False
    return all(is_public(inner) for inner in _embedded(address))


def _embedded(address: Address) -> list[IPv4Address]:
    """IPv4 addresses that an IPv6 address leads to: 6to4, Teredo, NAT64."""
    if isinstance(address, IPv4Address):
        return []
    inner = [address.sixtofour, *(address.teredo or ())]
    if address in _NAT64:
        inner.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return [inner_address for inner_address in inner if inner_address is not None]


def _plain(address: str) -> Address | None:
    """The address without its zone, IPv4 where it is only wrapped in IPv6; None for what is no address."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return (parsed.ipv4_mapped or parsed) if isinstance(parsed, IPv6Address) else parsed


def _is_in(address: Address, networks: Iterable[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


def check_url(text: str) -> httpx.URL:
    """An address that may be tried: http(s), no name and password in it, a port of the web or above 1023.

    Raises UrlNotAllowedError. The host is checked when it is connected to.
    """
    text = text.strip()
    try:
        if len(text) > MAX_URL_CHARACTERS:
            raise ValueError("too long")
        url = httpx.URL(text)
    except (httpx.InvalidURL, ValueError, TypeError) as problem:
        raise UrlNotAllowedError("not_an_address", problem=str(problem)[:200]) from problem
    if url.scheme not in ("http", "https") or not _HOST.fullmatch(url.raw_host):
        raise UrlNotAllowedError("scheme")
    if url.userinfo:
        raise UrlNotAllowedError("credentials")
    if url.port is not None and url.port not in WEB_PORTS and not FIRST_FREE_PORT <= url.port <= LAST_PORT:
        allowed = ", ".join(str(port) for port in WEB_PORTS)
        raise UrlNotAllowedError("port", port=url.port, allowed=allowed, first=FIRST_FREE_PORT, last=LAST_PORT)
    return url.copy_with(fragment=None)


def permitted_addresses(host: str, port: int, *, allow: AddressPolicy, resolve: Resolver) -> list[str]:
    """The addresses of a host that may be connected to, in the order of the resolver.

    Raises UrlUnreachableError for an unknown host, UrlNotAllowedError where it has only forbidden addresses.
    """
    try:
        resolved = list(resolve(host, port))
    except (OSError, UnicodeError) as problem:
        raise UrlUnreachableError("unknown_host", host=host) from problem
    permitted = [address for address in resolved if allow.permits(host, address)]
    if not permitted:
        raise UrlNotAllowedError(host=host)
    return permitted


def system_resolve(host: str, port: int) -> Sequence[str]:
    """Addresses by the resolver of the operating system."""
    places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(place[0]) for *_, place in places))
