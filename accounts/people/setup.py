"""A new person with everything that they need, in one act: name, mail, groups, role."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import Permission
from django.db import models, transaction
from django.utils.translation import gettext_lazy as _

from accounts.errors import MissingRightError
from accounts.models import User, UserGroup
from accounts.roles import REVIEW_PERMISSION, USERS_MANAGE, administers
from accounts.scope import Scope
from accounts.selectors import scope_for
from accounts.services import audit_record, user_create


class Position(models.TextChoices):
    """What a new person does here; finer rights are given on their page and on those of knowledge sets.

    An administrator made in the default tenant administers all tenants: `position_choices` says which one it will be.
    """

    EMPLOYEE = "employee", _("Employee: asks questions")
    KEEPER = "keeper", _("Owner or editor: also works in the administration on their knowledge sets")
    REVIEWER = "reviewer", _("Reviewer: also works on feedback cases")
    ADMINISTRATOR = "administrator", _("Tenant administrator")


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonPlan:
    """Who it is. `groups`: names of user groups, which are made where they are new."""

    username: str
    email: str = ""
    first_name: str = ""
    last_name: str = ""
    groups: Sequence[str] = ()
    position: Position = Position.EMPLOYEE
    clearance: int = 0
    with_password: bool = True  # False: signs in with the organisation's account


@transaction.atomic
def person_setup(*, actor: User, plan: PersonPlan) -> tuple[User, str]:
    """A new person of the actor's tenant, and the password to hand over, "" without one: to be changed at first use.

    For administrators. Raises MissingRightError, NameTakenError.
    """
    if not administers(scope=scope_for(actor), doing=USERS_MANAGE):
        raise MissingRightError("make_users")
    password = secrets.token_urlsafe(12) if plan.with_password else ""
    person = user_create(
        actor=actor, username=plan.username, clearance=plan.clearance, groups=plan.groups, password=password or None
    )
    person.email, person.first_name, person.last_name = plan.email, plan.first_name, plan.last_name
    person.must_change_password = plan.with_password
    person.is_staff = plan.position != Position.EMPLOYEE
    person.is_superuser = plan.position == Position.ADMINISTRATOR
    person.save()
    if plan.position == Position.REVIEWER:
        app, codename = REVIEW_PERMISSION.split(".")
        right = Permission.objects.get(content_type__app_label=app, codename=codename)
        group = right.group_set.order_by("pk").first()
        if group is not None:
            person.groups.add(group)
        else:
            person.user_permissions.add(right)
    audit_record(actor=actor, action="user.change", target=person.username, fields=["role"], role=plan.position.value)
    return person, password


def position_choices(*, scope: Scope) -> list[tuple[str, str]]:
    """The positions that the asker can give, in words."""
    labels = dict(Position.choices)
    if scope.administers == "everything":
        labels[Position.ADMINISTRATOR.value] = _("Platform administrator: all tenants")
    return [(value, str(label)) for value, label in labels.items()]


def group_names(tenant_id: int) -> list[tuple[str, str]]:
    """The user groups of a tenant as choices."""
    return [(name, name) for name in UserGroup.objects.filter(tenant=tenant_id).values_list("name", flat=True)]
