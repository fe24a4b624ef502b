"""People with a script: ask, follow up, open a source, vote, upload, over the WebSocket of the page or over REST."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
import websockets

from bench.load.figures import Figures
from bench.load.people import Account

ANSWER_SECONDS = 300.0  # as long as the product lets a stream run
FOLLOW_UP = "Why is that so?"
VOTES = ("up", "down")
UPLOAD_EVERY = 4  # one person in so many uploads


class ActionError(Exception):
    """An action did not succeed; the message is short, it is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a person knows of an answer."""

    message_id: str
    conversation_id: str
    has_sources: bool


@dataclass
class Person:
    """One person on one site. `think` seconds pass between two actions, on average."""

    site: str
    account: Account
    questions: Sequence[str]
    figures: Figures
    think: float
    random: random.Random
    over_rest: bool
    uploads: bool
    client: httpx.AsyncClient = field(init=False)

    async def act(self, until: float) -> None:
        """Repeat the script until a time of `time.monotonic`; a round that has begun is finished."""
        cookies, headers = {"sessionid": self.account.session}, {"Authorization": f"Bearer {self.account.key}"}
        async with httpx.AsyncClient(base_url=self.site, cookies=cookies, timeout=60, trust_env=False) as self.client:
            self.client.headers.update(headers if self.over_rest else {})
            await self._pause(until)
            while time.monotonic() < until:
                await self._round(until, headers)

    async def _round(self, until: float, headers: dict[str, str]) -> None:
        first = await self.timed("ask", self.ask(self.random.choice(self.questions), None))
        await self._pause(until)
        if first is None:
            return
        await self.timed("follow up", self.ask(FOLLOW_UP, first.conversation_id))
        if first.has_sources:
            await self.timed("open a source", self._get(f"/messages/{first.message_id}/sources/1"))
        vote = {"message_id": first.message_id, "vote": self.random.choice(VOTES)}
        await self.timed("vote", self._post("/api/v1/feedback", headers, json=vote))
        if self.uploads:
            name = f"{uuid4().hex}.txt"
            files = {"file": (name, f"Notes of {self.account.name}: {name} was written for a load.".encode())}
            fields = {"sets": str(self.account.set_id), "title": name}
            await self.timed("upload", self._post("/api/v1/documents", headers, files=files, data=fields))
        await self._pause(until)

    async def _pause(self, until: float) -> None:
        seconds = self.random.expovariate(1 / self.think) if self.think else 0.0
        await asyncio.sleep(max(0.0, min(seconds, until - time.monotonic())))

    async def timed(self, action: str, doing: Any) -> Any:
        """Its result and its time; None and a failure counted where it did not succeed."""
        started = time.monotonic()
        try:
            result = await doing
        except (ActionError, httpx.HTTPError, websockets.WebSocketException, OSError, TimeoutError) as error:
            self.figures.fail(action, str(error) if isinstance(error, ActionError) else type(error).__name__)
            return None
        self.figures.add(action, time.monotonic() - started)
        return result

    async def _get(self, path: str) -> None:
        answer = await self.client.get(path)
        if answer.status_code != httpx.codes.OK:
            raise ActionError(f"status {answer.status_code}")

    async def _post(self, path: str, headers: dict[str, str], **body: Any) -> None:
        answer = await self.client.post(path, headers=headers, **body)
        if not answer.is_success:
            raise ActionError(f"status {answer.status_code}")

    # ── asking ──────────────────────────────────────────────────────────────────────────────────

    async def ask(self, question: str, conversation_id: str | None) -> Answered:
        """Raises ActionError; the time to the first word is recorded beside that of the action."""
        started = time.monotonic()
        events = self._over_rest if self.over_rest else self._over_websocket
        known: dict[str, Any] = {"conversation_id": conversation_id or str(uuid4())}
        async with asyncio.timeout(ANSWER_SECONDS):
            async for event in events(question, conversation_id, known["conversation_id"]):
                kind = event["type"]
                if kind in ("chunk", "tail", "block") and "first" not in known:
                    known["first"] = time.monotonic() - started
                    self.figures.add("first word", known["first"])
                elif kind == "turn":
                    known["conversation_id"] = event["conversation_id"]
                elif kind in ("error", "problem"):
                    raise ActionError(event.get("code") or event["data"]["code"])
                elif kind == "citations":
                    known["citations"] = event.get("citations") or event.get("data", {}).get("citations")
                elif kind == "done":
                    return Answered(
                        message_id=event["message_id"],
                        conversation_id=known["conversation_id"],
                        has_sources=bool(known.get("citations")),
                    )
        raise ActionError("no end")

    async def _over_rest(self, question: str, _: str | None, conversation: str) -> AsyncIterator[dict[str, Any]]:
        body = {"query": question, "conversation_id": conversation, "cache": False}
        async with self.client.stream("POST", "/api/v1/rag/generate/stream", json=body, timeout=None) as answer:
            if answer.status_code != httpx.codes.OK:
                raise ActionError(f"status {answer.status_code}")
            async for line in answer.aiter_lines():
                if line.startswith("data: {"):
                    yield json.loads(line[6:])

    async def _over_websocket(self, question: str, conversation: str | None, _: str) -> AsyncIterator[dict[str, Any]]:
        address = f"{self.site.replace('http', 'ws', 1)}/ws/chat"
        cookie = {"Cookie": f"sessionid={self.account.session}"}
        async with websockets.connect(address, origin=self.site, additional_headers=cookie, proxy=None) as socket:  # type: ignore[arg-type]
            await socket.send(json.dumps({"type": "ask", "question": question, "conversation_id": conversation}))
            async for message in socket:
                yield json.loads(message)


async def run_people(
    *, site: str, accounts: Sequence[Account], questions: Sequence[str], seconds: float, think: float, seed: int = 1
) -> Figures:
    """Let all people act for some time; what they have begun is waited for."""
    figures, until = Figures(), time.monotonic() + seconds
    people = [
        Person(
            site=site,
            account=account,
            questions=questions,
            figures=figures,
            think=think,
            random=random.Random(seed * 10_000 + number),
            over_rest=number % 2 == 1,
            uploads=number % UPLOAD_EVERY == 0,
        )
        for number, account in enumerate(accounts)
    ]
    await asyncio.gather(*(person.act(until) for person in people))
    return figures


async def load_documents(*, site: str, account: Account, until: asyncio.Event, seed: int) -> int:
    """Send bulk loads of texts, one after another, until told to stop; how many documents were accepted."""
    accepted = 0
    headers = {"Authorization": f"Bearer {account.key}", "Content-Type": "application/x-ndjson"}
    async with httpx.AsyncClient(base_url=site, headers=headers, timeout=120, trust_env=False) as client:
        while not until.is_set():
            lines = [_document(account.set_id, f"{seed}-{accepted + number}") for number in range(50)]
            answer = await client.post("/api/v1/documents/bulk", content="\n".join(lines))
            answer.raise_for_status()
            accepted += len(lines)
            with suppress(TimeoutError):
                async with asyncio.timeout(2):
                    await until.wait()
    return accepted


def _document(set_id: int, name: str) -> str:
    text = " ".join(f"Record {name} says in sentence {number} what unit {number * 7} does." for number in range(30))
    return json.dumps({"external_id": f"load-{name}", "title": name, "text": text, "sets": [set_id]})
