"""Rounds: load documents, kill -9 one part of the product at a random moment, let it recover, look at everything.

A lease is held for minutes, and a round shall take seconds: while a round waits, the clock of items that show no sign
of life is put forward. Everything else takes the time that it takes in production.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

import psycopg

from ragsite.embedded.processes import wait_until
from tests.faults.checks import faults_now, faults_of_documents, faults_of_jobs, faults_of_search, open_items
from tests.faults.documents import Sent, documents_of_round
from tests.faults.loading import Load
from tests.faults.product import SUPERVISOR, Product

MOMENTS = {  # SQL that is true once the moment has come; None: at once
    "upload": None,
    "parse": "SELECT EXISTS (SELECT 1 FROM knowledge_ingestitem WHERE finished IS NULL AND attempt > 0)",
    "embed": "SELECT EXISTS (SELECT 1 FROM knowledge_ingestitem WHERE finished IS NULL"
    " AND stage IN ('chunked', 'represented'))",
    "publish": "SELECT EXISTS (SELECT 1 FROM knowledge_ingestitem WHERE finished IS NULL AND stage = 'embedded')",
}
MOMENT_SECONDS = 15  # the moment may have passed unseen; then it is now
DELAY_SECONDS = {"upload": 2.0, "parse": 0.5, "embed": 0.5, "publish": 0.1}  # at most, by chance
RECOVERY_SECONDS = 60  # until all parts run again
STILL_SECONDS = 180  # without an item that ends, after which the rest are taken to be stuck
SILENT_SECONDS = 15  # above the time between two signs of life of a busy worker
AGE = """
WITH aged AS (
    UPDATE knowledge_ingestitem SET lease_until = now() - interval '1 second',
        heartbeat = heartbeat - interval '10 minutes', not_before = NULL
    WHERE finished IS NULL AND (heartbeat IS NULL OR heartbeat < now() - make_interval(secs => %(silent)s))
    RETURNING job_id
)
UPDATE knowledge_ingestjob SET created = created - interval '10 minutes', swept = NULL
WHERE id IN (SELECT job_id FROM aged)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a round does, decided by its seed alone."""

    seed: int
    number: int
    part: str
    moment: str
    delay_seconds: float

    @classmethod
    def of(cls, *, seed: int, number: int, parts: Sequence[str]) -> Plan:
        """Parts take turns in an order that the seed shuffles, so that each is killed about as often."""
        turn, place = divmod(number, len(parts))
        order = Random(f"{seed} turn {turn}").sample(sorted(parts), len(parts))
        random = Random(f"{seed} round {number}")
        moment = random.choice(list(MOMENTS))
        delay = random.uniform(0, DELAY_SECONDS[moment])
        return cls(seed=seed, number=number, part=order[place], moment=moment, delay_seconds=delay)

    def __str__(self) -> str:
        return f"round {self.number}: kill -9 {self.part}, {self.moment} + {1000 * self.delay_seconds:.0f} ms"

    @property
    def reproduction(self) -> str:
        return f"make faults SEED={self.seed} FIRST={self.number} ROUNDS=1"


@dataclass
class World:
    """One running product, and what it has acknowledged so far."""

    product: Product
    set_id: int = 0
    expected: dict[str, Sent] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)  # words that must not be found any more

    def prepare(self) -> None:
        with self.product.client() as client:
            made = client.post("/knowledge-sets", json={"name": "Faults", "axis": "1", "code": "faults"})
            self.set_id = made.json()["id"]

    def run(self, plan: Plan, *, documents: int) -> str:
        """One round; returns what happened. Raises AssertionError with the plan and how to repeat it."""
        started = time.monotonic()
        random = Random(f"{plan.seed} documents {plan.number}")
        load = self._load(random, plan, documents)
        try:
            faults = self._kill(plan, load) + self._end(load) + self._look(random, load)
        except psycopg.OperationalError as error:
            faults = [f"the database is gone: {error}"]
        assert not faults, "\n  ".join([f"{plan}\nRepeat it with: {plan.reproduction}", *faults])
        seconds = time.monotonic() - started
        return f"{plan}; {len(load.acknowledged)} documents, {load.repeated} requests repeated, {seconds:.0f} s"

    # ── one round ───────────────────────────────────────────────────────────────────────────────

    def _load(self, random: Random, plan: Plan, documents: int) -> Load:
        """Send documents, some of them new texts of known ones, and delete a few."""
        known = sorted(key for key, one in self.expected.items() if one.is_line)
        doomed = random.sample(known, min(len(known), max(documents // 40, 1)))
        found = "SELECT id FROM knowledge_document WHERE deleted IS NULL AND external_id = ANY(%(ids)s)"
        ids = [row[0] for row in self.product.rows(found, {"ids": doomed})] if doomed else []
        for identity in doomed:
            self.gone.append(self.expected.pop(identity).word)
        known = [identity for identity in known if identity in self.expected]
        round_id = f"{plan.seed}-{plan.number}"
        sent = documents_of_round(random, number=documents, known=known, round_id=round_id)
        return Load(self.product, self.set_id, sent, doomed=ids)

    def _kill(self, plan: Plan, load: Load) -> list[str]:
        """Wait for the moment, kill, and wait until every part runs again."""
        condition = MOMENTS[plan.moment]
        if condition:
            wait_until(lambda: bool(self.product.rows(condition)[0][0]), seconds=MOMENT_SECONDS)
        time.sleep(plan.delay_seconds)
        pid = self.product.kill(plan.part)
        if plan.part == SUPERVISOR:
            self.product.start()
        back = wait_until(
            lambda: self.product.parts().get(plan.part, pid) != pid and self.product.is_complete(),
            seconds=RECOVERY_SECONDS,
        )
        return [] if back else [f"{plan.part} did not come back within {RECOVERY_SECONDS} s"]

    def _end(self, load: Load) -> list[str]:
        """Let everything end, looking at the database all the while."""
        faults: list[str] = []
        fewest = sys.maxsize

        def over() -> bool:
            faults.extend(faults_now(self.product))
            if not load.is_running():
                self.product.rows(AGE, {"silent": SILENT_SECONDS})
            return bool(faults) or (not load.is_running() and open_items(self.product) == 0)

        while not wait_until(_every_second(over), seconds=STILL_SECONDS):
            if (count := open_items(self.product)) >= fewest:
                faults.append(f"{count} items are not over, and none was within {STILL_SECONDS} s")
                break
            fewest = count
        return faults + ([f"the load failed: {load.failure}"] if load.failure else [])

    def _look(self, random: Random, load: Load) -> list[str]:
        """Everything that must hold once a round is over."""
        for identity, one in load.acknowledged.items():
            if before := self.expected.get(identity):
                self.gone.append(before.word)
            self.expected[identity] = one
        present = [one for one in load.acknowledged.values() if one.is_readable]
        with self.product.client() as client:
            return [
                *faults_now(self.product),
                *faults_of_documents(self.product, self.expected),
                *faults_of_jobs(client, sorted(load.jobs)),
                *faults_of_search(client, present=random.sample(present, min(10, len(present))), gone=self.gone[-20:]),
            ]


def _every_second(condition: Callable[[], bool]) -> Callable[[], bool]:
    """The condition, asked once a second at most: it costs the database something."""
    due = [0.0]

    def asked() -> bool:
        if time.monotonic() < due[0]:
            return False
        due[0] = time.monotonic() + 1
        return condition()

    return asked
