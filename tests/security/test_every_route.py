"""Every address of the site against an oracle: nobody sees, is refused or changes what they should not (B6, B11)."""

from __future__ import annotations

import logging
import os
import random
from typing import Any

import pytest

from tests.security.oracle.reading import LISTS, SIGNING_IN, is_asking, opens, way_of
from tests.security.oracle.routes import Aim, routes_all
from tests.security.oracle.walk import Walk
from tests.security.oracle.world import world_make

IS_FULL = os.environ.get("TESTS_FULL") == "1"
SEED = int(os.environ.get("SEED", "0")) or (random.SystemRandom().randrange(10**6) if IS_FULL else 1)
ROUNDS = 100 if IS_FULL else 1


@pytest.fixture
def walk(shared_rows: Any, monkeypatch: pytest.MonkeyPatch) -> Walk:
    print(f"seed {SEED}")
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)  # refusals with tracebacks by the thousand
    return Walk(shared_rows(world_make), random.Random(SEED))


def finish(walk: Walk, *, at_least: int) -> None:
    print(dict(walk.counts), f"{len(walk.faults)} faults")
    faults = sorted(set(walk.faults))
    assert not faults, "\n".join([f"seed {SEED}, {len(faults)} faults", *faults[:150]])
    assert walk.counts["checks"] >= at_least


def test_reading(walk: Walk) -> None:
    aim = Aim(walk.rules.facts, walk.rng)
    routes = [route for route in routes_all() if route.path not in SIGNING_IN and not is_asking(route)]
    for _ in range(ROUNDS):
        for route in routes:
            for who in [*walk.rng.sample(walk.browsers, 6), None]:
                target = aim.at(route)
                answer = walk.get(who, target.address)
                what = f"GET {target.address}"
                walk.look(who, answer, way_of(route), what)
                expected = opens(walk.rules, who, target) if who else None
                if expected is not None:
                    walk.check((answer.status == 200) == expected, who, f"{what} → {answer.status} ≠ {expected}")
        for address, (kind, facet, finds) in LISTS.items():
            words = [(word, s) for word, s in walk.world.secrets.items() if (s.kind, s.facet) == (kind, facet)]
            for who in walk.rng.sample(walk.browsers, 4):
                answer = walk.get(who, address)
                for word, secret in words:
                    expected = finds(walk.rules, who, secret.pk) and (who.is_staff or not address.startswith("/admin"))
                    walk.check((word in answer.words) == expected, who, f"{address}: {secret} ≠ {expected}")
    finish(walk, at_least=1000)
