"""Streams the text of an answer: normalises markers, removes links, renders blocks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence

from chat.concurrency.executors import run_cpu
from chat.rendering import BlockStream, finished_blocks, render_markdown
from chat.rendering.source_notes import with_page_language
from chat.types import EventSink
from ragcore.grounding.links import LinkStream
from ragcore.grounding.markers import MarkerStream
from ragcore.text.code_blocks import in_words
from ragcore.text.markdown import without_pictures

PIECE_CHARACTERS = 500  # of a text that are cleaned in one go
TURN_SECONDS = 0.01  # of cleaning, after which other tasks have their turn
SHORT_CHARACTERS = 1_000  # of a tail that is cut into blocks on the event loop: it takes less than a thread's turn


class TextEmitter:
    """Emits what a model writes, with its markers normalised and foreign links removed.

    `chunk` events carry the Markdown. With `blocks` (web) each finished block follows as sanitised HTML, and the
    unfinished rest as `tail`. `numbers`: sources that markers may point to; `ids`: other names of them; `known_urls`:
    bare addresses that stay links, None for all (see `LinkStream`). With `renumbers` markers get the numbers 1, 2, …
    in the order in which the text first has them; `numbering` tells which source has which.
    """

    def __init__(
        self,
        *,
        events: EventSink,
        numbers: Collection[int],
        ids: Mapping[str, int],
        blocks: bool,
        known_urls: Collection[str] | None = None,
        renumbers: bool = False,
    ) -> None:
        self._events = events
        self._markers = MarkerStream(numbers=frozenset(numbers), ids=ids, renumbers=renumbers)
        self._links = LinkStream(known_urls=known_urls)
        self._numbers = range(1, len(numbers) + 1) if renumbers else numbers
        self._blocks = BlockStream() if blocks else None
        self._count = 0
        self._parts: list[str] = []
        self._has_begun = False  # text came that is not blank; it may be held back yet
        self._turn_start = time.perf_counter()  # when other tasks last had their turn, at the latest

    @property
    def text(self) -> str:
        """What has been emitted so far."""
        return "".join(self._parts)

    @property
    def numbering(self) -> Mapping[int, int]:
        """Number of a source -> the one that the text has for it, in the order of the text."""
        return self._markers.numbering

    async def write(self, text: str) -> None:
        """A piece as the model sent it."""
        text = in_words(text if self._has_begun else text.lstrip(), without_pictures)
        self._has_begun = self._has_begun or bool(text)
        for start in range(0, len(text), PIECE_CHARACTERS):
            if time.perf_counter() - self._turn_start > TURN_SECONDS:  # many pieces may have come at once
                await asyncio.sleep(0)
                self._turn_start = time.perf_counter()
            await self._send(self._links.feed(self._markers.feed(text[start : start + PIECE_CHARACTERS])))

    async def finish(self) -> str:
        """The whole text, when the model has ended."""
        await self._send((self._links.feed(self._markers.flush()) + self._links.flush()).rstrip())
        if self._blocks is not None and self._blocks.tail.strip():
            await self._emit(await run_cpu(_rendered, [self._blocks.tail], self._numbers))
            await self._events("tail", text="")
        return self.text

    async def _send(self, text: str) -> None:
        if not text:
            return
        self._parts.append(text)
        await self._events("chunk", content=text)
        if self._blocks is not None:
            self._blocks.add(text)
            if self._blocks.is_due:
                await self._show_finished(self._blocks)
            await self._events("tail", text=self._blocks.tail)

    async def _show_finished(self, stream: BlockStream) -> None:
        """Show what is complete. A stop may come while threads work: then the tail is still whole."""
        is_short = len(stream.tail) <= SHORT_CHARACTERS
        blocks, rest = finished_blocks(stream.tail) if is_short else await run_cpu(finished_blocks, stream.tail)
        rendered = await run_cpu(_rendered, blocks, self._numbers) if blocks else []
        stream.cut(rest)
        await self._emit(rendered)

    async def _emit(self, rendered: Sequence[str]) -> None:
        for html in rendered:
            await self._events("block", index=self._count, html=html)
            self._count += 1


def _rendered(blocks: Sequence[str], numbers: Collection[int]) -> list[str]:
    html = (render_markdown(block, citations=numbers, with_languages=True) for block in blocks)
    return [with_page_language(block) for block in html]
