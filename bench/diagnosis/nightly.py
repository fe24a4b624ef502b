"""`make bench-nightly DATA=DIR`: how long the nightly diagnosis takes, and how much it slows the chat meanwhile.

Starts the product without a language model, loads a part of a public set, asks its questions, votes every answer down,
and starts the run of the night. One person then asks question after question over REST. Windows in which the worker of
the diagnosis is stopped (SIGSTOP) and windows in which it works take turns, so that both see the same machine.
The last line is one JSON object: `cases`, `failed`, `seconds` (of the windows in which the worker worked, until the run
was over; null where --minutes ended first), `done`, `p95_off_ms`, `p95_on_ms`, `slower` (p95 with the worker over p95
without, minus 1) with its 95 % `interval` (bootstrap over windows), `worker_nice` and `web_nice` (priority, 19 lowest).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil
import psycopg

from bench.load.__main__ import load_set, wait_for_ingestion
from bench.load.fairness import ask, person, signed_in
from bench.load.figures import Figures
from bench.load.people import Account
from bench.load.product import Product, name_of, running_product
from ragcore.metrics.bootstrap import PERCENTILES, RESAMPLES, SEED
from ragsite.embedded.data_dir import RUNTIME_FILE
from ragsite.env import PROJECT_ROOT

WORKER = "ocr,diagnosis worker"
STATE = """
SELECT coalesce((figures ->> 'diagnosed')::int, 0), coalesce((figures ->> 'failed')::int, 0), finished IS NOT NULL
FROM work_job WHERE kind = 'evaluation.diagnose_cases' ORDER BY id DESC LIMIT 1
"""


@dataclass(kw_only=True)
class Windows:
    """Seconds of the answers in each window, and what the worker did meanwhile."""

    off: list[list[float]] = field(default_factory=list)
    on: list[list[float]] = field(default_factory=list)
    seconds: float = 0.0  # of the windows with the worker
    done: int = 0
    failed: int = 0
    is_over: bool = False


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.diagnosis.nightly", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("folder", type=Path, help="public set with corpus.jsonl, queries.jsonl and qrels.tsv")
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--window", type=float, default=10.0, help="seconds")
    parser.add_argument("--minutes", type=float, default=4.0, help="of all windows together, at most")
    given = parser.parse_args()
    with running_product(with_model=False) as product, tempfile.TemporaryDirectory() as folder:
        accounts = product.make_people(2)
        part = part_of(given.folder, Path(folder), documents=given.documents)
        questions = load_set(product, accounts[0], part)
        wait_for_ingestion(product, accounts[0])
        worker = process_named(product, WORKER)
        worker.suspend()
        cases = complain(product, part, questions, number=given.cases)
        windows = asyncio.run(measured(product, accounts[1], questions, worker, given.window, 60 * given.minutes))
        nice = {"worker_nice": worker.nice(), "web_nice": process_named(product, "web").nice()}
    print(json.dumps({"cases": cases, **figures(windows), **nice}))


def part_of(source: Path, target: Path, *, documents: int) -> Path:
    """The first questions with their documents, filled up with others, in a folder of the same kind."""
    rows = [json.loads(line) for line in (source / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    judged: dict[str, set[str]] = {}
    for line in (source / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, document = line.split("\t")[:2]
        judged.setdefault(query, set()).add(document)
    asked, kept = [], set[str]()
    for line in (source / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        wanted = judged.get(json.loads(line)["id"], set())
        if len(kept | wanted) <= documents:
            kept |= wanted
            asked.append(line)
    others = [row["id"] for row in rows if row["id"] not in kept][: documents - len(kept)]
    lines = [json.dumps(row) for row in rows if row["id"] in kept | set(others)]
    (target / "corpus.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (target / "queries.jsonl").write_text("\n".join(asked), encoding="utf-8")
    return target


def process_named(product: Product, name: str) -> psutil.Process:
    """The first process of the product of this kind. Raises SystemExit without one."""
    for process in product.process.children(recursive=True):
        if name_of(process.cmdline()).startswith(name):
            return process
    raise SystemExit(f"The product has no process {name!r}.")


def complain(product: Product, folder: Path, questions: Sequence[str], *, number: int) -> int:
    """Cases from answers that were voted down; the run of the night is started."""
    listed = folder / "questions.txt"
    listed.write_text("\n".join(" ".join(question.split()) for question in questions), encoding="utf-8")
    command = [sys.executable, "-m", "bench.diagnosis.nightly_cases", str(listed), str(number)]
    done = subprocess.run(command, cwd=PROJECT_ROOT, env=product.environment, stdout=subprocess.PIPE, check=True)
    return int(done.stdout.decode().split()[-1])


async def measured(
    product: Product,
    account: Account,
    questions: Sequence[str],
    worker: psutil.Process,
    window: float,
    seconds: float,
) -> Windows:
    """Windows in pairs, each pair in the other order, until the run is over or the time is."""
    found, deadline, pair = Windows(), time.monotonic() + seconds, 0
    asking = person(product.url, account, questions, Figures(), seed=1)
    async with signed_in(asking):
        for _ in range(20):
            await ask(asking, "ask")  # models of the web process are loaded
        while time.monotonic() < deadline and not found.is_over:
            for works in (False, True) if pair % 2 == 0 else (True, False):
                if works:
                    worker.resume()
                started = time.monotonic()
                asking.figures = Figures()
                while time.monotonic() - started < window and not found.is_over:
                    await ask(asking, "ask")
                    found.done, found.failed, found.is_over = await asyncio.to_thread(state, product)
                spent = time.monotonic() - started
                if works:
                    worker.suspend()
                    found.seconds += spent
                (found.on if works else found.off).append(asking.figures.seconds.get("ask", []))
                if found.is_over:
                    break
            pair += 1
    worker.resume()
    return found


def state(product: Product) -> tuple[int, int, bool]:
    """Cases that are done, that have failed, and whether the run is over."""
    addresses = json.loads((Path(product.environment["DATA_DIR"]) / RUNTIME_FILE).read_text(encoding="utf-8"))
    with psycopg.connect(addresses["database_url"]) as connection:
        done, failed, is_over = connection.execute(STATE).fetchone() or (0, 0, False)
        return done, failed, is_over


def figures(windows: Windows) -> dict[str, object]:
    """Raises ValueError where a kind of window has no answer."""
    off, on = (list(filter(None, kind)) for kind in (windows.off, windows.on))
    if not off or not on:
        raise ValueError("no window with answers")
    chance = random.Random(SEED)
    drawn = [p95(chance.choices(on, k=len(on))) / p95(chance.choices(off, k=len(off))) - 1 for _ in range(RESAMPLES)]
    return {
        "done": windows.done,
        "failed": windows.failed,
        "seconds": round(windows.seconds, 1) if windows.is_over else None,
        "answers": sum(map(len, [*off, *on])),
        "windows": len(on) + len(off),
        "p95_off_ms": round(1000 * p95(off), 1),
        "p95_on_ms": round(1000 * p95(on), 1),
        "slower": round(p95(on) / p95(off) - 1, 4),
        "interval": [round(float(one), 4) for one in np.percentile(drawn, PERCENTILES)],
    }


def p95(windows: Sequence[Sequence[float]]) -> float:
    """Of all answers of these windows, in seconds."""
    return float(np.percentile([second for window in windows for second in window], 95))


if __name__ == "__main__":
    main()
