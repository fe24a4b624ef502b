"""Chat completions from an OpenAI-compatible endpoint, streamed."""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from http import HTTPStatus
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
from ragcore.llm.completion_stream import STREAMED, CompletionStream, stream_errors
from ragcore.llm.generators import EndCause, EndEvent
from ragcore.llm.reasoning import Piece
from ragcore.llm.refused_fields import RefusedField, is_context_overflow, refused_field, refused_unnamed, without_fields
from ragcore.llm.server_address import KEY_HEADER, server_address
from ragcore.model_limits import DEFAULT_LIMITS, ModelLimits
from ragcore.ports import ChatMessage, GenerationEvent, TokenCounter
from ragcore.text.token_count import EstimateCounter, message_tokens
from ragcore.types import Usage

logger = logging.getLogger(__name__)

CONNECT_TIMEOUT_SECONDS = 5.0
TOO_MANY_REQUESTS = 429
KEPT_CONNECTIONS = 100  # that wait for the next request, of any number that are open
MAX_TOKEN_CHARACTERS = 16  # of a long token; a server that sends more than that for each one does not keep to the limit
OF_GATEWAYS = frozenset({401, 403, 408, 429, 502, 503, 504})  # statuses with pages of their own before a model server


class OpenAIChatModel:
    """Implements ports.ChatModel.

    Before the first token it retries three times, after 1, 2 and 4 s, or later where the server says so
    (`Retry-After`), on 429, 5xx and lost connections, all within the limit to the first token; then it raises
    ModelUnavailableError. After the first token nothing is retried: a stream that breaks, ends without a finish reason,
    is silent for too long or passes the total limit gives a final EndEvent with `interrupted` and its `cause`; one that
    reaches `max_tokens` gives one with `is_cut`, and is closed if its server goes on. Reasoning counts as tokens.
    Usage is the server's, else an estimate. `with_short_retries` there is one retry, after half a second, and none
    where the server asks for a longer wait.

    A request that a server refuses because of a field is repeated at once without it, each field once; one that it
    refuses without naming a field, once without all further fields. When that is taken, these fields are left out of
    all later requests, those of copies too (`left_out`).
    """

    client = ClientKind(kind="openai", argument="MODEL", needs_url=True)

    def __init__(
        self,
        base_url: str,
        api_key: str,
        model: str,
        *,
        limits: ModelLimits = DEFAULT_LIMITS,
        connect_timeout_seconds: float = CONNECT_TIMEOUT_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        tokens: TokenCounter | None = None,
        permitted: Callable[[str, int], Sequence[str]] | None = None,
        left_out: Collection[str] = (),
        thinks_first: bool = False,
    ) -> None:
        """`left_out`: keys of fields that the server is known not to take, see `refused_fields`.

        `thinks_first`: its replies begin inside their reasoning, see `ReasoningSplitter`.
        """
        self.name = model
        self._address = server_address(base_url, api_key)
        self._api_key = api_key
        self._left_out = set(left_out)
        self._thinks_first = thinks_first
        self.limits = limits
        self._connect_timeout = connect_timeout_seconds
        self._sleep = sleep
        self._delays: Sequence[float] = RETRY_DELAYS_SECONDS
        self._permitted = permitted
        self._fields: Mapping[str, Any] = {}
        self._tokens = tokens or EstimateCounter()
        # Connections belong to the event loop that opened them.
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = weakref.WeakKeyDictionary()

    @classmethod
    def from_settings(cls, argument: str, settings: ClientSettings) -> OpenAIChatModel:
        """The model of this name at the configured server; "" where the server has one model only."""
        return cls(
            base_url=settings.base_url,
            api_key=settings.api_key,
            model=argument,
            limits=settings.limits,
            permitted=settings.permitted,
            left_out=settings.left_out,
            thinks_first=settings.thinks_first,
            tokens=settings.tokens,
        )

    @property
    def left_out(self) -> tuple[str, ...]:
        """Keys of the fields that its server does not take, as far as is known."""
        return tuple(sorted(self._left_out))

    async def stream(
        self, messages: Sequence[ChatMessage], *, temperature: float, max_tokens: int
    ) -> AsyncIterator[GenerationEvent]:
        """See ports.ChatModel."""
        request = {
            "model": self.name,
            "messages": [{"role": m.role, "content": m.content, **dict(m.fields)} for m in messages],
            "temperature": temperature,
            "max_tokens": max_tokens,
            **STREAMED,
            **self._fields,
        }
        begun = asyncio.get_running_loop().time()
        until = begun + self.limits.total
        completion, piece = await self._begin(request, min(begun + self.limits.first_token, until))
        answer = _Answer(characters=max_tokens * MAX_TOKEN_CHARACTERS)
        try:
            while piece is not None and answer.characters > 0:
                yield answer.take(piece)
                piece = await completion.next_piece(self._silence_ends(until))
        except stream_errors() as problem:
            answer.cause = self._cause(problem, until)
            logger.warning("the answer of %s broke off: %s", self.name, _described(problem))
        finally:
            await completion.close()
        usage = completion.usage or self._estimate(messages, answer.written)
        is_too_long = answer.characters <= 0
        interrupted = not completion.finished and not is_too_long
        yield EndEvent(
            final=True,
            usage=usage,
            interrupted=interrupted,
            cause=(answer.cause or "lost") if interrupted else "",
            is_cut=(completion.is_cut or is_too_long) and not interrupted,
            model=self.name,
            reported=completion.model,
            has_thought_first=completion.has_thought_first,
            tool_calls=tuple(completion.tool_calls),
        )

    def _silence_ends(self, until: float) -> float:
        """When, in the time of the event loop, a stream that says nothing is given up."""
        return min(asyncio.get_running_loop().time() + self.limits.between_tokens, until)

    def _cause(self, problem: BaseException, until: float) -> EndCause:
        """Why a stream ended in the middle."""
        if not isinstance(problem, TimeoutError):
            return "lost"
        return "late" if asyncio.get_running_loop().time() >= until else "stalled"

    def with_short_retries(self) -> OpenAIChatModel:
        """The same model over the same connections, with one short retry, for requests that can be done without."""
        return self._with_delays(SHORT_DELAYS_SECONDS)

    def without_retries(self) -> OpenAIChatModel:
        """The same model over the same connections, asked once, for where another server can be asked instead."""
        return self._with_delays(())

    def with_fields(self, fields: Mapping[str, Any]) -> OpenAIChatModel:
        """The same model over the same connections, with further fields of its requests."""
        other = copy(self)
        other._fields = {**self._fields, **fields}
        return other

    def _with_delays(self, seconds: Sequence[float]) -> OpenAIChatModel:
        other = copy(self)
        other._delays = seconds
        return other

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    async def _begin(self, request: Mapping[str, Any], deadline: float) -> tuple[CompletionStream, Piece | None]:
        """A stream and what it brings first; None if the model ended properly without a word. Retries."""
        waits, is_patient = delays(self._delays), self._delays == RETRY_DELAYS_SECONDS
        refused: list[RefusedField] = []
        while True:
            completion = CompletionStream(self._api_key, thinks_first=self._thinks_first)
            body = without_fields(request, self._left_out.union(*(field.keys for field in refused)))
            try:
                piece = await self._first_piece(completion, body, deadline)
                self._left_out.update(*(field.keys for field in refused if field.is_lasting))
                return completion, piece
            except ModelUnavailableError as error:
                await completion.close()
                problem = error
            except asyncio.CancelledError:  # by a reader who stops: its server learns it now
                await completion.close()
                raise
            status = problem.data.get("status", 0)
            field = refused_field(body, status, completion.refusal)
            if field is None and problem.reason != "out_of_context":
                field = refused_unnamed(body, self._fields, status)
            if field is not None:
                logger.info("%s does not take %s", self.name, ", ".join(sorted(field.keys)))
                refused.append(field)
                continue
            if problem.is_about_prompt or not _may_do_better(problem.__cause__):
                raise problem
            wait, asked_for = next(waits, None), retry_after(problem.__cause__) if problem.__cause__ else 0.0
            is_too_long = not is_patient and wait is not None and asked_for > wait
            if wait is not None:
                wait = max(wait, asked_for)
            if wait is None or is_too_long or asyncio.get_running_loop().time() + wait > deadline:
                is_busy = asked_for > 0 or problem.data.get("status") == TOO_MANY_REQUESTS
                raise ModelUnavailableError(problem.reason, **{**problem.data, "model": self.name, "busy": is_busy})
            await self._sleep(wait)

    async def _first_piece(
        self, completion: CompletionStream, request: Mapping[str, Any], deadline: float
    ) -> Piece | None:
        """What a request brings first. Raises ModelUnavailableError that says how it failed."""
        try:
            await completion.open(self._client(), request, deadline)
            piece = await completion.next_piece(deadline)
        except stream_errors() as error:
            raise self._problem(error, completion) from error
        if piece is None and completion.finish_reason is None:
            raise ModelUnavailableError("lost")
        return piece

    def _problem(self, error: BaseException, completion: CompletionStream) -> ModelUnavailableError:
        """How a request failed: no connection, nothing in time, lost, refused, or not the protocol."""
        import httpx

        server_text = completion.said
        status = _status(error)
        if completion.refusal and is_context_overflow(status or HTTPStatus.OK, completion.refusal):
            return ModelUnavailableError("out_of_context", status=status or int(HTTPStatus.OK), said=server_text)
        if status:
            if not completion.speaks_protocol and not server_text and status not in OF_GATEWAYS:
                return ModelUnavailableError("not_compatible", status=status)
            return ModelUnavailableError(
                "rejected_said" if server_text else "rejected", status=status, said=server_text
            )
        if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.InvalidURL, RagError)):
            return ModelUnavailableError("unreachable")
        if isinstance(error, (TimeoutError, httpx.TimeoutException)):
            return ModelUnavailableError("slow", seconds=f"{min(self.limits.first_token, self.limits.total):g}")
        if isinstance(error, httpx.TransportError):
            return ModelUnavailableError("lost")
        if server_text:  # an error in the place of a chunk
            return ModelUnavailableError("rejected_said", status=int(HTTPStatus.OK), said=server_text)
        return ModelUnavailableError("not_a_stream")

    def _client(self) -> Any:
        """The client of the running event loop."""
        import httpx

        from ragcore.reconnecting import ReconnectingAsyncClient

        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = ReconnectingAsyncClient(
                base_url=self._address.url,
                params=self._address.query,
                headers=self._address.headers,
                timeout=httpx.Timeout(None, connect=self._connect_timeout),  # its limits hold for the rest
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=KEPT_CONNECTIONS),
                follow_redirects=KEY_HEADER not in self._address.headers,  # which goes along to any host
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


@dataclass(slots=True, kw_only=True)
class _Answer:
    """What came of one request so far."""

    characters: int  # characters that a server which keeps to the limit of tokens can still send
    parts: list[str] = field(default_factory=list)
    cause: EndCause = ""

    @property
    def written(self) -> str:
        return "".join(self.parts)

    def take(self, piece: Piece) -> GenerationEvent:
        """The event of a piece, cut at the limit."""
        text = piece.text[: self.characters]
        self.characters -= len(piece.text) + len(piece.reasoning) + piece.call_characters
        self.parts += [piece.reasoning, text]
        return GenerationEvent(text=text, reasoning=piece.reasoning)


def _may_do_better(error: BaseException | None) -> bool:
    """Whether the same request may succeed a moment later."""
    status = _status(error)
    return not isinstance(error, PermanentError) and (status is None or is_retryable(status))


def _described(error: BaseException) -> str:
    """What a log reader needs: the status or the kind of failure, never the server's text."""
    status = _status(error)
    return f"status {status}" if status else type(error).__name__


def _status(error: BaseException | None) -> int | None:
    """The HTTP status with which the server refused; None where it did not answer."""
    status: int | None = getattr(getattr(error, "response", None), "status_code", None)
    return status
