"""What strangers and one person's sockets cost a running product: `python -m bench.edges --url … --key … --data-dir …`.

Peak memory of the web processes while 150 MB bodies come to several addresses, while bad bulk lines come, and while
files and an archive of the largest size that is accepted are uploaded; and the time of another person's answers beside
1,000 sockets. The key is an administrator's. `--only uploads` does one of the parts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

import httpx
import psutil
import websockets
from websockets.typing import Origin

MIB = 1024 * 1024
BODY_BYTES = 150 * MIB
UPLOAD_BYTES = 99 * MIB  # MAX_UPLOAD_MB is 100 by default
ADDRESSES = (
    "/api/v1/documents",
    "/api/v1/documents/bulk",
    "/api/v1/webhooks/x",
    "/api/v1/rag/generate",
    "/v1/chat/completions",
    "/mcp",
    "/admin/",
    "/nowhere",
)
SOCKETS = 1000
ROUNDS = 40


def web_processes(data_dir: str) -> list[psutil.Process]:
    """Those of the product with this DATA_DIR."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if "ragsite.web_server" in process.cmdline() and process.environ().get("DATA_DIR") == data_dir:
                found.append(process)
    return found


class Peak:
    """The growth of the peak memory of each process inside of its context, in MB."""

    def __init__(self, processes: Sequence[psutil.Process]) -> None:
        self.processes = processes
        self.growth: list[float] = []

    def __enter__(self) -> Peak:
        for process in self.processes:
            Path(f"/proc/{process.pid}/clear_refs").write_text("5", encoding="ascii")  # begin at what is used now
        self._before = [_status(process, "VmRSS") for process in self.processes]
        return self

    def __exit__(self, *_: object) -> None:
        after = [_status(process, "VmHWM") for process in self.processes]
        self.growth = [round((high - low) / 1024, 1) for high, low in zip(after, self._before, strict=True)]


def _status(process: psutil.Process, name: str) -> int:
    lines = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


async def send_large(url: str, key: str | None, *, chunked: bool) -> dict[str, int | str]:
    """Status of each address for a body of 150 MB."""

    async def body() -> AsyncIterator[bytes]:
        for _ in range(BODY_BYTES // MIB):
            yield b"x" * MIB

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    if not chunked:
        headers["Content-Length"] = str(BODY_BYTES)
    answers: dict[str, int | str] = {}
    async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as client:

        async def one(path: str) -> None:
            try:
                answers[path] = (await client.post(path, content=body(), headers=headers)).status_code
            except httpx.HTTPError as error:
                answers[path] = type(error).__name__

        await asyncio.gather(*map(one, ADDRESSES))
    return answers


async def uploads(url: str, key: str, processes: Sequence[psutil.Process]) -> None:
    """Two files at once, and an archive of large files, which its sender wants unpacked."""
    headers = {"Authorization": f"Bearer {key}"}
    code = f"edge{uuid.uuid4().hex[:6]}"
    with TemporaryDirectory() as folder:
        files = [large_file(Path(folder) / f"large {number}.pdf") for number in range(2)]
        packed = Path(folder) / "large.zip"
        with ZipFile(packed, "w") as archive:  # not compressed
            for number in range(3):
                archive.writestr(f"part {number}.pdf", os.urandom(30 * MIB))
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=300, trust_env=False) as client:
            made = await client.post("/api/v1/knowledge-sets", json={"name": code, "code": code, "axis": "1"})
            made.raise_for_status()

            async def send(path: Path, **fields: str) -> int:
                with path.open("rb") as file:
                    data = {"sets": str(made.json()["id"]), **fields}
                    sent = {"file": (path.name, file, "application/octet-stream")}
                    return (await client.post("/api/v1/documents", data=data, files=sent)).status_code

            for what, sending in (
                ("2 files of 100 MB", [send(path) for path in files]),
                ("an archive of 90 MB", [send(packed, unpack="true")]),
            ):
                with Peak(processes) as peak:
                    started = time.perf_counter()
                    answers = await asyncio.gather(*sending)
                print(f"{what}: {answers}, {time.perf_counter() - started:.1f} s, peak + {peak.growth} MB")


def large_file(path: Path) -> Path:
    """As large as may be, and no document: reading it fails at once, so that only the upload is measured."""
    with path.open("wb") as file:
        for _ in range(UPLOAD_BYTES // MIB):
            file.write(os.urandom(MIB))
    return path


async def answer_seconds(client: httpx.AsyncClient, rounds: int) -> list[float]:
    """Times of questions one after the other; none is answered from the cache."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        answer = await client.post("/api/v1/rag/generate", json={"query": "Who opens the valve?", "cache": False})
        answer.raise_for_status()
        times.append(time.perf_counter() - started)
    return times


async def sockets_beside_answers(url: str, key: str, password: str) -> None:
    """Answers of one person beside the sockets of another one, in turns with answers without them."""
    name = f"edge{uuid.uuid4().hex[:6]}"
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60, trust_env=False) as admin:
        (await admin.post("/api/v1/users", json={"username": name, "clearance": 0})).raise_for_status()
        made = await admin.post("/api/v1/api-keys", json={"username": name, "name": "edges"})
    headers = {"Authorization": f"Bearer {made.json()['key']}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60, trust_env=False) as other:
        await answer_seconds(other, 5)
        alone, beside = [], []
        cookie = await session_of(url, "admin", password)
        opened = 0
        for _ in range(2):
            alone += await answer_seconds(other, ROUNDS // 2)
            sockets = await open_sockets(url, cookie)
            opened = len([one for one in sockets if one.close_code is None])
            beside += await answer_seconds(other, ROUNDS // 2)
            await asyncio.gather(*(one.close() for one in sockets))
    slower = statistics.median(beside) / statistics.median(alone) - 1
    print(json.dumps({"sockets asked for": SOCKETS, "open": opened, "p50 alone": statistics.median(alone),
                      "p50 beside": statistics.median(beside), "slower": round(slower, 3)}))  # fmt: skip


async def session_of(url: str, name: str, password: str) -> str:
    """The session cookie of someone who has signed in."""
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as client:
        await client.get("/sign-in")
        form = {"username": name, "password": password, "csrfmiddlewaretoken": client.cookies["csrftoken"]}
        await client.post("/sign-in", data=form)
        return client.cookies["sessionid"]


async def open_sockets(url: str, session: str) -> list[websockets.ClientConnection]:
    """As many as are wanted; those that were refused are closed."""
    address = f"{url.replace('http', 'ws', 1)}/ws/chat"
    gate = asyncio.Semaphore(50)

    async def one() -> websockets.ClientConnection:
        async with gate:
            cookie = {"Cookie": f"sessionid={session}"}
            return await websockets.connect(
                address, origin=Origin(url), additional_headers=cookie, proxy=None, open_timeout=60
            )

    found = await asyncio.gather(*(one() for _ in range(SOCKETS)))
    await asyncio.sleep(2)  # until the last refusals have arrived
    return list(found)


async def bodies(url: str, key: str, processes: Sequence[psutil.Process]) -> None:
    """Bodies that nobody wants: too large, of strangers, and full of bad lines."""
    for who, sent_key in (("strangers", None), ("a key", key)):
        for chunked in (False, True):
            with Peak(processes) as peak:
                answers = await send_large(url, sent_key, chunked=chunked)
            print(f"150 MB of {who}, {'chunked' if chunked else 'declared'}: peak + {peak.growth} MB, {answers}")
    async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as client:
        for lines in (200_000, 20_000_000):
            with Peak(processes) as peak:
                started = time.perf_counter()
                answer = await client.post(
                    "/api/v1/documents/bulk",
                    content=b"x\n" * lines,
                    headers={"Authorization": f"Bearer {key}", "Content-Type": "application/x-ndjson"},
                )
            seconds = time.perf_counter() - started
            size = len(answer.content)
            print(f"{lines} bad lines: {answer.status_code}, {seconds:.2f} s, {size} bytes, peak + {peak.growth} MB")


async def run(arguments: argparse.Namespace) -> None:
    url, key, processes = arguments.url, arguments.key, web_processes(arguments.data_dir)
    if arguments.only in (None, "bodies"):
        await bodies(url, key, processes)
    if arguments.only in (None, "uploads"):
        await uploads(url, key, processes)
    if arguments.only in (None, "sockets"):
        await sockets_beside_answers(url, key, arguments.password)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--password", required=True, help="of the administrator")
    parser.add_argument("--only", choices=("bodies", "uploads", "sockets"))
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
