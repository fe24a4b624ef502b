"""One streamed chat completion: its texts, whether it ended properly, and its usage."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cache
from typing import Any

from ragcore.types import Usage


@cache
def breaks() -> tuple[type[Exception], ...]:
    """What a request or a stream fails with: refused, lost, cut off, late, or not in the expected format."""
    import httpx
    from openai import OpenAIError

    return (OpenAIError, httpx.HTTPError, TimeoutError, ValueError)


class Completion:
    """Reads the chunks of one stream; raises one of `breaks()` when it fails."""

    def __init__(self) -> None:
        self.finish_reason: str | None = None  # why it ended, as the server said
        self.usage: Usage | None = None
        self._chunks: Any = None

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
        async with asyncio.timeout_at(deadline):
            self._chunks = await client.chat.completions.create(
                **request, stream=True, stream_options={"include_usage": True}
            )

    async def next_text(self, deadline: float) -> str | None:
        """The next text that is not empty, or None at the end of the stream."""
        while True:
            async with asyncio.timeout_at(deadline):
                chunk = await anext(self._chunks, None)
            if chunk is None:
                return None
            if chunk.usage is not None:  # comes in a chunk of its own, after the last text
                self.usage = Usage(
                    prompt_tokens=chunk.usage.prompt_tokens or 0, completion_tokens=chunk.usage.completion_tokens or 0
                )
            for choice in chunk.choices:
                self.finish_reason = self.finish_reason or choice.finish_reason
                if choice.delta.content:
                    return str(choice.delta.content)

    async def close(self) -> None:
        """Give the connection back; safe to call twice and before `open`."""
        if self._chunks is not None:
            await self._chunks.close()
