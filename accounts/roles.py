"""Roles and what each of them may do. Selectors and services ask these declarations; docs/roles.md is made from them.

A role is not stored: it follows from the fields of a person and, for a knowledge set, from its lists of people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.scope import Scope

REVIEW_PERMISSION: Final = "feedback.change_badcase"
ACTS: dict[str, Act] = {}  # by code, in the order of the page


class Role(models.TextChoices):
    """Strongest first."""

    PLATFORM_ADMIN = "platform_admin", _("platform administrator")
    TENANT_ADMIN = "tenant_admin", _("tenant administrator")
    OWNER = "owner", _("owner")
    EDITOR = "editor", _("editor")
    REVIEWER = "reviewer", _("reviewer")
    EMPLOYEE = "employee", _("employee")


ADMINISTRATORS: Final = frozenset({Role.PLATFORM_ADMIN, Role.TENANT_ADMIN})
OWNERS: Final = ADMINISTRATORS | {Role.OWNER}
EDITORS: Final = OWNERS | {Role.EDITOR}
EVERYBODY: Final = frozenset(Role)

HELD_BY: Final = {
    Role.PLATFORM_ADMIN: "staff and superuser, of the default tenant: everything of every tenant",
    Role.TENANT_ADMIN: "staff and superuser, of another tenant: everything of that tenant",
    Role.OWNER: "in the owners of a knowledge set, or the owner of a source: that object",
    Role.EDITOR: "in the editors of a knowledge set: its documents and passages",
    Role.REVIEWER: "staff in the group Reviewers (permission to change feedback cases): cases, answers of the tenant",
    Role.EMPLOYEE: "every other person of the tenant",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Something that somebody does with a kind of object. Roles below a set count for that set only."""

    code: str
    on: str  # the kind of object
    says: str  # what is done
    roles: frozenset[Role]
    besides: str = ""  # who else, or under which condition


def act(code: str, *, on: str, says: str, roles: frozenset[Role], besides: str = "") -> Act:
    """Declare an act."""
    ACTS[code] = Act(code=code, on=on, says=says, roles=roles, besides=besides)
    return ACTS[code]


def administers(*, scope: Scope, doing: Act) -> bool:
    """Whether the person may do it because they administer the tenant or the site."""
    if scope.administers == "everything":
        return Role.PLATFORM_ADMIN in doing.roles
    return scope.administers == "tenant" and Role.TENANT_ADMIN in doing.roles


USERS_MANAGE = act("users.manage", on="users, groups, API keys, audit log", says="see and change", roles=ADMINISTRATORS)
TENANTS_MANAGE = act(
    "tenants.manage", on="tenant", says="create, change, set quotas", roles=frozenset({Role.PLATFORM_ADMIN})
)
KEYS_SCOPE_GIVE = act(
    "keys.give_scope", on="API key", says="give the scopes `keys` and `directory`", roles=ADMINISTRATORS
)
KEYS_MAKE = act(
    "keys.make",
    on="API key",
    says="make for another person",
    roles=ADMINISTRATORS,
    besides="the owner of a service account, for it",
)
EMBEDS_MANAGE = act(
    "embeds.manage",
    on="chat on other pages",
    says="add, change, remove; give keys to pages, which then vouch for any person of the tenant",
    roles=ADMINISTRATORS,
)
SETS_CREATE = act(
    "sets.create",
    on="knowledge set",
    says="create",
    roles=ADMINISTRATORS,
    besides="people with the right to create sets",
)
