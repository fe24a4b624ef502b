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
from ragcore.server_words import READ_BYTES, server_words, speaks_protocol
from ragcore.types import Usage

COMPLETIONS = "chat/completions"  # below the base URL
DONE = b"[DONE]"  # the data of the last event
MAX_LINE_BYTES = 4 * 1024 * 1024
REFUSAL_SECONDS = 2.0  # for the words of a refusal


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

    def __init__(self, key: str = "") -> None:
        """`key`: what must not stand in `said`."""
        self._key = key
        self.finish_reason: str | None = None  # why it ended, as the server said
        self.usage: Usage | None = None
        self.is_open = False  # the server has taken the request
        self.said = ""  # by a server that refused
        self.speaks_protocol = True  # False: what refused is no model server
        self._opened = AsyncExitStack()
        self._received: AsyncIterator[bytes] | None = None
        self._held = b""  # the beginning of a line
        self._is_over = False
        self._problem: ValueError | None = None  # to be raised when what came before it was told
        self._splitter = ReasoningSplitter()

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
        return self._splitter.flush() or None

    async def _read_refusal(self, response: Any) -> None:
        """The beginning of what a server says where it refuses; nothing where it does not come soon."""
        content = b""
        with suppress(*stream_errors()):  # its status says enough
            async with asyncio.timeout(REFUSAL_SECONDS):
                async for part in response.aiter_bytes():
                    content += part
                    if len(content) >= READ_BYTES:
                        break
        text = content[:READ_BYTES].decode("utf-8", "replace")
        self.said, self.speaks_protocol = server_words(text, key=self._key), speaks_protocol(text)

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
        piece = self._splitter.feed("".join(texts))
        return Piece(text=piece.text, reasoning="".join(thoughts) + piece.reasoning)

    def _read_line(self, line: bytes) -> tuple[str, str]:
        """Text and reasoning of a line of the event stream; notes what else it says."""
        data = line.removeprefix(b"data:").strip()
        if not line.startswith(b"data:") or not data:
            return "", ""
        if data == DONE:
            self._is_over = True
            return "", ""
        chunk = json.loads(data)
        if not isinstance(chunk, dict) or chunk.get("error"):
            self.said = server_words(data.decode("utf-8", "replace"), key=self._key)
            raise ValueError("the server sent no chunk of a completion")
        try:
            return self._read_chunk(chunk)
        except (AttributeError, TypeError) as problem:
            raise ValueError("a chunk of a completion has another form") from problem

    def _read_chunk(self, chunk: Mapping[str, Any]) -> tuple[str, str]:
        if usage := chunk.get("usage"):  # comes in a chunk of its own, after the last text
            self.usage = Usage(
                prompt_tokens=usage.get("prompt_tokens") or 0, completion_tokens=usage.get("completion_tokens") or 0
            )
        texts, thoughts = [], []
        for choice in chunk.get("choices") or ():
            self.finish_reason = self.finish_reason or choice.get("finish_reason")
            delta = choice.get("delta") or {}
            texts.append(delta.get("content") or "")
            thoughts.append(delta.get("reasoning_content") or delta.get("reasoning") or "")
        return "".join(texts), "".join(thoughts)

    async def close(self) -> None:
        """Give the connection back; safe to call twice and before `open`."""
        await self._opened.aclose()
