"""Three tenants with people of every role and one object or more of every kind, each with words of its own.

A word that stands in an answer tells which object it came from (`World.secrets`).
"""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import Permission

from accounts.models import Tenant, User
from accounts.services import api_key_create, tenant_ensure_default

TENANTS = ("home", "plant", "shop")
WORD = r"zq[0-9a-z]{10}"
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
STAFF = {"admin": 3, "owner": 2, "editor": 1, "reviewer": 2, "judge": 0}
OTHERS = {"keeper": 3, "member": 3, "reader": 1, "stranger": 0}


@dataclass(frozen=True, slots=True, order=True)
class Secret:
    """What a word belongs to: one facet of one object."""

    kind: str
    pk: int | str
    facet: str


@dataclass
class World:
    """The people by tenant and role, and the words."""

    rng: random.Random
    people: dict[tuple[str, str], User] = field(default_factory=dict)
    keys: dict[int, str] = field(default_factory=dict)  # secrets of service accounts
    secrets: dict[str, Secret] = field(default_factory=dict)
    _open: dict[str, str] = field(default_factory=dict)

    def word(self) -> str:
        return "zq" + "".join(self.rng.choices(LETTERS, k=10))

    def tell(self, kind: str, row: Any, **facets: str) -> None:
        """Note to which facets of an object words belong."""
        for facet, text in facets.items():
            self.secrets[text] = Secret(kind, row if isinstance(row, (int, str)) else _key(row), facet)


def _key(row: Any) -> int | str:
    return str(row.pk) if isinstance(row.pk, uuid.UUID) else int(row.pk)


def people_make() -> World:
    """The same people in every run: what is random is what they do."""
    world = World(random.Random(7))
    for name in TENANTS:
        tenant = tenant_ensure_default() if name == "home" else Tenant.objects.create(name=world.word())
        if name == "home":
            Tenant.objects.filter(pk=tenant.pk).update(name=world.word())
            tenant.refresh_from_db()
        world.tell("tenant", tenant, name=tenant.name)
        _people(world, name, tenant)
    return world


def _people(world: World, name: str, tenant: Tenant) -> None:
    for role, clearance in {**STAFF, **OTHERS}.items():
        words = {facet: world.word() for facet in ("username", "email", "department", "first_name")}
        person = User.objects.create(
            tenant=tenant,
            clearance=4 if (name, role) == ("home", "admin") else clearance,
            is_staff=role in STAFF,
            is_superuser=role == "admin",
            can_create_sets=role == "keeper",
            **{**words, "email": f"{words['email']}@example.org"},
        )
        if role in ("reviewer", "judge"):
            person.user_permissions.add(Permission.objects.get(codename="change_badcase"))
        world.tell("user", person, **words)
        world.people[name, role] = person
    owner = world.people[name, "owner"]
    robot = User.objects.create(
        tenant=tenant,
        username=world.word(),
        clearance=1,
        is_service=True,
        service_owner=owner,
        password="!",  # noqa: S106
    )
    world.tell("user", robot, username=robot.username)
    world.people[name, "robot"] = robot
    for person in (owner, robot, world.people[name, "reader"]):
        said = world.word()
        key, secret = api_key_create(user=person, name=said, actor=world.people[name, "admin"])
        world.tell("key", key, name=said)
        if person is robot:
            world.keys[robot.pk] = secret
