"""Readers of running answers who lose their connection or load the page anew at random moments, again and again.

What each of them has put together at the end must be the stored answer, character by character, and the model must have
been asked once.
"""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import dataclass, field
from typing import Any

from tests.scripted_llm import Reply

STREAMS = "/api/v1/rag/streams"
PIECES = 60  # of an answer
PAUSE_SECONDS = 0.05  # of the model between two of them
READERS = 4  # of each answer: two pages and two clients of the API
MOST_READ = 5  # events until the next disconnect
RELOADS = 4  # of the page; who always begins anew never comes to the end
WORDS = ("切换", "a cell, ", "**bold** ", "№ 7 ", "ümlaut ", "[1]", "\n\n", "- point\n", "| a | b |\n", "`x`, ", "🙂 ")
HTTP_OK = 200


@dataclass
class Reader:
    """What one reader has seen of one answer."""

    message_id: str
    rng: random.Random
    last: int = 0
    chunks: dict[int, str] = field(default_factory=dict)
    blocks: dict[int, str] = field(default_factory=dict)
    done: dict[str, Any] | None = None
    disconnects: int = 0
    reloads: int = 0

    def take(self, number: int, kind: str, data: dict[str, Any]) -> None:
        """An event, in the order in which it came."""
        assert number > self.last, "an event came twice, or out of order"
        assert kind != "error", data
        self.last = number
        if kind == "chunk":
            self.chunks[number] = data["content"]
        elif kind == "block":
            self.blocks[data["index"]] = data["html"]
        elif kind == "done":
            self.done = data

    def leave(self) -> None:
        """The connection is gone; half of the first times the page is loaded anew and knows nothing any more."""
        self.disconnects += 1
        if self.reloads < RELOADS and self.rng.random() < 0.5:
            self.reloads += 1
            self.last, self.chunks, self.blocks = 0, {}, {}

    @property
    def text(self) -> str:
        """What a client of the API has; `done` may bring the whole answer in its place."""
        assert self.done is not None
        return self.done.get("answer") or "".join(self.chunks.values())


def random_answer(rng: random.Random) -> Reply:
    """An answer in small pieces of several scripts and Markdown."""
    pieces = [f"Answer {rng.randrange(10**9)}. ", *(rng.choice(WORDS) for _ in range(PIECES)), "End [1]."]
    return Reply(texts=tuple(pieces), pause_seconds=PAUSE_SECONDS)


async def read_as_page(site: Any, reader: Reader) -> None:
    """By WebSocket, until the answer is over."""
    while reader.done is None:
        async with site.socket(close_timeout=0.2) as socket:  # what was not read hides the other side's farewell
            left = reader.rng.randint(1, MOST_READ)
            await socket.send(json.dumps({"type": "resume", "message_id": reader.message_id, "after": reader.last}))
            while left and reader.done is None:
                event = json.loads(await socket.recv())
                if "id" in event:
                    reader.take(event["id"], event["type"], event["data"])
                    left -= 1
            if reader.done is None:
                reader.leave()
                if reader.rng.random() < 0.5:
                    socket.transport.abort()  # without a word, as where the network drops


async def read_as_client(site: Any, reader: Reader) -> None:
    """By server-sent events, until the answer is over."""
    async with site.client() as client:
        while reader.done is None:
            headers = {"Last-Event-ID": str(reader.last)} if reader.last else {}
            left, number = reader.rng.randint(1, MOST_READ), 0
            async with client.stream("GET", f"{STREAMS}/{reader.message_id}", headers=headers) as answer:
                assert answer.status_code == HTTP_OK
                async for line in answer.aiter_lines():
                    if line.startswith("id: "):
                        number = int(line[4:])
                    elif line.startswith("data: {"):
                        data = json.loads(line[6:])
                        reader.take(number, data["type"], data)
                        left -= 1
                    if not left or reader.done is not None:
                        break
            if reader.done is None:
                reader.leave()


async def follow_answer(site: Any, message_id: str, *, seed: int) -> list[Reader]:
    """Some readers of one answer until all of them have it."""
    readers = [Reader(message_id, random.Random(seed * READERS + number)) for number in range(READERS)]
    ways = (read_as_page, read_as_client)
    await asyncio.gather(*(ways[number % 2](site, reader) for number, reader in enumerate(readers)))
    return readers
