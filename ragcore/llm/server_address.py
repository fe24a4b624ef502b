"""Address and key of a model server as a request needs them: Azure wants a query and another header."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

VERSION = "api-version"  # in the query of every request to Azure
KEY_HEADER = "api-key"
AZURE_HOSTS = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """`url` ends with a slash and has no query; `query` and `headers` go with every request."""

    url: str
    query: Mapping[str, str]
    headers: Mapping[str, str] = field(repr=False)


def server_address(base_url: str, key: str) -> ServerAddress:
    """Where requests go. The query of the address is kept; a key goes in `api-key` to Azure, else as a bearer token."""
    url, _separator, text = base_url.strip().partition("?")
    query = dict(parse_qsl(text.rstrip("/"), keep_blank_values=True))
    headers: dict[str, str] = {}
    if key:
        is_azure = VERSION in query or (urlsplit(url).hostname or "").endswith(AZURE_HOSTS)
        headers = {KEY_HEADER: key} if is_azure else {"Authorization": f"Bearer {key}"}
    return ServerAddress(url=url.rstrip("/") + "/", query=query, headers=headers)
