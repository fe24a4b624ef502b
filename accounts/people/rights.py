"""What a person may do here, given in one act: positions, knowledge sets, the right to create some."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from django.contrib.auth.models import Permission
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models import User, UserGroup
from accounts.roles import REVIEW_PERMISSION

_registered: list[SetRights] = []


class Position(models.TextChoices):
    """What a person does besides asking questions, which everybody does. Several may be held.

    An administrator made in the default tenant administers all tenants: `position_choices` says which one it will be.
    """

    OWNER = "owner", _("Knowledge owner: keeps knowledge sets, their documents and people")
    REVIEWER = "reviewer", _("Reviewer: works on feedback cases and answers")
    ADMINISTRATOR = "administrator", _("Administrator: people, sets and settings of the organisation")


class SetRights(Protocol):
    """Knowledge sets as the setup of people sees them; the app that has the sets registers it."""

    def choices(self, *, tenant_id: int) -> list[tuple[str, str]]:
        """Code and name of every set of a tenant, by name."""

    def give(self, *, actor: User, person: User, owns: Collection[str], reads: Collection[str]) -> None:
        """Make the person an owner and a member of sets, by code; what they have stays.

        Raises UnknownSetError and what changing the people of a set raises.
        """

    def held(self, *, person: User) -> tuple[list[str], list[str]]:
        """Codes of the sets of the person's tenant that the person owns, and of those that it is a member of."""

    def put(self, *, actor: User, person: User, owns: Collection[str], reads: Collection[str]) -> None:
        """Make the person an owner and a member of these sets and of no others of the tenant. Raises as `give`."""

    def read_by_group(self, *, group: UserGroup) -> list[tuple[str, int]]:
        """Name and id of every set that the group is among the members of, by name."""


def set_rights_register(rights: SetRights) -> None:
    """Called once, when the app that has the sets is loaded."""
    _registered[:] = [rights]


def set_choices(*, tenant_id: int) -> list[tuple[str, str]]:
    """Code and name of every knowledge set of a tenant."""
    return [choice for rights in _registered for choice in rights.choices(tenant_id=tenant_id)]


def rights_give(
    *,
    actor: User,
    person: User,
    positions: Collection[Position] | None = None,
    owns: Sequence[str] = (),
    reads: Sequence[str] = (),
    creates_sets: bool | None = None,
) -> list[str]:
    """Give a stored person positions and sets in the name of an administrator; names of the fields that changed.

    None: what they have stays. Who owns or creates sets may open the administration. Needs a transaction.
    """
    before = (person.is_staff, person.is_superuser, person.can_create_sets)
    if positions is not None:
        person.is_superuser = Position.ADMINISTRATOR in positions
        person.is_staff = bool(positions) or person.can_create_sets
        _review(person, Position.REVIEWER in positions)
    if creates_sets is not None:
        person.can_create_sets = creates_sets
    person.is_staff = person.is_staff or bool(owns) or person.can_create_sets
    person.save(update_fields=["is_staff", "is_superuser", "can_create_sets"])
    for rights in _registered if owns or reads else ():
        rights.give(actor=actor, person=person, owns=owns, reads=reads)
    after = (person.is_staff, person.is_superuser, person.can_create_sets)
    fields = ("is_staff", "is_superuser", "can_create_sets")
    changed = [name for name, old, new in zip(fields, before, after, strict=True) if old != new]
    return [*changed, *(["owns"] if owns else []), *(["reads"] if reads else [])]


def rights_held(person: User) -> tuple[list[Position], list[str], list[str]]:
    """The positions of a person, and the codes of the sets that it owns and of those that it is a member of."""
    sets = [rights.held(person=person) for rights in _registered]
    owns, reads = [code for codes in sets for code in codes[0]], [code for codes in sets for code in codes[1]]
    holds = {
        Position.OWNER: bool(owns) or person.can_create_sets,
        Position.REVIEWER: _reviews(person),
        Position.ADMINISTRATOR: person.is_staff and person.is_superuser,
    }
    return [position for position, is_held in holds.items() if is_held], owns, reads


def rights_put(
    *,
    actor: User,
    person: User,
    positions: Collection[Position],
    owns: Collection[str],
    reads: Collection[str],
    creates_sets: bool,
    is_staff: bool,
) -> dict[str, list[Any]]:
    """Give a stored person exactly these rights; each changed right with its value before and after. In a transaction.

    `is_staff`: may open the administration, as editors of sets must; who holds or owns anything may anyway.
    Raises UnknownSetError and what changing the people of a set raises.
    """
    before = _rights_of(person)
    person.is_superuser, person.can_create_sets = Position.ADMINISTRATOR in positions, creates_sets
    person.is_staff = is_staff or bool(positions) or bool(owns) or creates_sets
    person.save(update_fields=["is_staff", "is_superuser", "can_create_sets"])
    _review(person, Position.REVIEWER in positions)
    for rights in _registered:
        rights.put(actor=actor, person=person, owns=owns, reads=reads)
    after = _rights_of(person)
    return {name: [value, after[name]] for name, value in before.items() if value != after[name]}


def sets_read_by_group(group: UserGroup) -> list[tuple[str, int]]:
    """Name and id of every knowledge set that members of the group read because of it."""
    return [pair for rights in _registered for pair in rights.read_by_group(group=group)]


def _rights_of(person: User) -> dict[str, Any]:
    flags = {name: getattr(person, name) for name in ("is_staff", "is_superuser", "can_create_sets")}
    return {**flags, "groups": sorted(person.groups.values_list("name", flat=True))}


def _reviews(person: User) -> bool:
    """Whether the permission to review was given to the person, itself or by a group; administrators have it anyway."""
    app, codename = REVIEW_PERMISSION.split(".")
    right = Permission.objects.get(content_type__app_label=app, codename=codename)
    is_own = person.user_permissions.filter(pk=right.pk).exists()
    return is_own or person.groups.filter(permissions=right).exists()


def _review(person: User, is_reviewer: bool) -> None:
    """The permission to review, by the group that has it where there is one."""
    app, codename = REVIEW_PERMISSION.split(".")
    right = Permission.objects.get(content_type__app_label=app, codename=codename)
    group = right.group_set.order_by("pk").first()
    if not is_reviewer:
        person.user_permissions.remove(right)
        person.groups.remove(*right.group_set.all())
    elif group is not None:
        person.groups.add(group)
    else:
        person.user_permissions.add(right)


def position_choices(*, of_site: bool) -> list[tuple[str, str]]:
    """The positions that can be given, in words. `of_site`: to people of the default tenant."""
    labels = dict(Position.choices)
    if of_site:
        labels[Position.ADMINISTRATOR.value] = _("Administrator of the whole site: all tenants")
    return [(value, str(label)) for value, label in labels.items()]
