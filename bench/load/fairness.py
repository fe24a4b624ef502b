"""`make bench-fairness`: how much one person who asks for many answers at once slows another who asks for one.

Two people over REST, on a product with a model of known speed. The second asks one question after the other: alone,
beside a first person with one stream at a time, and beside one with GREEDY streams at a time; in turns, several rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from bench.demo_questions import DEMO_QUESTIONS
from bench.load.__main__ import load_set, wait_for_ingestion
from bench.load.figures import Figures, table
from bench.load.people import Account
from bench.load.product import running_product
from bench.load.script import Person

GREEDY = 20  # streams at a time
BESIDE = (0, 1, GREEDY)
SETTLE_SECONDS = 3.0  # until as many streams run as shall


async def measure(
    site: str,
    accounts: Sequence[Account],
    questions: Sequence[str],
    *,
    rounds: int,
    each: int,
    beside: Sequence[int] = BESIDE,
) -> None:
    """Print the times of the second person by what the first one does."""
    phases = {name_of(streams): Figures() for streams in beside}
    for number in range(rounds):
        for streams in beside if number % 2 == 0 else reversed(beside):
            other = person(site, accounts[1], questions, phases[name_of(streams)], seed=number)
            async with asking(site, accounts[0], questions, streams), signed_in(other):
                await asyncio.sleep(SETTLE_SECONDS if streams else 0)
                for _ in range(each):
                    await ask(other, "ask")
    print(table(phases), flush=True)


def name_of(streams: int) -> str:
    return f"beside {streams} at a time" if streams else "alone"


def person(site: str, account: Account, questions: Sequence[str], figures: Figures, *, seed: int) -> Person:
    return Person(
        site=site,
        account=account,
        questions=questions,
        figures=figures,
        think=0.0,
        random=random.Random(seed),
        over_rest=True,
        uploads=False,
    )


@asynccontextmanager
async def signed_in(one: Person) -> AsyncIterator[None]:
    headers = {"Authorization": f"Bearer {one.account.key}"}
    async with httpx.AsyncClient(base_url=one.site, headers=headers, timeout=120, trust_env=False) as one.client:
        yield


async def ask(one: Person, action: str) -> None:
    """One question with a number behind it, so that no two are alike."""
    question = f"{one.random.choice(one.questions)} ({one.random.randrange(10**9)})"
    await one.timed(action, one.ask(question, None))


@asynccontextmanager
async def asking(site: str, account: Account, questions: Sequence[str], streams: int) -> AsyncIterator[None]:
    """Someone who has so many answers written at any time, while the context lasts."""
    ended, figures = time.monotonic() + 3600, Figures()

    async def go_on(number: int) -> None:
        greedy = person(site, account, questions, figures, seed=1000 + number)
        async with signed_in(greedy):
            while time.monotonic() < ended:
                await ask(greedy, "ask")

    tasks = [asyncio.create_task(go_on(number)) for number in range(streams)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.load.fairness", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="public set with corpus.jsonl and queries.jsonl")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--questions", type=int, default=8, help="of the second person in each phase of a round")
    arguments = parser.parse_args()
    with running_product(with_model=True) as product:
        accounts = product.make_people(2)
        questions = load_set(product, accounts[0], arguments.folder) if arguments.folder else DEMO_QUESTIONS
        wait_for_ingestion(product, accounts[0])
        each = arguments.questions
        asyncio.run(measure(product.url, accounts, questions, rounds=arguments.rounds, each=each))


if __name__ == "__main__":
    main()
