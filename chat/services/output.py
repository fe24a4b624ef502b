"""The text of an answer on its way to the reader."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from chat.rendering import BlockStream, render_markdown
from chat.types import Emit
from ragcore.grounding.links import LinkStream
from ragcore.grounding.markers import MarkerStream


class Output:
    """Takes what a model writes, normalises its markers, takes links out, and emits it.

    `chunk` events carry the Markdown. With `blocks` (web) each finished block follows as sanitised HTML, and the
    unfinished rest as `tail`. `numbers`: sources that markers may point to; `ids`: other names of them; `hosts`: those
    whose bare addresses stay links, None for all (see `LinkStream`).
    """

    def __init__(
        self,
        *,
        emit: Emit,
        numbers: Collection[int],
        ids: Mapping[str, int],
        blocks: bool,
        hosts: Collection[str] | None = None,
    ) -> None:
        self._emit = emit
        self._markers = MarkerStream(numbers=frozenset(numbers), ids=ids)
        self._links = LinkStream(hosts=hosts)
        self._numbers = numbers
        self._blocks = BlockStream() if blocks else None
        self._count = 0
        self._parts: list[str] = []

    @property
    def text(self) -> str:
        """What has been emitted so far."""
        return "".join(self._parts)

    async def write(self, text: str) -> None:
        """A piece as the model sent it."""
        await self._send(self._links.feed(self._markers.feed(text if self._parts else text.lstrip())))

    async def finish(self) -> str:
        """The whole text, when the model has ended."""
        await self._send((self._links.feed(self._markers.flush()) + self._links.flush()).rstrip())
        if self._blocks is not None and self._blocks.tail.strip():
            await self._block(self._blocks.tail)
            await self._emit("tail", text="")
        return self.text

    async def _send(self, text: str) -> None:
        if not text:
            return
        self._parts.append(text)
        await self._emit("chunk", content=text)
        if self._blocks is not None:
            for block in self._blocks.feed(text):
                await self._block(block)
            await self._emit("tail", text=self._blocks.tail)

    async def _block(self, markdown: str) -> None:
        await self._emit("block", index=self._count, html=render_markdown(markdown, citations=self._numbers))
        self._count += 1
