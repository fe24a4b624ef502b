"""A new person with everything that they need, in one act: name, mail, groups, role, knowledge sets."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db import transaction

from accounts.errors import MissingRightError, NotAllowedError
from accounts.models import User, UserGroup
from accounts.people.rights import Position, rights_give, rights_put
from accounts.roles import USERS_MANAGE, administers
from accounts.selectors import scope_for
from accounts.services import audit_record, user_create


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonPlan:
    """Who it is. `groups`: names of user groups, which are made where they are new."""

    username: str
    email: str = ""
    first_name: str = ""
    last_name: str = ""
    groups: Sequence[str] = ()
    positions: Sequence[Position] = ()  # besides asking questions
    owns: Sequence[str] = ()  # codes of knowledge sets
    reads: Sequence[str] = ()  # codes of sets that it becomes a member of
    creates_sets: bool = False
    clearance: int = 0
    with_password: bool = True  # False: signs in with the organisation's account


@transaction.atomic
def person_setup(*, actor: User, plan: PersonPlan) -> tuple[User, str]:
    """A new person of the actor's tenant, and the password to hand over, "" without one: to be changed at first use.

    For administrators. Raises MissingRightError, NameTakenError, and UnknownSetError for a set of another tenant.
    """
    if not administers(scope=scope_for(actor), doing=USERS_MANAGE):
        raise MissingRightError("make_users")
    password = secrets.token_urlsafe(12) if plan.with_password else ""
    person = user_create(
        actor=actor, username=plan.username, clearance=plan.clearance, groups=plan.groups, password=password or None
    )
    person.email, person.first_name, person.last_name = plan.email, plan.first_name, plan.last_name
    person.must_change_password = plan.with_password
    person.save()
    rights_give(
        actor=actor,
        person=person,
        positions=plan.positions,
        owns=plan.owns,
        reads=plan.reads,
        creates_sets=plan.creates_sets,
    )
    role = ", ".join(plan.positions)
    audit_record(actor=actor, action="user.change", target=person.username, fields=["role"], role=role)
    return person, password


@transaction.atomic
def person_rights_put(
    *,
    actor: User,
    person: User,
    positions: Collection[Position],
    owns: Collection[str],
    reads: Collection[str],
    creates_sets: bool,
    is_staff: bool,
) -> None:
    """Give a person exactly these positions and knowledge sets (codes). For administrators of the person's tenant.

    Raises MissingRightError, UnknownSetError, what changing the people of a set raises, and NotAllowedError where
    administrators would take that role from themselves: so there is always one left.
    """
    scope = scope_for(actor)
    is_of_tenant = scope.administers == "everything" or scope.tenant_id == person.tenant_id
    if not (administers(scope=scope, doing=USERS_MANAGE) and is_of_tenant):
        raise MissingRightError("make_users")
    person = User.objects.select_for_update().get(pk=person.pk)
    if person == actor and Position.ADMINISTRATOR not in positions:
        raise NotAllowedError("own_administration")
    changes = rights_put(
        actor=actor,
        person=person,
        positions=positions,
        owns=owns,
        reads=reads,
        creates_sets=creates_sets,
        is_staff=is_staff,
    )
    if changes:
        audit_record(actor=actor, action="user.change", target=person.username, changes=changes)


def group_names(tenant_id: int) -> list[tuple[str, str]]:
    """The user groups of a tenant as choices."""
    return [(name, name) for name in UserGroup.objects.filter(tenant=tenant_id).values_list("name", flat=True)]
