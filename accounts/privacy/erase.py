"""Erasing a person: the account, everything that belongs to it, and the name in the audit log."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction
from django.db.models import Q

from accounts.access_events import access_ended_publish
from accounts.errors import NotAllowedError
from accounts.models import User
from accounts.people.leaving import person_leave
from accounts.services import audit_record

Eraser = Callable[[User], None]
_erasers: list[Eraser] = []


def erase_with(eraser: Eraser) -> Eraser:
    """Call this function, too, before a person's rows are deleted: for what no relation of the database leads to."""
    if eraser not in _erasers:
        _erasers.append(eraser)
    return eraser


def erase_first_with(eraser: Eraser) -> Eraser:
    """The same, before the others: for what is found by rows that these remove."""
    if eraser not in _erasers:
        _erasers.insert(0, eraser)
    return eraser


def pseudonym_of(user: User) -> str:
    """What stands in the place of the name of somebody who was erased."""
    return f"person-{user.pk}"


@transaction.atomic
def person_erase(*, user: User, actor: User) -> str:
    """Remove a person for good; returns the pseudonym that stands in the audit log from now on.

    What they made work ends first. Documents, knowledge sets and edits stay, without the name.
    Raises NotAllowedError for oneself, for the last platform administrator, and for an owner of service accounts.
    """
    if user.pk == actor.pk:
        raise NotAllowedError("erase_oneself")
    administrators = User.objects.filter(is_superuser=True, is_staff=True, is_active=True, tenant__is_default=True)
    if user.tenant.is_default and not administrators.exclude(pk=user.pk).exists():
        raise NotAllowedError("last_administrator")
    if user.service_accounts.exists():
        raise NotAllowedError("owns_service_accounts")
    person_leave(user=user, actor=actor)
    pseudonym = pseudonym_of(user)
    for eraser in _erasers:
        eraser(user)
    kind = ContentType.objects.get_for_model(User)
    LogEntry.objects.filter(Q(user=user) | Q(content_type=kind, object_id=str(user.pk))).delete()
    with connection.cursor() as cursor:
        values: list[int | str] = [user.pk, user.username, pseudonym, actor.pk, actor.username, user.tenant_id]
        cursor.execute("SELECT accounts_audit_pseudonymise(%s, %s, %s, %s, %s, %s)", values)
    access_ended_publish(user_id=user.pk, with_keys=True)
    user.delete()
    audit_record(actor=actor, action="person.erase", target=pseudonym)
    return pseudonym
