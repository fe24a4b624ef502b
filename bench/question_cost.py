"""`make bench-cost URL=… KEY=… DATA=DIR`: processor time that one question costs a running product.

Questions of a public set (`queries.jsonl` below DATA) are asked one after the other over REST, without the cache.
User and system time of all processes of the product are read before and after; what they use while nobody
asks is subtracted. Times are milliseconds of one core a question, with a 95 % interval over blocks of questions.

With several URLs (and as many KEYs) the products are compared: each block is asked to every product, in turns, so that
other work on the machine hits all alike, and the difference to the first product is printed with its interval.

The kind `first-word` needs a product with a language model and counts only what happens up to the first word; point
LLM_BASE_URL of the product to `python -m bench.latency.model_server`. The others count the whole request. Start the
product on this machine with `make run` and QUESTIONS_PER_MINUTE=0: its processes are found below its supervisor.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bench.latency.__main__ import events

KINDS = ("retrieve", "answer", "first-word")
PARTS = ("web", "postgres", "redis", "other")
WEB = ("ragsite.web_server", "ragsite.asgi")  # commands of the web server; its processes are children of it
SETTLE_SECONDS = 0.05  # what follows the last byte of an answer belongs to its question
SECONDS = 120

Milliseconds = dict[str, float]  # by part of the product


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.question_cost", description=__doc__)
    parser.add_argument("--url", nargs="+", default=["http://127.0.0.1:8000"])
    parser.add_argument("--key", nargs="+", required=True)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=["retrieve", "answer"])
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--block", type=int, default=10, help="questions asked to one product in a row")
    parser.add_argument("--warm-up", type=int, default=20, help="questions that are not counted")
    parser.add_argument("--idle-seconds", type=float, default=20)
    parser.add_argument("data", nargs="+", type=Path, help="folders with queries.jsonl")
    arguments = parser.parse_args()
    products = [Product(url=url, key=key) for url, key in zip(arguments.url, arguments.key, strict=True)]
    each = arguments.questions + arguments.warm_up  # no question is asked in two kinds: the second would find it warm
    questions = questions_of(arguments.data, each * len(arguments.kinds))
    asked = {kind: questions[at * each : (at + 1) * each] for at, kind in enumerate(arguments.kinds)}
    for product in products:
        for kind in arguments.kinds:
            for question in asked[kind][: arguments.warm_up]:
                ASK[kind](product, question)
    measure_idle(products, seconds=arguments.idle_seconds)
    costs: dict[str, list[list[Milliseconds]]] = {kind: [[] for _ in products] for kind in arguments.kinds}
    blocks = {kind: blocks_of(asked[kind][arguments.warm_up :], arguments.block) for kind in arguments.kinds}
    for number, at_once in enumerate(zip(*blocks.values(), strict=True)):
        order = list(range(len(products)))
        for kind, block in zip(blocks, at_once, strict=True):
            for at in order if number % 2 == 0 else reversed(order):
                costs[kind][at].append(block_cost(products[at], kind, block))
    for kind, by_product in costs.items():
        print(table(kind, [product.url for product in products], by_product, questions=arguments.questions), flush=True)


def questions_of(folders: Sequence[Path], number: int) -> list[str]:
    """As many questions of each folder, mixed; the same ones in every run."""
    share, found = math.ceil(number / len(folders)), []
    for folder in folders:
        lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
        texts = [str(json.loads(line)["text"]) for line in lines]
        found += random.Random(7).sample(texts, min(share, len(texts)))  # noqa: S311 - no secret
    random.Random(7).shuffle(found)  # noqa: S311 - no secret
    return found[:number]


def blocks_of(questions: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for first in range(0, len(questions), size):
        yield questions[first : first + size]


# ── processes ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Product:
    """One running product, with what its processes use while nobody asks."""

    url: str
    key: str
    idle: Milliseconds = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))  # a second
    supervisor: int = field(init=False)
    parts: dict[int, str] = field(init=False, default_factory=dict)  # of processes that are known already

    def __post_init__(self) -> None:
        port = urllib.parse.urlsplit(self.url).port or 80
        self.supervisor = _supervisor_of(_listener(port))

    def used(self) -> Milliseconds:
        """Processor time of all processes so far, and of those of their children that have ended."""
        used, root = dict.fromkeys(PARTS, 0.0), psutil.Process(self.supervisor)
        for process in (root, *root.children(recursive=True)):
            try:
                times = process.cpu_times()
                part = self.parts.get(process.pid) or self.parts.setdefault(process.pid, _part_of(process))
            except psutil.NoSuchProcess:  # it has ended; its time is with its parent
                continue
            used[part] += 1000 * (times.user + times.system + times.children_user + times.children_system)
        return used

    def post(self, path: str, body: Mapping[str, object]) -> urllib.request.Request:
        return urllib.request.Request(
            self.url + path,
            data=json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"},
        )


def _command(process: psutil.Process) -> str:
    return " ".join(process.cmdline())


def _part_of(process: psutil.Process) -> str:
    command = _command(process)
    for word, part in (("postgres", "postgres"), ("redis-server", "redis"), ("valkey-server", "redis")):
        if word in command.split(" ", 1)[0]:
            return part
    parent = process.parent()
    commands = [command] if parent is None else [command, _command(parent)]
    return "web" if any(name in each for name in WEB for each in commands) else "other"


def _listener(port: int) -> int:
    """The process that listens on a port. Raises SystemExit."""
    for found in psutil.net_connections("tcp"):
        if found.status == psutil.CONN_LISTEN and found.laddr.port == port and found.pid is not None:
            return found.pid
    raise SystemExit(f"no process of this machine listens on port {port}")


def _supervisor_of(pid: int) -> int:
    """The topmost process of the product: `python -m ragsite.embedded`; `pid` itself where there is none."""
    listener = psutil.Process(pid)
    above = [each.pid for each in (listener, *listener.parents()) if "ragsite.embedded" in _command(each)]
    return above[-1] if above else pid


# ── asking ────────────────────────────────────────────────────────────────────────────────────────


def ask_retrieve(product: Product, question: str) -> Milliseconds | None:
    with urllib.request.urlopen(product.post("/api/v1/rag/retrieve", {"query": question}), timeout=SECONDS) as answer:
        answer.read()
    return None


def ask_answer(product: Product, question: str) -> Milliseconds | None:
    body = {"query": question, "cache": False}
    with urllib.request.urlopen(product.post("/api/v1/rag/generate", body), timeout=SECONDS) as answer:
        answer.read()
    return None


def ask_first_word(product: Product, question: str) -> Milliseconds | None:
    """What was used when the first word arrived; the rest of the answer is read before the next question."""
    body = {"query": question, "cache": False}
    used = None
    with urllib.request.urlopen(product.post("/api/v1/rag/generate/stream", body), timeout=SECONDS) as answer:
        for event in events(answer):
            if event["type"] == "error":
                raise SystemExit(f"{question}: {event}")
            if event["type"] == "chunk" and used is None:
                used = product.used()
    return used or product.used()


ASK: Mapping[str, Callable[[Product, str], Milliseconds | None]] = {
    "retrieve": ask_retrieve,
    "answer": ask_answer,
    "first-word": ask_first_word,
}


def measure_idle(products: Sequence[Product], *, seconds: float) -> None:
    """What each product uses a second while nobody asks."""
    time.sleep(1)
    before, start = [product.used() for product in products], time.monotonic()
    time.sleep(seconds)
    passed = time.monotonic() - start
    for product, earlier in zip(products, before, strict=True):
        now = product.used()
        product.idle = {part: (now[part] - earlier[part]) / passed for part in PARTS}


def block_cost(product: Product, kind: str, questions: Sequence[str]) -> Milliseconds:
    """Mean processor time of these questions, by part, above what the product uses anyhow."""
    cost = dict.fromkeys(PARTS, 0.0)
    for question in questions:
        before, start = product.used(), time.monotonic()
        after = ASK[kind](product, question)
        passed = time.monotonic() - start
        time.sleep(SETTLE_SECONDS)
        if after is None:
            after, passed = product.used(), time.monotonic() - start
        for part in PARTS:
            cost[part] += after[part] - before[part] - passed * product.idle[part]
    return {part: value / len(questions) for part, value in cost.items()}


# ── report ────────────────────────────────────────────────────────────────────────────────────────


def table(kind: str, names: Sequence[str], costs: Sequence[Sequence[Milliseconds]], *, questions: int) -> str:
    """Markdown: one row a product, and the difference of each further one to the first."""
    lines = [
        f"\n{kind}: ms of processor time a question, {questions} questions, 95 % interval\n",
        "| product | all | " + " | ".join(PARTS) + " |",
        "|---|---|" + "---|" * len(PARTS),
    ]
    first = [sum(block.values()) for block in costs[0]]
    for at, (name, blocks) in enumerate(zip(names, costs, strict=True)):
        totals = [sum(block.values()) for block in blocks]
        parts = " | ".join(f"{statistics.fmean(block[part] for block in blocks):.1f}" for part in PARTS)
        lines.append(f"| {name} | {with_interval(totals)} | {parts} |")
        if at:
            change = [mine - other for mine, other in zip(totals, first, strict=True)]
            by_part = [
                with_interval([mine[part] - other[part] for mine, other in zip(blocks, costs[0], strict=True)])
                for part in PARTS
            ]
            lines.append(f"| against the first | {with_interval(change)} | " + " | ".join(by_part) + " |")
    return "\n".join(lines)


def with_interval(values: Sequence[float]) -> str:
    """The mean and its 95 % interval by normal approximation."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return f"{mean:.1f}"
    reach = 1.96 * statistics.stdev(values) / math.sqrt(len(values))
    return f"{mean:.1f} ({mean - reach:.1f} to {mean + reach:.1f})"


if __name__ == "__main__":
    main()
