"""`python -m bench.llm_client`: processor time of a stream through our client and through the package `openai`.

A server in a process of its own sends 200 chunks of a completion, each by itself. Both clients read it in turn in this
process, over the same pooled httpx client, without retries. Prints medians and the median of the paired differences,
also for a list of models and for an embeddings request, and what importing the package costs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from multiprocessing.connection import Connection

import httpx
from openai import AsyncOpenAI

from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.ports import ChatMessage

WARM_UP = 5
MODEL = "bench"
TEXTS = [f"passage {number}" for number in range(16)]
DIMENSIONS = 768
RESAMPLES = 2000
Request = Callable[[], Awaitable[object]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.llm_client", description=__doc__)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--chunks", type=int, default=200)
    parser.add_argument("--gap-ms", type=float, default=2.0, help="between two chunks of the server")
    arguments = parser.parse_args()
    parent, child = multiprocessing.Pipe()
    server = multiprocessing.Process(target=_serve, args=(child, arguments.chunks, arguments.gap_ms / 1000))
    server.start()
    try:
        asyncio.run(_measure(f"http://127.0.0.1:{parent.recv()}/v1", arguments.pairs, arguments.chunks))
    finally:
        server.terminate()
        server.join()
    for module in ("httpx", "openai"):
        print(f"import {module}: {_import_seconds(module):.2f} s of processor time")


async def _measure(url: str, pairs: int, chunks: int) -> None:
    ours = OpenAIChatModel(url, "key", MODEL)
    http: httpx.AsyncClient = ours._client()
    package = AsyncOpenAI(base_url=url, api_key="key", http_client=http, max_retries=0)
    messages = (ChatMessage(role="user", content="How long is the notice period?"),)

    async def stream_ours() -> str:
        events = ours.stream(messages, temperature=0.0, max_tokens=1000)
        return "".join([event.text async for event in events])

    async def stream_package() -> str:
        stream = await package.chat.completions.create(
            model=MODEL,
            messages=[{"role": "user", "content": messages[0].content}],
            temperature=0.0,
            max_tokens=1000,
            stream=True,
            stream_options={"include_usage": True},
        )
        texts = [choice.delta.content or "" async for chunk in stream for choice in chunk.choices]
        return "".join(texts)

    async def list_ours() -> int:
        return len((await http.get("models")).json()["data"])

    async def list_package() -> int:
        return len((await package.models.list()).data)

    async def embed_ours() -> int:
        answer = await http.post("embeddings", json={"model": MODEL, "input": TEXTS})
        return len(answer.json()["data"])

    async def embed_package() -> int:
        answer = await package.embeddings.create(model=MODEL, input=TEXTS, encoding_format="float")
        return len(answer.data)

    await _compare(f"stream of {chunks} chunks", stream_ours, stream_package, pairs)
    await _compare("list of models", list_ours, list_package, pairs)
    await _compare(f"embeddings of {len(TEXTS)} texts", embed_ours, embed_package, pairs)
    await ours.close()


async def _compare(name: str, ours: Request, package: Request, pairs: int) -> None:
    """Print what a request costs each of the two, which have to bring the same."""
    if await ours() != await package():
        raise SystemExit(f"{name}: the clients read different answers")
    for _ in range(WARM_UP):
        await ours()
        await package()
    measured: list[tuple[float, float]] = []
    for number in range(pairs):
        order = (ours, package) if number % 2 else (package, ours)
        seconds = {request: await _processor_ms(request) for request in order}
        measured.append((seconds[ours], seconds[package]))
    differences = [other - own for own, other in measured]
    low, high = _interval(differences)
    own, other = (statistics.median(column) for column in zip(*measured, strict=True))
    print(
        f"{name}: ours {own:.2f} ms, package {other:.2f} ms, "
        f"more {statistics.median(differences):.2f} ({low:.2f} to {high:.2f}) ms"
    )


async def _processor_ms(request: Request) -> float:
    begun = time.process_time()
    await request()
    return (time.process_time() - begun) * 1000


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the median, by resampling."""
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES)]


def _import_seconds(module: str) -> float:
    """Processor time of a fresh process that imports a module, above one that imports nothing."""
    code = "import time; begun = time.process_time(); import {}; print(time.process_time() - begun)"
    runs = [subprocess.check_output([sys.executable, "-c", code.format(module)]) for _ in range(5)]  # noqa: S603
    return statistics.median(float(printed) for printed in runs)


# ── the server ────────────────────────────────────────────────────────────────────────────────────


def _serve(connection: Connection, chunks: int, gap_seconds: float) -> None:
    asyncio.run(_serving(connection, chunks, gap_seconds))


async def _serving(connection: Connection, chunks: int, gap_seconds: float) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                await reader.readexactly(_body_length(head))
                await _answer(head.split()[1], writer, chunks, gap_seconds)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    connection.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def _body_length(head: str) -> int:
    lines = (line.lower() for line in head.splitlines())
    return next((int(line.partition(":")[2]) for line in lines if line.startswith("content-length:")), 0)


async def _answer(path: str, writer: asyncio.StreamWriter, chunks: int, gap_seconds: float) -> None:
    if path.endswith("/completions"):
        await _stream(writer, chunks, gap_seconds)
        return
    if path.endswith("/models"):
        data: object = [{"id": f"m{n}", "object": "model", "created": 0, "owned_by": "bench"} for n in range(20)]
    else:
        data = [{"object": "embedding", "index": n, "embedding": [0.01 * n] * DIMENSIONS} for n in range(len(TEXTS))]
    listed = {"object": "list", "model": MODEL, "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    body = json.dumps(listed).encode()
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
    writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    await writer.drain()


async def _stream(writer: asyncio.StreamWriter, chunks: int, gap_seconds: float) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    for number in range(chunks):
        is_last = number == chunks - 1
        choice = {"index": 0, "delta": {"content": f"word{number} "}, "finish_reason": "stop" if is_last else None}
        await _send(writer, _chunk([choice]))
        await asyncio.sleep(gap_seconds)
    usage = {"prompt_tokens": 7, "completion_tokens": chunks, "total_tokens": chunks + 7}
    await _send(writer, _chunk([], usage=usage))
    await _send(writer, b"data: [DONE]\n\n")
    writer.write(b"0\r\n\r\n")
    await writer.drain()


def _chunk(choices: list[dict[str, object]], **more: object) -> bytes:
    chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 0, "model": MODEL, "choices": choices, **more}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


async def _send(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))
    await writer.drain()


if __name__ == "__main__":
    main()
