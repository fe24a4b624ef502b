"""What a person may do here, given in one act: positions, knowledge sets, the right to create some (D43)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from django.contrib.auth.models import Permission
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.roles import REVIEW_PERMISSION
from accounts.scope import Scope


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


_registered: list[SetRights] = []


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


def position_choices(*, scope: Scope) -> list[tuple[str, str]]:
    """The positions that the asker can give, in words."""
    labels = dict(Position.choices)
    if scope.administers == "everything":
        labels[Position.ADMINISTRATOR.value] = _("Administrator of the whole site: all tenants")
    return [(value, str(label)) for value, label in labels.items()]
