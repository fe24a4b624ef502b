"""What ends when a person leaves: the one function, and the list that each app adds to beside its models.

Every relation to a person is either in an `Ending` or in `STAYS`, with the reason; a test walks all models. Whoever
leaves keeps the account, which nobody can sign in with. Coming back brings nothing of what ended back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.functional import Promise

from accounts.models import User
from accounts.services import audit_record

_endings: dict[str, Ending] = {}
STAYS: dict[str, str] = {}  # relation → why it goes on


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSecret:
    """A secret in place of one that somebody knew. It is shown once."""

    of: str  # the name of what it opens
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """One kind of what a person has made work. `relations`: `app.Model.field`."""

    code: str  # in the audit log
    label: Promise  # of its rows, for the page that asks first
    relations: tuple[str, ...]
    rows: Callable[[User], QuerySet[Any]]  # what still works
    is_named: bool = False  # `str` of a row means something to people
    end: Callable[[User, User], None]  # of the person, in the name of the actor
    hand_over: Callable[[User, User, User], None] | None = None  # from, to, actor: instead of ending it
    replace_secrets: Callable[[User, User], list[NewSecret]] | None = None  # of the person, who knows the old ones
    leave_tenant: Callable[[User, User], None] | None = None  # what else ends where the person goes to another tenant


def ends_with_person(ending: Ending) -> Ending:
    """End these rows, too, when a person leaves."""
    _endings.setdefault(ending.code, ending)
    return ending


def stays_after_person(because: str, *relations: str) -> None:
    """These relations need no end."""
    STAYS.update(dict.fromkeys(relations, because))


def endings() -> list[Ending]:
    """All kinds, in the order in which the apps named them."""
    return list(_endings.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Remaining:
    """What of one kind still works for a person."""

    ending: Ending
    count: int
    names: Sequence[str] = ()

    @property
    def can_be_handed_over(self) -> bool:
        return self.ending.hand_over is not None


def remaining(user: User) -> list[Remaining]:
    """What ends when the person leaves now, without the kinds of which there is nothing."""
    kinds = []
    for ending in endings():
        if rows := list(ending.rows(user)):
            names = [str(row) for row in rows] if ending.is_named else []
            kinds.append(Remaining(ending=ending, count=len(rows), names=names))
    return kinds


@transaction.atomic
def person_leave(*, user: User, actor: User) -> Mapping[str, int]:
    """Nothing of this person works any more: sign-in, keys, service accounts, open connections, sources, links.

    Safe to run twice. Returns how many rows of each kind have ended.
    """
    User.objects.filter(pk=user.pk, is_active=True).update(is_active=False)
    user.is_active = False
    ended = _end_all(user, actor)
    audit_record(actor=actor, action="user.deactivate", target=user.username, **({"ended": ended} if ended else {}))
    return ended


@transaction.atomic
def person_move(*, user: User, actor: User) -> Mapping[str, int]:
    """Call before somebody's tenant changes: what the person made work in the old one ends, as when they leave it.

    So do memberships in its groups and knowledge sets.

    The account stays active, and signs in again. Returns how many rows of each kind have ended.
    """
    ended = _end_all(user, actor)
    user.user_groups.clear()
    for ending in endings():
        if ending.leave_tenant is not None:
            ending.leave_tenant(user, actor)
    audit_record(actor=actor, action="user.move", target=user.username, **({"ended": ended} if ended else {}))
    return ended


def _end_all(user: User, actor: User) -> dict[str, int]:
    """Rows of each kind that have ended."""
    ended: dict[str, int] = {}
    for ending in endings():
        if count := len(ending.rows(user)):
            ended[ending.code] = count
        ending.end(user, actor)
    return ended


@transaction.atomic
def person_delete(*, user: User, actor: User) -> None:
    """Delete an account; what it made work ends first, since not all of that goes with the row.

    Raises ProtectedError, and then nothing ends, where service accounts belong to it.
    """
    person_leave(user=user, actor=actor)
    user.delete()


@transaction.atomic
def hand_over(*, user: User, to: User, actor: User, codes: Sequence[str]) -> Mapping[str, int]:
    """Give rows of these kinds to another person, who then answers for them. Unknown kinds are left alone.

    The caller has checked that the actor administers both, and that they are of one tenant.
    """
    counts: dict[str, int] = {}
    for ending in endings():
        if ending.code in codes and ending.hand_over is not None and (count := len(ending.rows(user))):
            ending.hand_over(user, to, actor)
            counts[ending.code] = count
    if counts:
        audit_record(actor=actor, action="user.hand_over", target=user.username, to=to.username, given=counts)
    return counts


@transaction.atomic
def secrets_replace(*, user: User, actor: User, codes: Sequence[str]) -> list[NewSecret]:
    """Make worthless what the person knows of these kinds, before `hand_over`; returns the new secrets.

    Keys are revoked without new ones: who takes the accounts over makes them.
    """
    new_secrets: list[NewSecret] = []
    for ending in endings():
        if ending.code in codes and ending.replace_secrets is not None:
            new_secrets += ending.replace_secrets(user, actor)
    return new_secrets
