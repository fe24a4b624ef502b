"""Reading accounts: who is this, and what may they see."""

from __future__ import annotations

import hashlib
from typing import Literal

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from accounts.compiled_queries import CompiledQuery
from accounts.errors import NotAuthenticatedError, NotFoundError
from accounts.key_scopes import KeyScope
from accounts.models import ApiKey, Tenant, User
from accounts.roles import KEYS_SCOPE_GIVE, OWNERS, REVIEW_PERMISSION, SETS_CREATE, Role, administers
from accounts.scope import Scope
from ragcore.text.scripts import cjk_share

_GROUPS_OF_PERSON = CompiledQuery(
    lambda person: User.user_groups.through.objects.filter(user_id=person).values_list("usergroup_id", flat=True),
    person=int,
)
_KEY_OF_DIGEST = CompiledQuery(
    lambda digest: ApiKey.objects.select_related("user__tenant").filter(
        Q(user__service_owner=None) | Q(user__service_owner__is_active=True),  # nobody answers for it otherwise
        digest=digest,
        revoked=None,
        user__is_active=True,
    )[:1],
    digest=str,
)


def scope_for(user: User) -> Scope:
    """The rights of a user at this moment."""
    return Scope(
        tenant_id=user.tenant_id,
        user_id=user.pk,
        clearance=user.clearance,
        group_ids=frozenset(_GROUPS_OF_PERSON(person=user.pk)),
        administers=_administers(user),
    )


def _administers(user: User) -> Literal["nothing", "tenant", "everything"]:
    if not (user.is_staff and user.is_superuser):
        return "nothing"
    return "everything" if user.tenant.is_default else "tenant"


def site_tenant_id() -> int | None:
    """The tenant with which work of the whole site stands: its administrators are those of the site.

    None on a site that has no tenant yet.
    """
    return Tenant.objects.order_by("-is_default", "pk").values_list("pk", flat=True).first()


def roles_held(user: User) -> list[Role]:
    """The roles of a person, strongest first; owner and editor: of any set or source."""
    scope = scope_for(user)
    holds: dict[Role, bool] = {
        Role.PLATFORM_ADMIN: scope.administers == "everything",
        Role.TENANT_ADMIN: scope.administers == "tenant",
        Role.OWNER: user.owned_sets.exists() or user.owned_sources.exists(),
        Role.EDITOR: user.edited_sets.exists(),
        Role.REVIEWER: user.is_staff and user.has_perm(REVIEW_PERMISSION),
        Role.EMPLOYEE: True,
    }
    return [role for role, is_held in holds.items() if is_held]


def roles_in_words(user: User) -> list[str]:
    """What a person is here, strongest first, for pages: an employee only where they are nothing else."""
    words = [str(role.label) for role in roles_held(user) if role != Role.EMPLOYEE]
    if user.can_create_sets and not {Role.PLATFORM_ADMIN, Role.TENANT_ADMIN}.intersection(roles_held(user)):
        words.append(gettext("may create knowledge sets"))
    return words or [str(Role.EMPLOYEE.label)]


def person_name(user: User) -> str:
    """The name of a person, the family name first where it is Chinese; the user name of one without."""
    family_first = f"{user.last_name}{user.first_name}"
    return family_first if cjk_share(family_first) > 0.5 else user.get_full_name() or user.username


def may_give_keys_scope(user: User) -> bool:
    """Whether this person may give a key the scopes `keys` and `directory`: administrators only."""
    return administers(scope=scope_for(user), doing=KEYS_SCOPE_GIVE)


def scopes_usable(user: User) -> list[KeyScope]:
    """Scopes of keys with which this person can do something, in the order of their declaration.

    Everybody asks, reads and requests access, which is writing. Managing is for owners and for whoever may create sets
    or people, making keys and directories for administrators.
    """
    usable = {
        KeyScope.ASK: True,
        KeyScope.READ: True,
        KeyScope.WRITE: True,
        KeyScope.MANAGE: bool(OWNERS.intersection(roles_held(user))) or user.can_create_sets,
        KeyScope.KEYS: may_give_keys_scope(user),
        KeyScope.DIRECTORY: may_give_keys_scope(user),
    }
    return [scope for scope in KeyScope if usable[scope]]


def may_create_sets(*, user: User, scope: Scope) -> bool:
    """Administrators, and whom they have given the right."""
    return user.can_create_sets or administers(scope=scope, doing=SETS_CREATE)


def api_key_get(secret: str) -> ApiKey:
    """The key with its active user and their tenant. Raises NotAuthenticatedError for a revoked or expired one, too."""
    row = _KEY_OF_DIGEST.first(digest=key_digest(secret))
    if row is None or row.is_expired:
        raise NotAuthenticatedError
    _note_use(row)
    return row


def key_digest(key: str) -> str:
    """SHA-256 of a key as stored. Keys have 256 random bits, so a slow hash would add nothing."""
    return hashlib.sha256(key.encode()).hexdigest()


def _note_use(row: ApiKey) -> None:
    """Remember the day of use without a write for each request."""
    now = timezone.now()
    if row.last_used is None or (now - row.last_used).total_seconds() > 3600:
        ApiKey.objects.filter(pk=row.pk).update(last_used=now)


def tenant_check(*, user: User, tenant_id: str | None) -> None:
    """A tenant in a request, by name or number, is compared, never trusted. Raises NotFoundError for another one."""
    if tenant_id is not None and tenant_id not in (user.tenant.name, str(user.tenant_id)):
        raise NotFoundError("tenant")
