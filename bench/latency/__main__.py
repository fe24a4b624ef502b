"""`make bench-latency URL=… KEY=…`: time to the first word of a running product, and what each stage takes.

Asks the same questions in several ways, streamed, one after another, without the cache. Point LLM_BASE_URL of that
product to a model server of known speed (`python -m bench.latency.model_server`): its own time is in every figure.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import urllib.request
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.demo_questions import DEMO_QUESTIONS

WAYS: Mapping[str, Mapping[str, Any]] = {
    "basic": {},
    "in a conversation": {"conversation": True},
    **{f"rewrite {name}": {"rewrite_method": name} for name in ("multi", "expand", "decompose", "step_back", "hyde")},
    **{
        f"compress {name}": {"compression_method": name}
        for name in ("sentence_extraction", "llm_compression", "hybrid")
    },
    "tiered": {"use_tiered_generation": True},
    "enhanced": {"mode": "enhanced"},
    "adaptive": {"strategy": "adaptive"},
    "agentic": {"mode": "agentic"},
    "ultimate": {"mode": "ultimate"},
    "self_rag": {"strategy": "self_rag"},
}
FIRST = "What is carrier aggregation?"  # of a conversation


@dataclass(slots=True)
class Measured:
    """Seconds of all answers of one way."""

    event: list[float] = field(default_factory=list)  # to the first event, which is the first thing that a reader sees
    first: list[float] = field(default_factory=list)  # to the first word
    tokens: list[float] = field(default_factory=list)
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
            for question in DEMO_QUESTIONS:
                into = measured[name] if turn else Measured()  # the first round warms up
                ask(arguments.url, arguments.key, {"query": question, "cache": False, **WAYS[name]}, into=into)
    print(table(measured))


def ask(url: str, key: str, body: Mapping[str, Any], *, into: Measured) -> None:
    """One streamed answer. With "conversation" the question follows another one of the same conversation."""
    sent = {name: value for name, value in body.items() if name != "conversation"}
    if body.get("conversation"):
        sent["conversation_id"] = f"latency-{uuid.uuid4()}"
        _asked(url, key, sent | {"query": FIRST}, Measured())
    _asked(url, key, sent, into)


def _asked(url: str, key: str, body: Mapping[str, Any], into: Measured) -> None:
    request = urllib.request.Request(
        f"{url}/api/v1/rag/generate/stream",
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    start = time.perf_counter()
    with urllib.request.urlopen(request, timeout=120) as answer:
        _read(events(answer), body, start, into)
    into.whole.append(time.perf_counter() - start)


def _read(told: Iterable[Mapping[str, Any]], body: Mapping[str, Any], start: float, into: Measured) -> None:
    seen: set[str] = set()
    for event in told:
        kind, passed = event["type"], time.perf_counter() - start
        if not seen:
            into.event.append(passed)
        if kind == "chunk" and kind not in seen:
            into.first.append(passed)
        seen.add(kind)
        if kind == "error":
            raise SystemExit(f"{body}: {event}")
        if kind == "done":
            into.tokens.append(event["metadata"]["usage"]["total_tokens"])
            for stage, seconds in (event["metadata"].get("stage_times") or {}).items():
                into.stages[stage].append(seconds)


def events(lines: Iterable[bytes]) -> Iterable[dict[str, Any]]:
    for line in lines:
        if line.startswith(b"data: ") and not line.startswith(b"data: [DONE]"):
            yield json.loads(line[6:])


def table(measured: Mapping[str, Measured]) -> str:
    """Markdown: milliseconds, median and 95th percentile; stages by their medians, tokens by their mean."""
    head = (
        "| way | first event, ms p50 / p95 | first word, ms p50 / p95 | whole, ms p50 / p95 "
        "| tokens | stages, ms p50 |\n"
        "|---|---|---|---|---|---|"
    )
    rows = [
        f"| {name} | {_both(m.event)} | {_both(m.first)} | {_both(m.whole)} | {statistics.mean(m.tokens or [0]):.0f} | "
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
