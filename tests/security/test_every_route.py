"""Every address of the site against an oracle: nobody sees, is refused or changes what they should not (B6, B11)."""

from __future__ import annotations

import logging
import os
import random
from collections import Counter
from typing import Any

import pytest

from django.db import transaction

from tests.security.oracle.effects import Effects, Permits
from tests.security.oracle.facts import Person
from tests.security.oracle.forms import form_of
from tests.security.oracle.reading import LISTS, SIGNING_IN, is_asking, opens, way_of
from tests.security.oracle.routes import Aim, Target, routes_all
from tests.security.oracle.walk import FOUND, Walk, writes_noted
from tests.security.oracle.world import world_make
from tests.security.oracle.writing import Act, Acts, tampered

IS_FULL = os.environ.get("TESTS_FULL") == "1"
SEED = int(os.environ.get("SEED", "0")) or (random.SystemRandom().randrange(10**6) if IS_FULL else 1)
ROUNDS = int(os.environ.get("ROUNDS", 0)) or (100 if IS_FULL else 1)


@pytest.fixture
def walk(shared_rows: Any, monkeypatch: pytest.MonkeyPatch) -> Walk:
    print(f"seed {SEED}")
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)  # refusals with tracebacks by the thousand
    return Walk(shared_rows(world_make), random.Random(SEED))


def near(walk: Walk, who: Person | None) -> int | None:
    """Mostly the person's own tenant, else any."""
    return who.tenant if who is not None and walk.rng.random() < 0.7 else None


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


# ── writing ─────────────────────────────────────────────────────────────────────────────────────


class Writer:
    """Sends what may write, and looks at what it changed."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self.aim = Aim(walk.rules.facts, walk.rng)
        self.acts = Acts(walk.rules, self.aim, walk.rng)
        self.effects, self.permits = Effects(), Permits(walk.rules)
        self.forms: dict[str, dict[str, Any]] = {}
        self.changed: Counter[str] = Counter()  # requests that changed something, by route
        self.tried: set[str] = set()

    def try_at(self, who: Person, target: Target) -> None:
        acts = self.acts.of(who, target)
        if target.route.model and target.route.tail in ("change", "add", "options", "site", "chunking"):
            acts = [Act("post", target.address, {"data": tampered(self.form_at(target.address), self.acts)})]
        for act in acts:
            self.do(who, target, act)

    def form_at(self, address: str) -> dict[str, Any]:
        """The fields of a page, as an administrator of the site gets it."""
        if address not in self.forms:
            root = next(one for one in self.walk.people if one.is_platform)
            self.forms[address] = form_of(self.walk.get(root, address).text)
        return self.forms[address]

    def do(self, who: Person, target: Target, act: Act) -> None:
        """One request, and its changes taken back."""
        self.tried.add(target.route.name or target.route.path)
        with transaction.atomic():
            with writes_noted() as written:
                answer = self.walk.send(who, act.method, act.address, **act.sent)
            changes = self.effects.changes() if written else []
            transaction.set_rollback(True)
        what = f"{act.method.upper()} {act.address} → {answer.status}"
        sent = frozenset(FOUND.findall(str(act.sent).lower()))
        self.walk.look(who, answer, way_of(target.route), what, known=sent)
        faults = self.permits.faults(who, changes)
        self.walk.check(not faults, who, f"{what}: {', '.join(faults[:6])} {act.sent}")
        if {one.table for one in changes} - QUIET:
            self.changed[target.route.name or target.route.path] += 1
        if act.may is not None:
            self.walk.check((answer.status < 400) == act.may, who, f"{what} ≠ {act.may} {act.sent}")


QUIET = {"accounts_auditevent", "accounts_browsersession", "accounts_apikey"}


def test_writing(walk: Walk) -> None:
    writer = Writer(walk)
    routes = [route for route in routes_all() if route.path not in SIGNING_IN and not is_asking(route)]
    before = writer.effects.marks
    for _ in range(ROUNDS):
        for route in routes:
            for who in walk.rng.sample(walk.browsers, 4):
                writer.acts.tenant = near(walk, who)
                writer.try_at(who, writer.aim.at(route, writer.acts.tenant))
    assert writer.effects._marks() == before
    print(sum(writer.changed.values()), "NEVER", sorted(writer.tried - set(writer.changed)))
    finish(walk, at_least=500)
