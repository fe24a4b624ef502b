"""Rights that come along from a source, against an oracle that knows only people, names and sets.

Each decision is asked three ways: what a search may touch (ORM and SQL), and what may be opened.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import User, UserGroup
from accounts.scim.models import DirectoryEntry
from knowledge.models import Document, KnowledgeSet, ReaderList, Source
from knowledge.selectors import documents_askable, documents_readable
from knowledge.selectors.visibility import visible_to
from knowledge.services.composition import set_sources_put
from knowledge.services.sources import source_update
from knowledge.types import SourceFilter
from tests.factories import make_admin, make_set, make_user, scope_of
from tests.knowledge.sources.building import run
from tests.knowledge.sources.scripted import Place, scripted_place, scripted_source

pytestmark = pytest.mark.django_db

IS_FULL = os.environ.get("TESTS_FULL") == "1"
SEED = int(os.environ.get("SEED", "0")) or (random.SystemRandom().randrange(10**6) if IS_FULL else 3)
DOCUMENTS, ROUNDS = (150, 4) if IS_FULL else (14, 2)
PEOPLE = 12
TABLE = {"user:Chef": "user:p3", "Team Blau": "group:g1", "group:all-staff": "*"}


@dataclass
class World:
    """People by number, groups with their members, and the names that the source has for them."""

    people: list[User]
    members: dict[str, set[int]]  # numbers of people by name of a group
    table: dict[str, str] = field(default_factory=dict)

    def meant(self, name: str) -> set[int]:
        """Numbers of the people whom a name of the source means, by the documented order."""
        target = self.table.get(name, self.table.get(name.removeprefix("user:").removeprefix("group:")))
        if target is not None:
            if target == "*":
                return set(range(PEOPLE))
            kind, _, plain = target.partition(":")
            return {int(plain[1:])} if kind == "user" else self.members[plain]
        if name == "everyone":
            return set(range(PEOPLE))
        kind, _, plain = name.partition(":")
        if kind == "group":
            plain = plain.removeprefix("dir-") if plain.startswith("dir-g") else plain
            return self.members.get(plain, set())
        by_mail = {n for n in range(PEOPLE) if self.people[n].email.lower() == plain.lower()}
        by_directory = {n for n in range(PEOPLE) if plain == f"dir-p{n}" and n % 3 == 0}
        by_name = {n for n in range(PEOPLE) if self.people[n].username == plain}
        ways = [way for way in (by_mail, by_directory, by_name) if way]
        return ways[0] if ways and len(ways[0]) == 1 else set()


NAMES = (
    *(f"user:p{n}" for n in range(PEOPLE)),
    *(f"user:P{n}@Example.org" for n in range(PEOPLE)),
    *(f"user:dir-p{n}" for n in range(PEOPLE)),
    *("group:g0", "group:dir-g1", "group:g2", "group:g3", "group:nobody", "user:shared@example.org"),
    *("user:ghost", "user:Chef", "group:Team Blau", "group:all-staff", "everyone"),
)


@pytest.fixture
def world() -> World:
    people = [make_user(f"p{n}", email=f"p{n}@example.org", clearance=n % 3) for n in range(PEOPLE)]
    for n in (10, 11):  # two accounts with one address: it names neither
        people[n].email = "shared@example.org"
        people[n].save()
    for n in range(0, PEOPLE, 3):
        DirectoryEntry.objects.create(user=people[n], external_id=f"dir-p{n}", modified=timezone.now())
    members = {f"g{g}": {n for n in range(PEOPLE) if n % 4 == g} for g in range(4)}
    for name, numbers in members.items():
        group = UserGroup.objects.create(tenant=people[0].tenant, name=name, external_id=f"dir-{name}")
        group.members.set([people[n] for n in numbers])
    return World(people, members)


@pytest.fixture
def place(monkeypatch) -> Place:
    return scripted_place(monkeypatch)


def sets_of(world: World, owner: User, source: Source) -> dict[str, KnowledgeSet]:
    """One of each kind; a document is in those whose letter its id has."""
    few = [world.people[n] for n in (0, 1, 2, 5)]
    made = {
        "o": make_set("open"),
        "m": make_set("members", visibility="members", members=few),
        "s": make_set("ignoring", visibility="members", members=few, rights="set"),
        "r": make_set("mirror", visibility="members", members=few, rights="source"),
    }
    for letter, one in made.items():
        pairs = [(source.pk, SourceFilter(paths=(f"*{letter}*/*",)))]
        set_sources_put(scope=scope_of(owner), actor=owner, set_id=one.pk, sources=pairs)
    return made


def lets_in(world: World, n: int, letters: str, readers: list[str] | None, clearance: int) -> bool:
    """The oracle."""
    named = readers is None or any(n in world.meant(name) for name in readers)
    is_member = n in (0, 1, 2, 5)
    ways = {
        "o": named,
        "m": is_member and named,
        "s": is_member,
        "r": (is_member and named) or (readers is not None and named),
    }
    return clearance <= n % 3 and any(ways[letter] for letter in letters)


def decisions_check(world: World, place: Place, source: Source) -> int:
    """Compare every person with every document; how many decisions that were."""
    documents = {row.external_id: row for row in Document.objects.filter(source=source, deleted=None)}
    assert set(documents) == set(place.things)
    for n, person in enumerate(world.people):
        scope = scope_of(person)
        visible = visible_to(scope=scope)
        with connection.cursor() as cursor:
            cursor.execute(visible.sql, visible.params)
            by_sql = {pk for (pk,) in cursor.fetchall()}
        by_orm = set(documents_askable(scope=scope).values_list("pk", flat=True))
        opened = set(documents_readable(scope=scope).values_list("pk", flat=True))
        for name, thing in place.things.items():
            row = documents[name]
            wanted = lets_in(world, n, name.partition("/")[0], thing.readers, row.clearance)
            answers = (row.pk in by_sql, row.pk in by_orm, row.pk in opened)
            assert answers == (wanted,) * 3, (SEED, n, name, thing.readers, row.clearance)
    return PEOPLE * len(documents)


def readers_random(rng: random.Random) -> list[str] | None:
    if rng.random() < 0.15:
        return None
    return rng.sample(NAMES, rng.choice((0, 1, 1, 2, 3)))


def test_rights_of_a_source_are_rights_here(world, place):
    rng, owner = random.Random(SEED), make_admin()
    source = scripted_source(owner)
    for number in range(DOCUMENTS):
        letters = rng.choice(("o", "m", "s", "r", "r", "mr", "ms", "or", "sr"))
        place.put(f"{letters}/{number}", f"Text {number}.", readers_random(rng))
    run(owner, source)
    secret = [pk for (pk,) in Document.objects.order_by("pk").values_list("pk")[::5]]
    Document.objects.filter(pk__in=secret).update(clearance=1)
    sets_of(world, owner, source)
    checked = decisions_check(world, place, source)
    for _ in range(ROUNDS - 1):
        for name in rng.sample(sorted(place.things), DOCUMENTS // 2):
            thing = place.things[name]
            said = readers_random(rng)
            thing.readers = said if said is not None else thing.readers  # nothing said takes nothing back
            place.log.append(name)
        reads = place.reads.total()
        run(owner, source)
        assert place.reads.total() == reads  # rights alone read nothing again
        checked += decisions_check(world, place, source)
    world.table = dict(TABLE)
    options = {"people": world.table}
    source_update(scope=scope_of(owner), actor=owner, source_id=source.pk, values={"options": options})
    checked += decisions_check(world, place, source)
    assert checked >= (5000 if IS_FULL else 400)


# ── single cases ────────────────────────────────────────────────────────────────────────────────


def asks(person: User) -> list[str]:
    return sorted(documents_askable(scope=scope_of(person)).values_list("external_id", flat=True))


@pytest.fixture
def shelf_of(world, place):
    """An open set that holds what a source brings."""
    owner = make_admin()
    source = scripted_source(owner)
    one = make_set("open")
    set_sources_put(scope=scope_of(owner), actor=owner, set_id=one.pk, sources=[(source.pk, SourceFilter())])
    return owner, source, one


def test_what_was_revoked_there_is_gone_here_with_the_next_run(world, place, shelf_of):
    owner, source, _one = shelf_of
    place.put("plan", "The plan.", ["user:p1@example.org", "group:g2"])
    run(owner, source)
    assert asks(world.people[1]) == asks(world.people[2]) == ["plan"]

    place.things["plan"].readers = ["group:g2"]
    place.log.append("plan")
    run(owner, source)

    assert asks(world.people[1]) == []
    assert asks(world.people[2]) == ["plan"]
    assert place.reads == {"plan": 1}


def test_silence_after_a_list_takes_no_restriction_back(world, place, shelf_of):
    owner, source, _one = shelf_of
    place.put("plan", "The plan.", ["user:p1"])
    run(owner, source)
    place.put("plan", "The plan, changed.", None)

    run(owner, source)

    assert asks(world.people[1]) == ["plan"]
    assert asks(world.people[2]) == []


def test_an_address_that_moves_to_somebody_else_moves_the_right_with_the_next_run(world, place, shelf_of):
    owner, source, _one = shelf_of
    place.put("plan", "The plan.", ["user:p1@example.org"])
    run(owner, source)
    User.objects.filter(username="p1").update(email="")
    User.objects.filter(username="p2").update(email="p1@example.org")

    run(owner, source)

    assert asks(world.people[1]) == []
    assert asks(world.people[2]) == ["plan"]


def test_who_is_unknown_reads_once_they_are_known(world, place, shelf_of):
    from knowledge.services import reader_names_resolve

    owner, source, _one = shelf_of
    place.put("plan", "The plan.", ["user:new@example.org"])
    run(owner, source)
    assert ReaderList.objects.get().unknown == ["user:new@example.org"]
    person = make_user("new", email="new@example.org")
    assert asks(person) == []

    assert reader_names_resolve() == 1

    assert asks(person) == ["plan"]


def test_a_document_is_never_seen_between_its_arrival_and_its_readers(world, place, shelf_of, monkeypatch):
    owner, source, _one = shelf_of
    place.put("plan", "The plan.", ["user:p1"])

    def fails(**values):
        raise OSError("killed")

    monkeypatch.setattr("knowledge.services.sources.sync_items.item_readers_write", fails)
    run(owner, source)

    assert Document.objects.count() == 0


def test_a_set_ignores_rights_only_of_sources_that_its_keeper_manages(world, place, shelf_of):
    from accounts.errors import NotAllowedError
    from knowledge.services.sets import set_update

    owner, source, one = shelf_of
    keeper = world.people[4]
    one.owners.add(keeper)
    place.put("plan", "The plan.", ["user:p1"])
    run(owner, source)

    with pytest.raises(NotAllowedError):
        set_update(scope=scope_of(keeper), actor=keeper, set_id=one.pk, values={"rights": "set"})
    assert asks(world.people[2]) == []

    set_update(scope=scope_of(owner), actor=owner, set_id=one.pk, values={"rights": "set"})
    assert asks(world.people[2]) == ["plan"]


def test_nobody_carries_a_document_into_a_set_that_ignores_its_source(world, place, shelf_of):
    from knowledge.services.transfers import documents_copy

    owner, source, one = shelf_of
    keeper = world.people[5]
    place.put("plan", "The plan.", ["user:p5"])
    run(owner, source)
    row = Document.objects.get()
    row.sets.set([make_set("desk", owners=[keeper])])  # by hand: whoever owns all sets of a document keeps it
    Document.objects.update(handled={**row.handled, "sets": {}})
    ignoring = make_set("ignoring", owners=[keeper], rights="set")

    refused = documents_copy(scope=scope_of(keeper), actor=keeper, document_ids=[row.pk], to_set=ignoring.pk).refused

    assert [one.error.code for one in refused] == ["not_allowed"]
    assert asks(world.people[4]) == []
    assert documents_copy(scope=scope_of(owner), actor=owner, document_ids=[row.pk], to_set=ignoring.pk).changed == 1
    assert asks(world.people[4]) == ["plan"]
