"""Every address of the site against an oracle: nobody sees, is refused or changes what they should not."""

from __future__ import annotations

import logging
import os
import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
from django.db import transaction

from chat.concurrency import redis_client as chat_redis
from chat.concurrency.admission import close_places
from chat.turns.lifecycle import turns_shutdown
from chat.turns.stream_hub import close_hub
from tests.database import database
from tests.security.oracle.asking import Asker
from tests.security.oracle.effects import Effects, Permits
from tests.security.oracle.facts import Person
from tests.security.oracle.forms import form_of
from tests.security.oracle.places import world_make
from tests.security.oracle.reading import LISTS, SIGNING_IN, is_asking, opens, way_of
from tests.security.oracle.routes import Aim, Route, Target, routes_all
from tests.security.oracle.rules import ASK, DESK
from tests.security.oracle.walk import FOUND, Walk, writes_noted
from tests.security.oracle.writing import Act, Acts, tampered

IS_FULL = os.environ.get("TESTS_FULL") == "1"
SEED = int(os.environ.get("SEED", "0")) or (random.SystemRandom().randrange(10**6) if IS_FULL else 1)
ROUNDS = 15 if IS_FULL else 1
PEOPLE = 6 if IS_FULL else 1  # that try each address in a round, beside a stranger
LOOKING = 9 if IS_FULL else 4  # people that look at each list
AGAIN, NARROWED = (2, 20) if IS_FULL else (1, 8)  # how often each list is searched; lists that are narrowed
ASKING = 4 if IS_FULL else 2  # people that ask
HALF_KEPT = None if IS_FULL else 5  # pairs of a document and somebody with a right in one of its sets
# checks in a round, of which each is one decision of the oracle compared with what the product did
AT_LEAST = {
    "reading": 5300 if IS_FULL else 1700,
    "writing": 1300 if IS_FULL else 150,
    "looking": 100 if IS_FULL else 90,
    "asking": 200 if IS_FULL else 120,
}
assert sum(AT_LEAST.values()) * ROUNDS >= (100_000 if IS_FULL else 2_000)
pytestmark = pytest.mark.timeout(3600 if IS_FULL else 300)


@pytest.fixture
def walk(shared_rows: Any, monkeypatch: pytest.MonkeyPatch) -> Walk:
    print(f"seed {SEED}")
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)  # refusals with tracebacks by the thousand
    return Walk(shared_rows(world_make), random.Random(SEED))


def near(walk: Walk, who: Person | None) -> int | None:
    """Mostly the person's own tenant, else any."""
    return who.tenant if who is not None and walk.rng.random() < 0.7 else None


def rounds(walk: Walk) -> Iterator[int]:
    """Each round says what it found, so that a long run that is broken off has told something."""
    for number in range(ROUNDS):
        yield number
        print(f"round {number + 1}: {dict(walk.counts)}, faults: {sorted(set(walk.faults))[:20]}", flush=True)


def finish(walk: Walk, test: str) -> None:
    print(dict(walk.counts), f"{len(walk.faults)} faults")
    faults = sorted(set(walk.faults))
    assert not faults, "\n".join([f"seed {SEED}, {len(faults)} faults", *faults[:150]])
    assert walk.counts["checks"] >= AT_LEAST[test] * ROUNDS


def test_reading(walk: Walk) -> None:
    aim = Aim(walk.rules.facts, walk.rng)
    routes = [route for route in routes_all() if route.path not in SIGNING_IN and not is_asking(route)]
    for _ in rounds(walk):
        for route in routes:
            for who in [*walk.rng.sample(walk.browsers, PEOPLE), None]:
                target = aim.at(route)
                answer = walk.get(who, target.address)
                what = f"GET {target.address}"
                walk.look(who, answer, way_of(route), what)
                expected = opens(walk.rules, who, target) if who else None
                if expected is not None:
                    walk.check((answer.status == 200) == expected, who, f"{what} → {answer.status} ≠ {expected}")
        for address, (kind, facet, finds) in LISTS.items():
            words = [(word, s) for word, s in walk.world.secrets.items() if (s.kind, s.facet) == (kind, facet)]
            for who in walk.rng.sample(walk.browsers, LOOKING):
                answer = walk.get(who, address)
                for word, secret in words:
                    expected = finds(walk.rules, who, secret.pk) and (who.is_staff or not address.startswith("/admin"))
                    walk.check((word in answer.words) == expected, who, f"{address}: {secret} ≠ {expected}")
    finish(walk, "reading")


# ── writing ─────────────────────────────────────────────────────────────────────────────────────


ENDED_IN_WRITING = 60  # addresses at which somebody changed what is theirs
CONFLICT = 409  # allowed, but there is nothing to do: a job that is over


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
            is_done = answer.status < 400 or answer.status == CONFLICT
            self.walk.check(is_done == act.may, who, f"{what} ≠ {act.may} {act.sent}")


QUIET = {"accounts_auditevent", "accounts_browsersession"}


def half_kept(writer: Writer, routes: list[Route]) -> None:
    """Who has a right in one set of a document and not in the others, at the documents' own addresses."""
    rules = writer.walk.rules
    pairs = [
        (pk, who)
        for pk, one in rules.facts.documents.items()
        for who in writer.walk.browsers
        if {rules.curates_set(who, in_set) for in_set in one.sets} == {True, False} and rules.sees(who, pk)
    ]
    for pk, who in pairs if HALF_KEPT is None else writer.walk.rng.sample(pairs, min(HALF_KEPT, len(pairs))):
        for route in routes:
            address = "/" + re.sub(r"<[^>]+>", "1", route.path.replace("<int:document_id>", str(pk)))
            writer.try_at(who, Target(route, address, {"document": pk}))


def test_writing(walk: Walk) -> None:
    writer = Writer(walk)
    routes = [route for route in routes_all() if route.path not in SIGNING_IN and not is_asking(route)]
    before = writer.effects.marks
    half_kept(writer, [route for route in routes if route.path.startswith("api/v1/documents/<")])
    for _ in rounds(walk):
        for route in routes:
            admins = [one for one in walk.browsers if one.administers]
            some, one = walk.rng.sample(walk.browsers, max(1, PEOPLE // 2)), walk.rng.choice(admins)
            for who in [*some, one] if IS_FULL else [walk.rng.choice([*some, one])]:
                writer.acts.tenant, writer.acts.person = near(walk, who), who.pk
                writer.try_at(who, writer.aim.at(route, writer.acts.tenant, who.pk))
    assert database.marks() == before
    never = sorted(writer.tried - set(writer.changed))
    print(f"{sum(writer.changed.values())} requests changed something; none at {never}")
    assert len(writer.changed) > (ENDED_IN_WRITING if IS_FULL else 10)
    finish(walk, "writing")


# ── looking for what is hidden ──────────────────────────────────────────────────────────────────

VISIT = re.compile(r'csrf\w*[^>]{0,40}?value="[^"]+"|nonce="[^"]+"|"token": *"\w+"')  # another one in each answer
LOOKED_IN = (  # lists that can be searched, and parameters that narrow them
    *("/api/v1/documents?q={}", "/api/v1/documents?external_id={}", "/conversations?q={}", "/suggestions?q={}"),
    *("/api/v1/sources?name={}", "/api/v1/knowledge-sets?code={}", "/admin/search/?s={}"),
    "/admin/autocomplete/?app_label=knowledge&model_name=knowledgeset&field_name=owners&term={}",
    "/admin/autocomplete/?app_label=accounts&model_name=user&field_name=service_owner&term={}",
)
LOOKUPS = (  # what no filter offers
    *("answer__icontains", "metadata__icontains", "live_version__markdown__contains", "message__answer__startswith"),
    *("user__email__startswith", "cases__question__contains", "first__title__contains", "documents__title__contains"),
    *("version__document__title", "conversation__user__department", "knowledge_set__documents__title__contains"),
)


def test_looking_for_hidden_words_tells_nothing(walk: Walk) -> None:
    """An answer about a hidden word reads as one about a word that nobody has written."""
    rng = walk.rng
    lists = [f"/{r.path}?q={{}}" for r in routes_all() if r.model and r.tail == "changelist"]
    narrowed = [f"{address.partition('?')[0]}?{lookup}={{}}" for address in lists for lookup in LOOKUPS]
    for _ in rounds(walk):
        for address in [*LOOKED_IN * AGAIN, *lists, *rng.sample(narrowed, NARROWED)]:
            is_staffed = address.startswith("/admin")
            who = rng.choice([one for one in walk.browsers if one.is_staff or not is_staffed])
            word = rng.choice(sorted(walk.hidden(who, DESK)))
            for _try in range(3):  # a page says how long ago something was: a difference that stays is one
                other = walk.world.word()
                real, invented = (walk.get(who, address.format(one)) for one in (word, other))
                pages = [VISIT.sub("", a.body).replace(one, "") for a, one in ((real, word), (invented, other))]
                if is_same := real.status == invented.status and pages[0] == pages[1]:
                    break
            walk.check(is_same, who, f"{address}: {walk.world.secrets[word]} is found")
            walk.look(who, real, DESK, address, known=frozenset({word}))
    finish(walk, "looking")


# ── asking ──────────────────────────────────────────────────────────────────────────────────────


@pytest_asyncio.fixture
async def end_of_turns() -> AsyncIterator[None]:
    """Turns and connections belong to the event loop of a test."""
    yield
    await turns_shutdown()
    await close_hub()
    await close_places()
    await chat_redis.close()


async def test_asking(walk: Walk, redis_client: Any, end_of_turns: None) -> None:
    asker, rules = Asker(walk), walk.rules
    asked = {route.path for route in routes_all() if is_asking(route)}
    for _ in rounds(walk):
        for who in walk.rng.sample(walk.people, ASKING):
            found = await asker.found(who)
            for pk, one in rules.facts.documents.items():
                if one.live is not None:
                    is_right = (pk in found) == rules.asks(who, pk)
                    walk.check(is_right, who, f"search: document {pk}, found: {pk in found}")
            for method, address, sent in asker.bodies(who):
                asked -= {path for path in asked if re.fullmatch(re.sub(r"<[^>]+>", ".+", path), address[1:])}
                answer = await asker.send(who, method, address, sent)
                walk.counts["answered"] += answer.status == 200
                known = frozenset(FOUND.findall(str(sent).lower() + address))
                walk.look(who, answer, ASK, f"{method.upper()} {address} {sent}", known=known)
    assert not asked, f"nobody asks at {asked}"
    assert walk.counts["answered"] > walk.counts["requests"] / 3
    finish(walk, "asking")
