"""Asks a model server one short question and says what is wrong where it does not answer.

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
from ragcore.llm.completion_stream import MAX_NAME, STREAMED
from ragcore.llm.listed_model import listed_model
from ragcore.llm.openai_chat import OF_GATEWAYS
from ragcore.llm.reasoning import Piece, ReasoningSplitter
from ragcore.llm.refused_fields import RefusedField, refused_field, without_fields
from ragcore.llm.server_address import server_address
from ragcore.server_words import one_line, server_words, speaks_protocol

SECONDS = 20.0  # to the first token, where the model has no limit of its own: a server may have to load it first
MAX_SECONDS = 120.0  # for the whole answer of a slow model
MAX_BYTES = 256 * 1024
LISTED_MODELS = 20  # names that a result carries
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
    "not_compatible",  # refuses with a page, or with an HTTP status that no model server has
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
    """What came of it. `data`: what the sentence about it names: status, host, seconds, said, models, left_out.
    `reported` and `listed`: what the server calls the model, and how it lists it.

    `seconds` are those of the whole test; `first_token_seconds` those until the model began.
    """

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
    """The outcome of one request, in at most about twice `seconds`. Never raises for the server.

    A model that reasons first has begun with its first thought.
    """
    host, port = _place(base_url)
    if not host:
        return ProbeResult(code="address")
    server = {"host": host, "port": port, "model": model}
    address = server_address(base_url, api_key)
    start = time.monotonic()
    try:
        permitted(host, port)
        with httpx.Client(
            base_url=address.url,
            params=address.query,
            headers=address.headers,
            timeout=httpx.Timeout(seconds, connect=min(seconds, 5.0)),
            transport=CheckedTransport(permitted),
        ) as http:
            code, data = _ask(http, model, api_key, until=start + seconds)
            if code == "ok":
                data["listed"] = listed_model(_list(http), model)
            elif code != "key_refused":
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
    return ProbeResult(code=code, data={**server, **data, "seconds": round(time.monotonic() - start, 2)})


def listing_of(base_url: str, api_key: str, model: str, *, permitted: Permitted) -> str:
    """How a server lists a model, see `listed_model`; "" where it does not, or does not answer."""
    address = server_address(base_url, api_key)
    try:
        with httpx.Client(
            base_url=address.url,
            params=address.query,
            headers=address.headers,
            timeout=SECONDS,
            transport=CheckedTransport(permitted),
        ) as http:
            return listed_model(_list(http), model)
    except (httpx.InvalidURL, UnicodeError, OSError):
        return ""


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


def _ask(http: httpx.Client, model: str, key: str, *, until: float) -> tuple[ProbeCode, dict[str, Any]]:
    """What came of it; like for an answer, a field that the server does not take is left out at once."""
    messages = [{"role": "user", "content": QUESTION}]
    request = {"model": model, "messages": messages, "temperature": 0, "max_tokens": MAX_TOKENS, **STREAMED}
    left_out: frozenset[str] = frozenset()
    while True:
        body = without_fields(request, left_out)
        code, data, refused = _ask_once(http, body, key, until=until)
        if refused is None:
            return code, {**data, "left_out": sorted(left_out)} if left_out else data
        left_out |= refused.keys


def _ask_once(
    http: httpx.Client, body: Mapping[str, Any], key: str, *, until: float
) -> tuple[ProbeCode, dict[str, Any], RefusedField | None]:
    """Outcome of one request, with the field because of which it was refused."""
    start = time.monotonic()
    with http.stream("POST", "chat/completions", json=body) as response:
        status = response.status_code
        if status != HTTPStatus.OK:
            text = _start_of(response, until).decode("utf-8", "replace")
            server_text = server_words(text, key=key)
            code = _code_of(status, text, server_text, body["model"])
            return code, {"status": status, "said": server_text}, refused_field(body, status, text)
        reading = _Reading(start)
        try:
            reading.read(_lines(response, until))
        except _NotThatProtocolError as problem:
            text = str(problem)
            return "nonsense", {"said": server_words(text, key=key)}, refused_field(body, status, text)
    if not reading.text.strip() and not reading.has_reasoned and reading.reason != "length":
        return "silent", {}, None
    data = {
        "said": server_words(reading.text.strip(), key=key),
        "first_token_seconds": round(reading.first_token_seconds, 2),
        "reasons": reading.has_reasoned,
        "reported": reading.model,
    }
    return "ok", data, None


def _code_of(status: int, text: str, server_text: str, model: str) -> ProbeCode:
    """What an HTTP status means; pages of statuses that gateways have say nothing about the server behind them."""
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return "key_refused"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return "busy"
    if 300 <= status < 400:
        return "redirected"
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.BAD_REQUEST):
        if _is_about_model(server_text, model):
            return "model_unknown"
        return "rejected" if status == HTTPStatus.BAD_REQUEST and speaks_protocol(text) else "path_unknown"
    is_server = speaks_protocol(text) or bool(server_text) or status in OF_GATEWAYS
    if not is_server or status == HTTPStatus.NOT_IMPLEMENTED:
        return "not_compatible"
    return "server_failed" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "rejected"


def _is_about_model(server_text: str, model: str) -> bool:
    """Whether an error says that there is no such model, as vLLM, Ollama, TGI and the hosted services put it."""
    plain = server_text.lower()
    missing = any(word in plain for word in ("not found", "does not exist", "not_found", "unknown", "invalid model"))
    return missing and "model" in plain and (not model or model.lower() in plain or "model_not_found" in plain)


def _models(http: httpx.Client, model: str) -> dict[str, Any]:
    """What the server says that it has; nothing where it does not say."""
    try:
        listed = _list(http)["data"]
        names = [str(entry["id"]) for entry in listed] if isinstance(listed, list) else []
    except (KeyError, TypeError):
        return {}
    return {"models": names[:LISTED_MODELS], "has_model": model in names} if names else {}


def _list(http: httpx.Client) -> Any:
    """The JSON of the list of models; None where there is none."""
    try:
        answer = http.get("models")
        return answer.json() if answer.status_code == HTTPStatus.OK else None
    except (httpx.HTTPError, RagError, ValueError, RecursionError):
        return None


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


@dataclass(slots=True)
class _Reading:
    """What a stream of chunks brings."""

    start: float
    text: str = ""
    reason: str = ""  # for the end
    first_token_seconds: float = 0.0
    has_reasoned: bool = False
    model: str = ""  # what the server calls it

    def read(self, lines: Iterator[str]) -> None:
        """Read to the end. Raises _NotThatProtocolError."""
        chunks, other, splitter = 0, "", ReasoningSplitter()
        for line in lines:
            data = line.removeprefix("data:").strip()
            if not line.startswith("data:"):
                other = other or line.strip()
                continue
            if data == "[DONE]":
                break
            piece, thought, why, model = _chunk(data)
            self.model = self.model or model
            if (piece or thought) and not self.first_token_seconds:
                self.first_token_seconds = time.monotonic() - self.start
            self._take(splitter.feed(piece), thought)
            self.reason, chunks = why or self.reason, chunks + 1
        self._take(splitter.flush(), "")
        if not chunks:
            raise _NotThatProtocolError(other)

    def _take(self, piece: Piece, thought: str) -> None:
        self.text += piece.text
        self.has_reasoned = self.has_reasoned or bool(thought or piece.reasoning)


def _chunk(data: str) -> tuple[str, str, str, str]:
    """Text, reasoning, why it ends, and what the server calls the model."""
    try:
        chunk = json.loads(data)
        choices: Sequence[Mapping[str, Any]] = chunk["choices"] or ()
        deltas = [choice.get("delta") or {} for choice in choices]
        text = "".join(delta.get("content") or "" for delta in deltas)
        thought = "".join(delta.get("reasoning_content") or delta.get("reasoning") or "" for delta in deltas)
        return (
            text,
            thought,
            next((str(choice["finish_reason"]) for choice in choices if choice.get("finish_reason")), ""),
            one_line(str(chunk.get("model") or ""), MAX_NAME),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _NotThatProtocolError(data) from None
