"""Asks a model server one short question and says what is wrong where it does not answer (D42).

The request is the one that answers are written with: streamed, with usage. So what passes here works there.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal

import httpx

from ragcore.checked_hosts import PORTS, CheckedTransport, Permitted
from ragcore.errors import RagError

SECONDS = 20.0  # for the whole answer: a server may have to load the model first
MAX_BYTES = 256 * 1024
LISTED_MODELS = 20  # names that a result carries
SAID_CHARACTERS = 200
QUESTION = "Reply with the single word: ready"
MAX_TOKENS = 64

ProbeCode = Literal[
    "ok",
    "address",  # no http(s) address of a host
    "not_allowed",  # a private address that nobody has allowed
    "name_unresolved",
    "connection_refused",
    "tls",
    "timeout",
    "lost",  # the connection ended before the answer
    "key_refused",  # 401, 403
    "path_unknown",  # 404 or 405, and not because of the model
    "model_unknown",
    "busy",  # 429
    "rejected",  # another 4xx
    "server_failed",  # 5xx
    "redirected",
    "nonsense",  # an answer that is no stream of completion chunks
    "silent",  # a proper stream without a word
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """What came of it. `data`: what the sentence about it names: status, host, seconds, said, models."""

    code: ProbeCode
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_ok(self) -> bool:
        return self.code == "ok"


class _NotThatProtocolError(ValueError):
    """The server sent something else than chunks of a completion."""


def probe_chat(
    base_url: str, api_key: str, model: str, *, permitted: Permitted, seconds: float = SECONDS
) -> ProbeResult:
    """The outcome of one request, in at most about twice `seconds`. Never raises for the server."""
    host, port = _place(base_url)
    if not host:
        return ProbeResult(code="address")
    named = {"host": host, "port": port, "model": model}
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    start = time.monotonic()
    try:
        permitted(host, port)
        with httpx.Client(
            base_url=base_url.rstrip("/") + "/",
            headers=headers,
            timeout=httpx.Timeout(seconds, connect=min(seconds, 5.0)),
            transport=CheckedTransport(permitted),
        ) as http:
            code, data = _ask(http, model, until=start + seconds)
            if code not in ("ok", "key_refused"):
                data |= _models(http, model)
                code = _named_unknown(code, data)
    except RagError as problem:
        code, data = _not_reachable(problem), {}
    except httpx.TimeoutException:
        code, data = "timeout", {}
    except httpx.ConnectError as problem:
        code, data = ("tls" if _is_tls(problem) else "connection_refused"), {}
    except httpx.TransportError:
        code, data = "lost", {}
    except (httpx.InvalidURL, UnicodeError, OSError):
        code, data = "address", {}
    return ProbeResult(code=code, data={**named, **data, "seconds": round(time.monotonic() - start, 2)})


def _place(base_url: str) -> tuple[str, int]:
    """Host and port; "" where the address is none."""
    try:
        url = httpx.URL(base_url.strip())
    except (httpx.InvalidURL, UnicodeError):
        return "", 0
    return (url.host, url.port or PORTS[url.scheme]) if url.scheme in PORTS else ("", 0)


def _not_reachable(problem: RagError) -> ProbeCode:
    return "not_allowed" if problem.code == "url_not_allowed" else "name_unresolved"


def _is_tls(problem: BaseException | None) -> bool:
    while problem is not None:
        if isinstance(problem, ssl.SSLError):
            return True
        problem = problem.__cause__ or problem.__context__
    return False


def _ask(http: httpx.Client, model: str, *, until: float) -> tuple[ProbeCode, dict[str, Any]]:
    body = {
        "model": model,
        "messages": [{"role": "user", "content": QUESTION}],
        "temperature": 0,
        "max_tokens": MAX_TOKENS,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    with http.stream("POST", "chat/completions", json=body) as response:
        if response.status_code != HTTPStatus.OK:
            said = _said(_start_of(response, until))
            return _code_of(response.status_code, said, model), {"status": response.status_code, "said": said}
        try:
            text, reason = _read(_lines(response, until))
        except _NotThatProtocolError as problem:
            return "nonsense", {"said": str(problem)[:SAID_CHARACTERS]}
    if not text.strip() and reason != "length":  # some models think first, and the limit ends that
        return "silent", {}
    return "ok", {"said": text.strip()[:SAID_CHARACTERS]}


def _code_of(status: int, said: str, model: str) -> ProbeCode:
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return "key_refused"
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.BAD_REQUEST):
        if _is_about_model(said, model):
            return "model_unknown"
        return "rejected" if status == HTTPStatus.BAD_REQUEST else "path_unknown"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return "busy"
    if 300 <= status < 400:
        return "redirected"
    return "server_failed" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "rejected"


def _is_about_model(said: str, model: str) -> bool:
    """Whether an error says that there is no such model, as vLLM, Ollama, TGI and the hosted services put it."""
    plain = said.lower()
    missing = any(word in plain for word in ("not found", "does not exist", "not_found", "unknown", "invalid model"))
    return missing and "model" in plain and (not model or model.lower() in plain or "model_not_found" in plain)


def _models(http: httpx.Client, model: str) -> dict[str, Any]:
    """What the server says that it has; nothing where it does not say."""
    try:
        answer = http.get("models")
        listed = answer.json()["data"] if answer.status_code == HTTPStatus.OK else None
        names = [str(one["id"]) for one in listed] if isinstance(listed, list) else []
    except (httpx.HTTPError, RagError, ValueError, KeyError, TypeError):
        return {}
    return {"models": names[:LISTED_MODELS], "has_model": model in names} if names else {}


def _named_unknown(code: ProbeCode, data: dict[str, Any]) -> ProbeCode:
    """A server that lists its models, and not this one, refuses because of the name whatever it says."""
    is_refused = code in ("rejected", "path_unknown", "server_failed")
    is_missing = data.pop("has_model", None) is False
    return "model_unknown" if is_refused and is_missing else code


# ── what came back ────────────────────────────────────────────────────────────────────────────────


def _start_of(response: httpx.Response, until: float) -> bytes:
    """The first part of a body, within the time."""
    content = b""
    for piece in response.iter_bytes():
        content += piece
        if len(content) >= MAX_BYTES:
            break
        _check_time(until)
    return content[:MAX_BYTES]


def _lines(response: httpx.Response, until: float) -> Iterator[str]:
    size = 0
    for line in response.iter_lines():
        size += len(line)
        if size > MAX_BYTES:
            raise _NotThatProtocolError("more than a short answer")
        _check_time(until)
        yield line


def _check_time(until: float) -> None:
    if time.monotonic() > until:
        raise httpx.ReadTimeout("the answer took too long")


def _said(content: bytes) -> str:
    """The message of an error; the beginning of what is no JSON."""
    text = content.decode("utf-8", "replace")
    try:
        data = json.loads(text)
    except ValueError:
        return " ".join(text.split())[:SAID_CHARACTERS]
    error = data.get("error", data) if isinstance(data, dict) else data
    message = error.get("message") or error.get("code") or error if isinstance(error, dict) else error
    code = error.get("code") if isinstance(error, dict) else None
    words = f"{message} ({code})" if code and str(code) not in str(message) else str(message)
    return " ".join(words.split())[:SAID_CHARACTERS]


def _read(lines: Iterator[str]) -> tuple[str, str]:
    """Text and reason for the end of a stream of chunks. Raises _NotThatProtocolError."""
    text, reason, chunks, other = "", "", 0, ""
    for line in lines:
        data = line.removeprefix("data:").strip()
        if not line.startswith("data:"):
            other = other or line.strip()
            continue
        if data == "[DONE]":
            break
        piece, why = _chunk(data)
        text, reason, chunks = text + piece, why or reason, chunks + 1
    if not chunks:
        raise _NotThatProtocolError(other)
    return text, reason


def _chunk(data: str) -> tuple[str, str]:
    try:
        chunk = json.loads(data)
        choices: Sequence[Mapping[str, Any]] = chunk["choices"] or ()
        text = "".join((one.get("delta") or {}).get("content") or "" for one in choices)
        return text, next((str(one["finish_reason"]) for one in choices if one.get("finish_reason")), "")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _NotThatProtocolError(data) from None
