"""`make load USERS=100 MINUTES=2`: scripted people over WebSocket and REST, without and with ingestion beside them.

Starts the product with its demo sets and a model of known speed (200 ms to the first word, 50 tokens a second), all on
this machine. DATA=DIR: a public set with corpus.jsonl and queries.jsonl is loaded, and its questions are asked.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import httpx

from bench.demo_questions import DEMO_QUESTIONS
from bench.load.figures import Figures, ProcessUse, histogram, process_table, table
from bench.load.people import Account
from bench.load.product import SAMPLE_SECONDS, Meter, Product, is_idle, running_product
from bench.load.script import load_documents, run_people

BATCH = 200  # documents of one bulk load
INGESTION_SECONDS = 1800


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="public set with corpus.jsonl and queries.jsonl")
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=2.0, help="of each phase")
    parser.add_argument("--think", type=float, default=10.0, help="seconds between two actions of a person, on average")
    parser.add_argument("--no-model", action="store_true", help="answers put together from the sources")
    arguments = parser.parse_args()
    with running_product(with_model=not arguments.no_model) as product:
        accounts = product.make_people(arguments.users)
        questions = load_set(product, accounts[0], arguments.folder) if arguments.folder else DEMO_QUESTIONS
        wait_for_ingestion(product, accounts[0])
        asyncio.run(_load(product, accounts, questions, seconds=60 * arguments.minutes, think=arguments.think))


async def _load(
    product: Product, accounts: Sequence[Account], questions: Sequence[str], *, seconds: float, think: float
) -> None:
    phases: dict[str, Figures] = {}
    uses: dict[str, list[ProcessUse]] = {}
    for phase in ("idle", "ingesting"):
        meter, ended = Meter(product.process), asyncio.Event()
        meter.start()
        sampling = asyncio.create_task(_sample(meter, ended))
        loading = phase == "ingesting"
        load = load_documents(site=product.url, account=accounts[0], until=ended, seed=int(time.time()))
        ingestion = asyncio.create_task(load) if loading else None
        phases[phase] = await run_people(
            site=product.url, accounts=accounts, questions=questions, seconds=seconds, think=think
        )
        ended.set()
        await sampling
        accepted = await ingestion if ingestion else 0
        uses[phase] = meter.stop()
        _print_phase(phase, phases[phase], accepted)
    print(table(phases), process_table(uses), sep="\n\n")


def _print_phase(phase: str, figures: Figures, accepted: int) -> None:
    print(f"\n{phase}: {accepted} documents were accepted meanwhile" if accepted else f"\n{phase}")
    for action in ("first word", "ask"):
        if values := figures.seconds.get(action):
            print(f"{action}\n{histogram(values)}")
    for (action, what), number in figures.failures.most_common():
        print(f"failed: {action}: {what}, {number} times")


async def _sample(meter: Meter, ended: asyncio.Event) -> None:
    while not ended.is_set():
        await asyncio.to_thread(meter.sample)
        await asyncio.sleep(SAMPLE_SECONDS)


def load_set(product: Product, account: Account, folder: Path) -> list[str]:
    """Load the documents of a public set; its questions."""
    rows = [json.loads(line) for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    sets = [account.set_id]
    headers = {"Authorization": f"Bearer {account.key}", "Content-Type": "application/x-ndjson"}
    with httpx.Client(base_url=product.url, headers=headers, timeout=120, trust_env=False) as client:
        for start in range(0, len(rows), BATCH):
            lines = [
                json.dumps({"external_id": row["id"], "title": row["title"], "text": row["text"], "sets": sets})
                for row in rows[start : start + BATCH]
            ]
            client.post("/api/v1/documents/bulk", content="\n".join(lines)).raise_for_status()
    questions = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in questions]


def wait_for_ingestion(product: Product, account: Account) -> None:
    """Return when everything that was sent is searchable."""
    deadline = time.monotonic() + INGESTION_SECONDS
    while not is_idle(product.url, account):
        if time.monotonic() > deadline:
            sys.exit("The documents were not ingested in time.")
        time.sleep(2)


if __name__ == "__main__":
    main()
