"""`make bench-cache`: what a repeated question costs, answered from the cache.

Asks one question of DATA_DIR's product again and again over REST, within this process, and prints processor time of all
its threads and wall time by request. Needs a product that runs on this DATA_DIR (`make run`); Postgres and Redis are
its own. Processor time is the figure to compare: other work on the machine hardly changes it.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from typing import Any

import django

WARM_UP = 30


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.cache_hit", description=__doc__)
    parser.add_argument("--user", default="admin")
    parser.add_argument("--question", default="How long is the notice period?")
    parser.add_argument("--hits", type=int, default=300)
    arguments = parser.parse_args()
    django.setup()
    key = _key(arguments.user)
    figures = asyncio.run(_measure(key, arguments.question, arguments.hits))
    for name, values in figures.items():
        marks = [statistics.quantiles(values, n=20)[at] for at in (9, 18)]
        print(f"{name}: p50 {marks[0]:.1f} ms, p95 {marks[1]:.1f} ms, mean {statistics.fmean(values):.1f} ms")


def _key(username: str) -> str:
    from accounts.models import User
    from accounts.services import api_key_create

    _row, key = api_key_create(user=User.objects.get(username=username), name="bench")
    return str(key)


async def _measure(key: str, question: str, hits: int) -> dict[str, list[float]]:
    from django.conf import settings
    from django.test import AsyncClient

    settings.ALLOWED_HOSTS = ["*"]
    client, headers = AsyncClient(), {"Authorization": f"Bearer {key}"}

    async def ask() -> dict[str, Any]:
        response = await client.post(
            "/api/v1/rag/generate", {"query": question}, content_type="application/json", headers=headers
        )
        if response.status_code != 200:
            raise SystemExit(response.content.decode())
        return dict(response.json())

    for _ in range(WARM_UP):
        await ask()
    figures: dict[str, list[float]] = {"processor time": [], "wall time": []}
    for _ in range(hits):
        used, start = time.process_time(), time.perf_counter()
        answer = await ask()
        figures["processor time"].append(1000 * (time.process_time() - used))
        figures["wall time"].append(1000 * (time.perf_counter() - start))
        if answer["metadata"]["cache"] != "exact":
            raise SystemExit(f"not from the cache: {answer['metadata']['cache']}")
    return figures


if __name__ == "__main__":
    main()
