"""Reads the stream of one completion: texts, reasoning, usage, and how it ended."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from functools import cache
from typing import Any

from ragcore.errors import RagError
from ragcore.llm.reasoning import Piece, ReasoningSplitter
from ragcore.llm.split_characters import SplitCharacters
from ragcore.llm.tool_calls import ToolCalls
from ragcore.server_words import READ_BYTES, one_line, server_words, speaks_protocol
from ragcore.types import Usage

COMPLETIONS = "chat/completions"  # below the base URL
DONE = b"[DONE]"  # the data of the last event
MAX_LINE_BYTES = 4 * 1024 * 1024
MAX_NAME = 200  # characters
REFUSAL_SECONDS = 2.0  # for the words of a refusal
STREAMED = {"stream": True, "stream_options": {"include_usage": True}}  # fields of every request
UNFINISHED = (None, "content_filter", "error")  # reasons of an end before the answer was whole


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

    def __init__(self, key: str = "", *, thinks_first: bool = False) -> None:
        """`key`: what must not stand in `said`. `thinks_first`: see `ReasoningSplitter`."""
        self._key = key
        self.finish_reason: str | None = None  # why it ended, as the server said
        self.usage: Usage | None = None
        self.model = ""  # what the server calls it
        self.is_open = False  # the server has taken the request
        self.said = ""  # by a server that refused
        self.refusal = ""  # the beginning of the body with which it refused, or of the error in the place of a chunk
        self.speaks_protocol = True  # False: what refused is no model server
        self._opened = AsyncExitStack()
        self._received: AsyncIterator[bytes] | None = None
        self._held = b""  # the beginning of a line
        self._is_over = False
        self._problem: ValueError | None = None  # to be raised when what came before it was told
        self._splitter = ReasoningSplitter(thinks_first)
        self._texts, self._thoughts = SplitCharacters(), SplitCharacters()
        self._calls = ToolCalls()
        self._has_chunk = False
        self._other = b""  # what came in the place of a stream

    @property
    def finished(self) -> bool:
        """The server said why it ended, and it was neither that somebody censored the rest nor a fault."""
        return self.finish_reason not in UNFINISHED

    @property
    def has_thought_first(self) -> bool:
        """See `ReasoningSplitter`."""
        return self._splitter.has_thought_first

    @property
    def tool_calls(self) -> list[Mapping[str, Any]]:
        """Calls of tools, whole ones once the stream has ended."""
        return list(self._calls.by_index.values())

    @property
    def is_cut(self) -> bool:
        """It ended at the limit of tokens."""
        return self.finish_reason == "length"

    async def open(self, client: Any, request: Mapping[str, Any], deadline: float) -> None:
        """Send the request, with the fields of `STREAMED`; `deadline` is in the time of the event loop."""
        async with asyncio.timeout_at(deadline):
            response = await self._opened.enter_async_context(client.stream("POST", COMPLETIONS, json=request))
        if not response.is_success:
            await self._read_refusal(response)
        response.raise_for_status()
        self.is_open, self._received = True, response.aiter_bytes()

    async def next_piece(self, deadline: float) -> Piece | None:
        """The next text or reasoning that is not empty, or None at the end of the stream."""
        if self._problem is not None:
            raise self._problem
        while self._received is not None and not self._is_over:
            async with asyncio.timeout_at(deadline):
                received = await anext(self._received, None)
            lines = (self._held + (received or b"\n")).split(b"\n")  # the last line may lack its end
            self._held = lines.pop()
            if len(self._held) > MAX_LINE_BYTES:
                raise ValueError("the server sent a line without an end")
            self._is_over = received is None
            if piece := self._piece_of(lines):
                return piece
        if self._other and not self._has_chunk:
            self._note_refusal(self._other)
            raise ValueError("the server sent no stream")
        return self._rest() or None

    def _rest(self) -> Piece:
        """What is held back at the end of the stream."""
        last = self._splitter.feed(self._texts.flush())
        rest = self._splitter.flush(is_whole=self.finished and not self.is_cut)
        thought = self._thoughts.flush() + last.reasoning + rest.reasoning
        return Piece(text=last.text + rest.text, reasoning=thought)

    async def _read_refusal(self, response: Any) -> None:
        """The beginning of what a server says where it refuses; nothing where it does not come soon."""
        content = b""
        with suppress(*stream_errors()):  # its status says enough
            async with asyncio.timeout(REFUSAL_SECONDS):
                async for part in response.aiter_bytes():
                    content += part
                    if len(content) >= READ_BYTES:
                        break
        self._note_refusal(content)

    def _note_refusal(self, content: bytes) -> None:
        self.refusal = content[:READ_BYTES].decode("utf-8", "replace")
        self.said, self.speaks_protocol = server_words(self.refusal, key=self._key), speaks_protocol(self.refusal)

    def _piece_of(self, lines: Sequence[bytes]) -> Piece:
        """What lines bring that came together; that before a line that cannot be read is told before its error."""
        texts: list[str] = []
        thoughts: list[str] = []
        for line in lines:
            try:
                text, thought = self._read_line(line)
            except ValueError as problem:
                if not any(texts) and not any(thoughts):
                    raise
                self._problem = problem
                break
            texts.append(text)
            thoughts.append(thought)
            if self._is_over:
                break
        piece = self._splitter.feed(self._texts.feed("".join(texts)))
        thought = self._thoughts.feed("".join(thoughts)) + piece.reasoning
        return Piece(text=piece.text, reasoning=thought, call_characters=self._calls.take_characters())

    def _read_line(self, line: bytes) -> tuple[str, str]:
        """Text and reasoning of a line of the event stream; notes what else it says."""
        data = line.removeprefix(b"data:").strip()
        if line.startswith(b"error:"):  # of llama.cpp
            self._note_refusal(line.removeprefix(b"error:").strip())
            raise ValueError("the server sent an error")
        if not line.startswith(b"data:"):
            if not self._has_chunk and len(self._other) < READ_BYTES and (self._other or data.startswith(b"{")):
                self._other += data
            return "", ""
        if not data:
            return "", ""
        if data == DONE:
            self._is_over = True
            return "", ""
        try:
            chunk = json.loads(data.decode("utf-8", "surrogateescape"))
        except RecursionError as problem:
            raise ValueError("the chunk is nested too deeply") from problem
        if not isinstance(chunk, dict) or chunk.get("error") or chunk.get("object") == "error":
            self._note_refusal(data)
            raise ValueError("the server sent no chunk of a completion")
        self._has_chunk = True
        try:
            return self._read_chunk(chunk)
        except (AttributeError, TypeError) as problem:
            raise ValueError("a chunk of a completion has another form") from problem

    def _read_chunk(self, chunk: Mapping[str, Any]) -> tuple[str, str]:
        if not self.model and isinstance(name := chunk.get("model"), str):
            self.model = one_line(name, MAX_NAME)
        if usage := chunk.get("usage"):  # comes in a chunk of its own, after the last text
            self.usage = Usage(
                prompt_tokens=usage.get("prompt_tokens") or 0,
                completion_tokens=usage.get("completion_tokens") or 0,
                reasoning_tokens=(usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0,
            )
        texts, thoughts = [], []
        for choice in chunk.get("choices") or ():
            self.finish_reason = self.finish_reason or choice.get("finish_reason")
            delta = choice.get("delta") or {}
            texts.append(delta.get("content") or "")
            for part in delta.get("tool_calls") or ():
                self._calls.add(part)
            thoughts.append(delta.get("reasoning_content") or delta.get("reasoning") or "")
        return "".join(texts), "".join(thoughts)

    async def close(self) -> None:
        """Give the connection back; safe to call twice and before `open`."""
        await self._opened.aclose()
