"""Origins of pages that may show a chat: scheme, host and port, exactly as browsers write them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from contextlib import suppress
from urllib.parse import urlsplit

from chat.embeds.errors import EmbedSettingsError

MOST_ORIGINS = 20
DEFAULT_PORTS = {"http": 80, "https": 443}
# a policy is a header that semicolons, commas and spaces divide: nothing but the letters of a host may get there
_HOST = re.compile(r"(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*")


def origin_parse(text: str) -> str:
    """The origin in its one form: lower case, IDNA, without a default port. Raises EmbedSettingsError.

    http only for this machine and private addresses, where nobody else can stand between page and person.
    """
    line = text.strip()
    try:
        parts = urlsplit(line)
        port, host = parts.port, (parts.hostname or "").rstrip(".")
    except ValueError:
        raise EmbedSettingsError("origin", origin=line) from None
    extra = parts.path not in ("", "/") or parts.query or parts.fragment or parts.username is not None
    if parts.scheme not in DEFAULT_PORTS or not host or extra or "?" in line or "#" in line or port == 0:
        raise EmbedSettingsError("origin", origin=line)
    name = _host(host)
    if name is None:
        raise EmbedSettingsError("origin", origin=line)
    if parts.scheme == "http" and not _is_near(host):
        raise EmbedSettingsError("plain", origin=line)
    suffix = "" if port in (None, DEFAULT_PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{name}{suffix}"


def origins_parse(lines: Iterable[str]) -> list[str]:
    """Each origin once, in the order in which they stand. Raises EmbedSettingsError."""
    origins = list(dict.fromkeys(origin_parse(line) for line in lines if line.strip()))
    if not origins:
        raise EmbedSettingsError("no_origin")
    if len(origins) > MOST_ORIGINS:
        raise EmbedSettingsError("many_origins", limit=MOST_ORIGINS)
    return origins


def _host(host: str) -> str | None:
    """The name or address as it stands in an origin; None for what is neither."""
    with suppress(ValueError):
        address = ipaddress.ip_address(host)
        return str(address) if address.version == 4 else None  # policies of browsers know no IPv6 addresses
    with suppress(UnicodeError):
        name = host.encode("idna").decode().lower()
        return name if _HOST.fullmatch(name) else None
    return None


def _is_near(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    with suppress(ValueError):
        address = ipaddress.ip_address(host)
        return address.is_loopback or address.is_private
    return False
