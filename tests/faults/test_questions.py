"""Questions while Redis, Postgres or a web process is killed and comes back: each ends before its deadline."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

import httpx
import pytest

from ragsite.embedded.processes import wait_until
from tests.faults.product import POSTGRES, REDIS, WEB_PROCESS, Product
from tests.services_plugin import models_folder

ASKERS = 8
DEADLINE_SECONDS = 75  # 60 for an answer in one piece, and some for the way
CLEAN = {200, 503, 504}


@dataclass
class Askers:
    """Threads that ask again and again until they are told to stop."""

    product: Product
    stop: threading.Event = field(default_factory=threading.Event)
    statuses: list[int] = field(default_factory=list)
    longest: float = 0.0

    def start(self) -> list[threading.Thread]:
        threads = [threading.Thread(target=self._ask, args=(number,), daemon=True) for number in range(ASKERS)]
        for thread in threads:
            thread.start()
        return threads

    def _ask(self, number: int) -> None:
        with self.product.client() as client:
            while not self.stop.is_set():
                started = time.monotonic()
                body = {"query": f"What is handover {number}?", "cache": False}
                try:
                    status = client.post("/rag/generate", json=body, timeout=DEADLINE_SECONDS).status_code
                except httpx.ReadTimeout:
                    status = 0  # it hung
                except httpx.TransportError:
                    status = 503  # the process that had the connection is gone
                self.longest = max(self.longest, time.monotonic() - started)
                self.statuses.append(status)
                if status != httpx.codes.OK:
                    self.stop.wait(0.2)


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.timeout(600)
def test_questions_fail_cleanly_or_wait_while_a_service_is_away(tmp_path):
    product = Product(tmp_path / "data", models_folder())
    product.start()
    product.client().close()  # makes the key
    try:
        for part in (REDIS, POSTGRES, WEB_PROCESS):
            askers = Askers(product)
            threads = askers.start()
            assert wait_until(lambda seen=askers: len(seen.statuses) >= ASKERS, seconds=60)

            product.kill(part)
            assert wait_until(product.is_complete, seconds=60)
            assert wait_until(lambda seen=askers: seen.statuses[-ASKERS:] == [200] * ASKERS, seconds=60), part
            askers.stop.set()
            for thread in threads:
                thread.join(DEADLINE_SECONDS)

            assert set(askers.statuses) <= CLEAN, (part, set(askers.statuses))
            assert askers.longest < DEADLINE_SECONDS
    finally:
        product.stop()
