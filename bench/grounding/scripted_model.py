"""A stand-in for a language model on the loopback that follows the prompt: it looks answers up in the context.

It knows the right answers and can only say whether the context that it was sent contains one. It shows that prompt,
stream, markers and refusal fit together, and nothing about the quality of a model.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ragcore.grounding.citations import cleaned
from ragcore.grounding.context import render_context
from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.ports import ChatMessage
from ragcore.prompts import load
from ragcore.prompts.refusals import refusal
from ragcore.text.normalise import squeeze
from ragcore.text.scripts import language_of
from ragcore.training.support_examples import Row
from ragcore.types import Source

_BLOCK = re.compile(r"^\[Source (\d+)\] \(File: .*?\)\n(.*?)(?=\n\n---\n\n\[Source |\Z)", re.MULTILINE | re.DOTALL)


class LookingUp:
    """An answerer for `grounding_rgb.measured`."""

    def __init__(self, url: str, known: dict[str, Sequence[Sequence[str]]]) -> None:
        self._model = OpenAIChatModel(url, "none", "scripted")
        self._known = known

    def __call__(self, question: str, sources: Sequence[Source], row: Row) -> str:
        self._known[squeeze(question)] = row["answers"]
        return asyncio.run(self._answer(question, sources))

    async def _answer(self, question: str, sources: Sequence[Source]) -> str:
        language = language_of(question)
        system = load("answer_system").render(
            persona="",
            refusal=refusal("report", language),
            style=load("style_report").text,
            language="the same language",
        )
        user = load("answer_user").render(context=render_context(sources), question=question)
        messages = (ChatMessage(role="system", content=system), ChatMessage(role="user", content=user))
        parts = [event.text async for event in self._model.stream(messages, temperature=0.0, max_tokens=300)]
        await self._model.close()
        return cleaned("".join(parts), sources)[0]


@contextmanager
def looking_up() -> Iterator[LookingUp]:
    """The answerer with its server, which stops with the block."""
    known: dict[str, Sequence[Sequence[str]]] = {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(known))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield LookingUp(f"http://127.0.0.1:{server.server_port}/v1", known)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def reply(messages: Sequence[dict[str, str]], known: dict[str, Sequence[Sequence[str]]]) -> str:
    """What a model that follows the system message would write."""
    refused = re.search(r"nothing else: (.+)", messages[0]["content"])
    user = messages[-1]["content"]
    question = re.search(r"<question>\n(.*?)\n</question>", user, re.DOTALL)
    context = re.search(r"<context>\n(.*?)\n</context>", user, re.DOTALL)
    if refused is None or question is None or context is None:
        return "The prompt is not the one that was agreed."
    blocks = [(int(n), squeeze(text)) for n, text in _BLOCK.findall(context[1])]
    said = []
    for forms in known.get(squeeze(question[1]), []):
        hit = next(((f, n) for f in forms for n, text in blocks if squeeze(f) and squeeze(f) in text), None)
        if hit is None:
            return refused[1]
        said.append(f"{hit[0]} [Source {hit[1]}]")
    return ", ".join(said) + "." if said else refused[1]


def _handler(known: dict[str, Sequence[Sequence[str]]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = reply(body["messages"], known)
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for at in range(0, len(text), 7):
                self._event({"content": text[at : at + 7]}, None)
            self._event({}, "stop")
            self.wfile.write(b"data: [DONE]\n\n")

        def _event(self, delta: dict[str, Any], finish: str | None) -> None:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            data = {
                "id": "c",
                "object": "chat.completion.chunk",
                "created": 0,
                "model": "scripted",
                "choices": [choice],
            }
            self.wfile.write(b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n")

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    return Handler
