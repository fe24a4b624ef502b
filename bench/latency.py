"""`make bench-latency URL=… KEY=…`: time to the first word of a running product, and what each stage takes.

Asks the same questions in several ways, streamed, one after another, without the cache. Point LLM_BASE_URL of that
product to a model server of known speed: what it takes itself is in every figure.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

WAYS: Mapping[str, Mapping[str, Any]] = {
    "basic": {},
    "basic, two more forms": {"rewrite_method": "multi"},
    "enhanced": {"mode": "enhanced"},
    "adaptive": {"strategy": "adaptive"},
    "agentic": {"mode": "agentic"},
    "self_rag": {"strategy": "self_rag"},
}
QUESTIONS = (
    "What is random access?",
    "How does a handover work?",
    "Which timers are used in the procedure?",
    "随机接入是什么？",
    "载波聚合最多支持多少个载波？",
)


@dataclass(slots=True)
class Measured:
    """Seconds of all answers of one way."""

    first: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    stages: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.latency", description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--key", required=True)
    parser.add_argument("--rounds", type=int, default=6, help="how often each question is asked in each way")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS), metavar="WAY", help="only these")
    arguments = parser.parse_args()
    measured = {name: Measured() for name in arguments.ways}
    for turn in range(arguments.rounds + 1):
        for name in arguments.ways:  # in turns, so that other work on the machine hits all alike
            for question in QUESTIONS:
                into = measured[name] if turn else Measured()  # the first round warms up
                ask(arguments.url, arguments.key, {"query": question, "cache": False, **WAYS[name]}, into=into)
    print(table(measured))


def ask(url: str, key: str, body: Mapping[str, Any], *, into: Measured) -> None:
    """One streamed answer."""
    request = urllib.request.Request(
        f"{url}/api/v1/rag/generate/stream",
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    start, first = time.perf_counter(), None
    with urllib.request.urlopen(request, timeout=120) as answer:
        for event in events(answer):
            if event["type"] == "chunk" and first is None:
                first = time.perf_counter() - start
            if event["type"] == "error":
                raise SystemExit(f"{body}: {event}")
            if event["type"] == "done":
                for stage, seconds in (event["metadata"].get("stage_times") or {}).items():
                    into.stages[stage].append(seconds)
    into.whole.append(time.perf_counter() - start)
    if first is not None:
        into.first.append(first)


def events(lines: Iterable[bytes]) -> Iterable[dict[str, Any]]:
    for line in lines:
        if line.startswith(b"data: ") and not line.startswith(b"data: [DONE]"):
            yield json.loads(line[6:])


def table(measured: Mapping[str, Measured]) -> str:
    """Markdown: milliseconds, median and 95th percentile; stages by their medians."""
    head = "| way | first word, ms p50 / p95 | whole, ms p50 / p95 | stages, ms p50 |\n|---|---|---|---|"
    rows = [
        f"| {name} | {_both(m.first)} | {_both(m.whole)} | "
        + ", ".join(f"{stage} {1000 * statistics.median(values):.0f}" for stage, values in m.stages.items())
        + " |"
        for name, m in measured.items()
    ]
    return "\n".join([head, *rows])


def _both(seconds: Sequence[float]) -> str:
    if len(seconds) < 2:
        return "–"
    return f"{1000 * statistics.median(seconds):.0f} / {1000 * statistics.quantiles(seconds, n=20)[-1]:.0f}"


if __name__ == "__main__":
    main()
