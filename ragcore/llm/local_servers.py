"""Looks for model servers on this machine, and asks those that answer what they have.

Only the loopback address and the ports that model servers usually have are connected to, with GET, without following
redirects and without a proxy. Nothing is sent but the addresses.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal

import httpx

from ragcore.client_registry import tls_context
from ragcore.server_words import one_line

HOST = "127.0.0.1"
PORTS = (11434, 8000, 8080, 1234, 9100)
SECONDS = 3.0  # for all that one server is asked
CONNECT_SECONDS = 0.5
MAX_BYTES = 1024 * 1024  # of an answer
MAX_MODELS = 50  # of a server; `LocalServer.more` counts the others
MAX_CHARACTERS = 128  # of a name

ServerKind = Literal["ollama", "llama.cpp", "vllm", "sglang", "lmstudio", "tgi", ""]
_OWNERS: Mapping[str, ServerKind] = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llama.cpp", "library": "ollama"}


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model of a server. `context_tokens`: what the server gives it now, not what it was trained with."""

    name: str
    context_tokens: int | None = None  # None: the server does not say


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    """A server that answers. `kind` is "" for one that does not say what it is."""

    port: int
    kind: ServerKind = ""
    version: str = ""
    models: tuple[LocalModel, ...] = ()
    more: int = 0  # models that are not among `models`
    needs_key: bool = False  # it lists its models to nobody without a key

    @property
    def url(self) -> str:
        """Address of its OpenAI-compatible API."""
        return f"http://{HOST}:{self.port}/v1"


def local_servers(ports: Sequence[int] = PORTS, *, seconds: float = SECONDS) -> list[LocalServer]:
    """Servers that answer, in the order of the ports, all asked at once. Never raises for a server."""
    with ThreadPoolExecutor(max_workers=max(1, len(ports))) as threads:
        answers = threads.map(lambda port: _asked(port, seconds), ports)
        return [server for server in answers if server is not None]


def _asked(port: int, seconds: float) -> LocalServer | None:
    """What listens at a port; None where nothing does, or nothing that serves models."""
    with httpx.Client(base_url=f"http://{HOST}:{port}", trust_env=False, verify=tls_context()) as http:
        asking = _Asking(http, until=time.monotonic() + seconds)
        try:
            return asking.server(port)
        except (httpx.HTTPError, httpx.InvalidURL, OSError):
            return None


@dataclass(slots=True)
class _Asking:
    """The questions to one server, within its time."""

    http: httpx.Client
    until: float

    def server(self, port: int) -> LocalServer | None:
        status, listed = self._json("/v1/models")
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN) and isinstance(listed, dict):
            return LocalServer(port=port, needs_key=True)
        entries = _entries(listed, "data", "id")
        owners = [str(entry.get("owned_by")) for entry in entries]
        by_owner: ServerKind = next((_OWNERS[owner] for owner in owners if owner in _OWNERS), "")
        kind, version, contexts, pulled = self._details(by_owner)
        entries = entries or pulled
        if not entries and not kind:
            return None
        names = dict.fromkeys(str(entry.get("id") or entry.get("name")) for entry in entries)
        sizes = {str(entry.get("id")): _tokens(entry.get("max_model_len")) for entry in entries}
        models = [
            LocalModel(one_line(name, MAX_CHARACTERS), contexts.get(name) or sizes.get(name) or contexts.get(""))
            for name in names
        ]
        return LocalServer(
            port=port,
            kind=kind,
            version=one_line(version, MAX_CHARACTERS),
            models=tuple(models[:MAX_MODELS]),
            more=max(0, len(models) - MAX_MODELS),
        )

    def _details(self, kind: ServerKind) -> tuple[ServerKind, str, dict[str, int], list[dict[str, Any]]]:
        """Kind, version, context length by model ("": of all) and models, from what each kind has of its own."""
        if kind in ("", "ollama") and (version := _text(self._or_nothing("/api/version"), "version")):
            tags = self._or_nothing("/api/tags")
            if "models" in tags:
                loaded = _entries(self._or_nothing("/api/ps"), "models", "name")
                return "ollama", version, _sizes(loaded, "name", "context_length"), _entries(tags, "models", "name")
        if kind in ("", "llama.cpp") and (properties := self._or_nothing("/props")):
            generation = properties.get("default_generation_settings")
            tokens = _tokens(generation.get("n_ctx")) if isinstance(generation, dict) else None
            if tokens or "build_info" in properties:
                return "llama.cpp", _text(properties, "build_info"), {"": tokens} if tokens else {}, []
        if kind == "" and (states := _entries(self._or_nothing("/api/v0/models"), "data", "id")):
            return "lmstudio", "", _sizes(states, "id", "loaded_context_length"), []
        if kind == "" and _text(info := self._or_nothing("/info"), "model_id"):
            tokens = _tokens(info.get("max_total_tokens"))
            return "tgi", _text(info, "version"), {"": tokens} if tokens else {}, []
        if kind in ("vllm", "sglang"):
            return kind, _text(self._or_nothing("/version"), "version"), {}, []
        return kind, "", {}, []

    def _or_nothing(self, path: str) -> dict[str, Any]:
        """The JSON object at a path; {} where there is none."""
        try:
            status, data = self._json(path)
        except httpx.HTTPError:
            return {}
        return data if status == HTTPStatus.OK and isinstance(data, dict) else {}

    def _json(self, path: str) -> tuple[int, Any]:
        """Status and JSON of an answer; None for what is no JSON or too long. Raises httpx.HTTPError."""
        content, seconds = b"", self.until - time.monotonic()
        if seconds <= 0:
            raise httpx.ReadTimeout("the answers took too long")
        timeout = httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))
        with self.http.stream("GET", path, timeout=timeout) as response:
            for part in response.iter_bytes():
                content += part
                if len(content) > MAX_BYTES:
                    return response.status_code, None
                if time.monotonic() > self.until:
                    raise httpx.ReadTimeout("the answer took too long")
        try:
            return response.status_code, json.loads(content)
        except (ValueError, RecursionError):
            return response.status_code, None


def _entries(data: Any, name: str, key: str) -> list[dict[str, Any]]:
    """The objects of a list that have a name."""
    listed = data.get(name) if isinstance(data, dict) else None
    if not isinstance(listed, list):
        return []
    return [entry for entry in listed if isinstance(entry, dict) and isinstance(entry.get(key), str) and entry[key]]


def _sizes(entries: Sequence[Mapping[str, Any]], key: str, name: str) -> dict[str, int]:
    return {str(entry[key]): tokens for entry in entries if (tokens := _tokens(entry.get(name)))}


def _tokens(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""
