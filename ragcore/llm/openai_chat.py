"""Chat completions from an OpenAI-compatible endpoint, streamed (V6)."""

from __future__ import annotations

import asyncio
import json
import logging
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from copy import copy
from functools import cache
from typing import Any

from ragcore.client_registry import (
    RETRY_DELAYS_SECONDS,
    SHORT_DELAYS_SECONDS,
    ClientKind,
    ClientSettings,
    delays,
    is_retryable,
    retry_after,
    tls_context,
)
from ragcore.errors import ModelUnavailableError, PermanentError, RagError
from ragcore.llm.generators import EndEvent
from ragcore.ports import ChatMessage, GenerationEvent, TokenCounter
from ragcore.text.token_count import EstimateCounter, message_tokens
from ragcore.types import Usage

COMPLETIONS = "chat/completions"  # below the base URL
DONE = b"[DONE]"  # the data of the last event
MAX_LINE_BYTES = 4 * 1024 * 1024
MAX_TOKEN_CHARACTERS = 16  # of a long token; a server that sends more than that for each one does not keep to the limit


@cache
def stream_errors() -> tuple[type[Exception], ...]:
    """What a request or a stream fails with: refused, lost, cut off, late, not in the expected format, or sent to an
    address that may not be connected to (RagError).
    """
    import httpx

    return (httpx.HTTPError, httpx.InvalidURL, RagError, TimeoutError, ValueError)


class CompletionStream:
    """Reads the chunks of one stream; raises one of `stream_errors()` when it fails.

    The request is plain HTTP and chunks are plain JSON: the client library of the protocol takes two seconds of
    processor time to import, five milliseconds for a request and ten times as long for a chunk (decision 033). Texts
    that arrive together are one text.
    """

    def __init__(self) -> None:
        self.finish_reason: str | None = None  # why it ended, as the server said
        self.usage: Usage | None = None
        self._opened = AsyncExitStack()
        self._received: AsyncIterator[bytes] | None = None
        self._held = b""  # the beginning of a line
        self._is_over = False
        self._problem: ValueError | None = None  # to be raised when what came before it was told

    @property
    def finished(self) -> bool:
        """The server said why it ended, and it was not that somebody censored the rest."""
        return self.finish_reason not in (None, "content_filter")

    @property
    def is_cut(self) -> bool:
        """It ended at the limit of tokens."""
        return self.finish_reason == "length"

    async def open(self, client: Any, request: Mapping[str, Any], deadline: float) -> None:
        """Send the request; `deadline` is in the time of the event loop."""
        body = {**request, "stream": True, "stream_options": {"include_usage": True}}
        async with asyncio.timeout_at(deadline):
            response = await self._opened.enter_async_context(client.stream("POST", COMPLETIONS, json=body))
        response.raise_for_status()
        self._received = response.aiter_bytes()

    async def next_text(self, deadline: float) -> str | None:
        """The next text that is not empty, or None at the end of the stream."""
        if self._problem is not None:
            raise self._problem
        while self._received is not None and not self._is_over:
            async with asyncio.timeout_at(deadline):
                piece = await anext(self._received, None)
            lines = (self._held + (piece or b"\n")).split(b"\n")  # the last line may lack its end
            self._held = lines.pop()
            if len(self._held) > MAX_LINE_BYTES:
                raise ValueError("the server sent a line without an end")
            self._is_over = piece is None
            if text := self._text_of_all(lines):
                return text
        return None

    def _text_of_all(self, lines: Sequence[bytes]) -> str:
        """The text of lines that came together; that before a line that cannot be read is told before its error."""
        texts: list[str] = []
        for line in lines:
            try:
                texts.append(self._text_of(line))
            except ValueError as problem:
                if not any(texts):
                    raise
                self._problem = problem
                break
            if self._is_over:
                break
        return "".join(texts)

    def _text_of(self, line: bytes) -> str:
        """The text that a line of the event stream brings; notes what else it says."""
        data = line.removeprefix(b"data:").strip()
        if not line.startswith(b"data:") or not data:
            return ""
        if data == DONE:
            self._is_over = True
            return ""
        chunk = json.loads(data)
        if not isinstance(chunk, dict) or chunk.get("error"):
            raise ValueError("the server sent no chunk of a completion")
        try:
            return self._read(chunk)
        except (AttributeError, TypeError) as problem:
            raise ValueError("a chunk of a completion has another form") from problem

    def _read(self, chunk: Mapping[str, Any]) -> str:
        if usage := chunk.get("usage"):  # comes in a chunk of its own, after the last text
            self.usage = Usage(
                prompt_tokens=usage.get("prompt_tokens") or 0, completion_tokens=usage.get("completion_tokens") or 0
            )
        texts = []
        for choice in chunk.get("choices") or ():
            self.finish_reason = self.finish_reason or choice.get("finish_reason")
            texts.append((choice.get("delta") or {}).get("content") or "")
        return "".join(texts)

    async def close(self) -> None:
        """Give the connection back; safe to call twice and before `open`."""
        await self._opened.aclose()


logger = logging.getLogger(__name__)

TOTAL_TIMEOUT_SECONDS = 30.0
CONNECT_TIMEOUT_SECONDS = 5.0
TOO_MANY_REQUESTS = 429
KEPT_CONNECTIONS = 100  # that wait for the next request, of any number that are open


class OpenAIChatModel:
    """Implements ports.ChatModel.

    Before the first token it retries three times, after 1, 2 and 4 s, or later where the server says so
    (`Retry-After`), on 429, 5xx, timeouts and lost connections; then it raises ModelUnavailableError. After the first
    token nothing is retried: a stream that breaks, ends without a finish reason or passes the total timeout gives a
    final event with `interrupted`; one that reaches `max_tokens` gives an EndEvent with `is_cut`, and is closed if its
    server goes on. Usage is the server's, else an estimate. `with_short_retries` there is one retry, after half a
    second, and none where the server asks for a longer wait.
    """

    client = ClientKind(kind="openai", argument="MODEL", needs_url=True)

    def __init__(
        self,
        base_url: str,
        api_key: str,
        model: str,
        *,
        total_timeout_seconds: float = TOTAL_TIMEOUT_SECONDS,
        connect_timeout_seconds: float = CONNECT_TIMEOUT_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        tokens: TokenCounter | None = None,
        permitted: Callable[[str, int], Sequence[str]] | None = None,
    ) -> None:
        self.name = model
        self._base_url = base_url.rstrip("/") + "/"
        self._api_key = api_key
        self._total_timeout = total_timeout_seconds
        self._connect_timeout = connect_timeout_seconds
        self._sleep = sleep
        self._delays: Sequence[float] = RETRY_DELAYS_SECONDS
        self._permitted = permitted
        self._tokens = tokens or EstimateCounter()
        # Connections belong to the event loop that opened them.
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = weakref.WeakKeyDictionary()

    @classmethod
    def from_settings(cls, argument: str, settings: ClientSettings) -> OpenAIChatModel:
        """The model of this name at the configured server; "" where the server has one model only."""
        return cls(base_url=settings.base_url, api_key=settings.api_key, model=argument, permitted=settings.permitted)

    async def stream(
        self, messages: Sequence[ChatMessage], *, temperature: float, max_tokens: int
    ) -> AsyncIterator[GenerationEvent]:
        """See ports.ChatModel."""
        request = {
            "model": self.name,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "temperature": temperature,
            "max_tokens": max_tokens,
        }
        deadline = asyncio.get_running_loop().time() + self._total_timeout
        completion, text = await self._begin(request, deadline)
        written: list[str] = []
        left = max_tokens * MAX_TOKEN_CHARACTERS
        try:
            while text is not None and left > 0:
                text, left = text[:left], left - len(text)
                written.append(text)
                yield GenerationEvent(text=text)
                text = await completion.next_text(deadline)
        except stream_errors() as problem:
            logger.warning("the answer of %s broke off: %s", self.name, type(problem).__name__)
        finally:
            await completion.close()
        usage = completion.usage or self._estimate(messages, "".join(written))
        is_too_long = left <= 0
        interrupted = not completion.finished and not is_too_long
        yield EndEvent(
            final=True,
            usage=usage,
            interrupted=interrupted,
            is_cut=(completion.is_cut or is_too_long) and not interrupted,
            model=self.name,
        )

    def with_short_retries(self) -> OpenAIChatModel:
        """The same model over the same connections, with one short retry, for requests that can be done without."""
        return self._with_delays(SHORT_DELAYS_SECONDS)

    def without_retries(self) -> OpenAIChatModel:
        """The same model over the same connections, asked once, for where another server can be asked instead."""
        return self._with_delays(())

    def _with_delays(self, seconds: Sequence[float]) -> OpenAIChatModel:
        other = copy(self)
        other._delays = seconds
        return other

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    async def _begin(self, request: Mapping[str, Any], deadline: float) -> tuple[CompletionStream, str | None]:
        """A stream and its first text; None if the model ended properly without any. Retries."""
        waits, is_patient = delays(self._delays), self._delays == RETRY_DELAYS_SECONDS
        while True:
            completion, asked_for, is_busy = CompletionStream(), 0.0, False
            try:
                await completion.open(self._client(), request, deadline)
                text = await completion.next_text(deadline)
                if text is not None or completion.finish_reason is not None:
                    return completion, text
                problem = "the stream closed before the first token"
            except stream_errors() as error:
                problem, asked_for = _described(error), retry_after(error)
                status = _status(error)
                is_busy = asked_for > 0 or status == TOO_MANY_REQUESTS
                if isinstance(error, PermanentError) or (status is not None and not is_retryable(status)):
                    await completion.close()
                    raise ModelUnavailableError("refused", problem=problem, status=status) from error
            await completion.close()
            wait = next(waits, None)
            is_too_long = not is_patient and wait is not None and asked_for > wait
            if wait is not None:
                wait = max(wait, asked_for)
            if wait is None or is_too_long or asyncio.get_running_loop().time() + wait > deadline:
                raise ModelUnavailableError("silent", model=self.name, busy=is_busy, problem=problem)
            await self._sleep(wait)

    def _client(self) -> Any:
        """The client of the running event loop."""
        import httpx

        from ragcore.reconnecting import ReconnectingAsyncClient

        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = ReconnectingAsyncClient(
                base_url=self._base_url,
                headers={"Authorization": f"Bearer {self._api_key}"} if self._api_key else {},
                timeout=httpx.Timeout(self._total_timeout, connect=self._connect_timeout),
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=KEPT_CONNECTIONS),
                follow_redirects=True,
                verify=tls_context(),
                transport=self._transport(),
            )
        return self._clients[loop]

    def _transport(self) -> Any:
        """One that checks where it connects; None: any address will do."""
        if self._permitted is None:
            return None
        from ragcore.checked_hosts import CheckedAsyncTransport

        return CheckedAsyncTransport(self._permitted)

    def _estimate(self, messages: Sequence[ChatMessage], answer: str) -> Usage:
        prompt = message_tokens((message.content for message in messages), self._tokens.count)
        return Usage(prompt_tokens=prompt, completion_tokens=self._tokens.count(answer))


def _described(error: BaseException) -> str:
    """What a log reader needs: the status or the kind of failure, never the server's text."""
    status = _status(error)
    return f"status {status}" if status else type(error).__name__


def _status(error: BaseException) -> int | None:
    """The HTTP status with which the server refused; None where it did not answer."""
    status: int | None = getattr(getattr(error, "response", None), "status_code", None)
    return status
