"""What a directory does to people. The same services as for imported lists stand underneath."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.errors import MissingRightError
from accounts.models import ApiKey, DirectoryEntry, Tenant, User
from accounts.people.leaving import person_leave
from accounts.people.records import RecordError
from accounts.people.services import person_upsert, username_check
from accounts.roles import USERS_MANAGE, administers
from accounts.scim.attributes import PERSON_SHAPE
from accounts.scim.errors import ScimError, invalid_value, not_unique
from accounts.scim.patches import patched
from accounts.scim.queries import people_of, person_find
from accounts.scim.resources import (
    PersonValues,
    Resource,
    entry_of,
    person_document,
    person_document_of,
    person_values,
)
from accounts.selectors import scope_for
from accounts.services import audit_record

SOURCE = "scim"
Precondition = Callable[[Any], None]  # raises ScimError (412) where the row is not what the directory read


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """Who keeps the people of a tenant: the user of a key, in whose name all is recorded."""

    tenant: Tenant
    actor: User


def directory_of(key: ApiKey) -> Directory:
    """Raises MissingRightError unless the user of the key, or the owner of the service account, is an administrator."""
    user = key.user
    answers_for = user.service_owner if user.is_service and user.service_owner is not None else user
    if not administers(scope=scope_for(answers_for), doing=USERS_MANAGE) or answers_for.tenant_id != user.tenant_id:
        raise MissingRightError("use_directory")
    return Directory(tenant=user.tenant, actor=user)


@transaction.atomic
def person_create(*, directory: Directory, body: Any) -> User:
    """A new person; or the same account again of somebody who was removed, known by externalId.

    A name alone brings nobody back: it may be somebody else's now. Raises ScimError.
    """
    wait_for_others(directory)
    values = person_values(person_document_of(body))
    person = _who_comes_back(directory, values)
    if person is None:
        _require_free(directory, values, None)
        person = _saved(directory, None, values)
    else:
        _require_free(directory, values, person)
        entry = person.directory_entry
        entry.generation, entry.removed_at = entry.generation + 1, None
        entry.save(update_fields=["generation", "removed_at"])
        person = _saved(directory, person, values)
    _set_active(directory, person, is_active=values.active is not False)
    return _read(directory, person)


@transaction.atomic
def person_replace(*, directory: Directory, scim_id: str, body: Any, precondition: Precondition) -> User:
    """PUT: what the body does not name is emptied, but for `active`, which then stays. Raises ScimError."""
    person = _locked(directory, scim_id, precondition)
    return _changed(directory, person, person_document_of(body))


@transaction.atomic
def person_patch(*, directory: Directory, scim_id: str, body: Any, precondition: Precondition) -> User:
    """PATCH. Raises ScimError; then nothing has changed."""
    person = _locked(directory, scim_id, precondition)
    return _changed(directory, person, patched(person_document(person), body, PERSON_SHAPE))


@transaction.atomic
def person_remove(*, directory: Directory, scim_id: str, precondition: Precondition) -> None:
    """Deactivate a person, who leaves the user groups, too; the directory sees them no more. Raises ScimError.

    The account stays with what it wrote: administrators erase people.
    """
    person = _locked(directory, scim_id, precondition)
    _require_no_administrator(person, "removed")
    if person.is_active:
        person_leave(user=person, actor=directory.actor)
    person.user_groups.clear()
    entry = entry_of(person) or DirectoryEntry(user=person)
    entry.removed_at = entry.modified = timezone.now()
    entry.save()
    audit_record(actor=directory.actor, action="user.change", target=person.username, source=SOURCE, removed=True)


def _changed(directory: Directory, person: User, document: Resource) -> User:
    """The person with the values of a document."""
    if document == person_document(person):
        return person
    values = person_values(document)
    if values.record.username != person.username:
        _require_no_administrator(person, "renamed")
    _require_free(directory, values, person)
    person = _saved(directory, person, values)
    if values.active is not None:
        _set_active(directory, person, is_active=values.active)
    return _read(directory, person)


def _saved(directory: Directory, person: User | None, values: PersonValues) -> User:
    """Profile, name and entry of a person, stored and recorded."""
    former_name = person.username if person is not None else values.record.username
    if person is not None:
        person.username = values.record.username
    try:
        username_check(values.record.username)
        with transaction.atomic():  # the constraint decides, also between two tenants
            person_upsert(values.record, tenant=directory.tenant, actor=directory.actor, user=person, source=SOURCE)
    except RecordError as error:
        raise invalid_value(f"The person cannot be used: {error}.") from None
    except IntegrityError:
        raise not_unique("Somebody has this userName.") from None
    person = person or User.objects.get(username=values.record.username)
    if former_name != person.username:
        names = {"username": [former_name, person.username]}
        audit_record(actor=directory.actor, action="user.change", target=person.username, source=SOURCE, changes=names)
    entry = entry_of(person) or DirectoryEntry(user=person)
    entry.external_id, entry.modified = values.external_id, timezone.now()
    entry.save()
    return person


def _set_active(directory: Directory, person: User, *, is_active: bool) -> None:
    if person.is_active == is_active:
        return
    _require_no_administrator(person, "activated" if is_active else "deactivated")
    if not is_active:
        person_leave(user=person, actor=directory.actor)
        return
    person.is_active = True
    person.save(update_fields=["is_active"])
    changes = {"active": [False, True]}
    audit_record(actor=directory.actor, action="user.change", target=person.username, source=SOURCE, changes=changes)


def _require_no_administrator(person: User, act: str) -> None:
    """A directory neither makes administrators nor takes them away: that needs another administrator."""
    if person.is_superuser:
        raise ScimError(
            f"{person.username!r} is an administrator and is {act} on the pages of the administration only.",
            status=HTTPStatus.FORBIDDEN,
        )


def _require_free(directory: Directory, values: PersonValues, person: User | None) -> None:
    """Raises ScimError (409) where somebody else has the name, without case, or the externalId."""
    rest = User.objects.exclude(pk=_pk(person))
    namesake = rest.filter(username__iexact=values.record.username).select_related("directory_entry").first()
    if namesake is not None:
        entry = entry_of(namesake) if namesake.tenant_id == directory.tenant.pk else None
        if entry is not None and entry.removed_at is not None and not namesake.is_active:
            raise not_unique(
                "This userName is of somebody who was removed. Send the same externalId to bring them back; for "
                "another person choose another name, or let an administrator erase the earlier one."
            )
        raise not_unique("Somebody has this userName.")
    same_id = people_of(directory.tenant.pk).filter(directory_entry__external_id=values.external_id)
    if values.external_id and same_id.exclude(pk=_pk(person)).exists():
        raise not_unique("Somebody has this externalId.")


def _who_comes_back(directory: Directory, values: PersonValues) -> User | None:
    """Whoever was removed and had this externalId; the last one. Raises ScimError for an administrator."""
    rows = User.objects.select_for_update(of=("self",)).select_related("directory_entry", "tenant")
    person = (
        rows.filter(
            tenant=directory.tenant,
            is_active=False,
            directory_entry__external_id=values.external_id,
            directory_entry__removed_at__isnull=False,
        )
        .order_by("-directory_entry__removed_at")
        .first()
        if values.external_id
        else None
    )
    if person is not None:
        _require_no_administrator(person, "activated")
    return person


def _pk(person: User | None) -> int:
    """The number of a stored person; one of nobody for a new one."""
    return person.pk if person is not None else 0


def _locked(directory: Directory, scim_id: str, precondition: Precondition) -> User:
    """The person as it is while nobody else, on the pages of the administration either, can change it."""
    wait_for_others(directory)
    number = person_find(directory.tenant.pk, scim_id).pk
    User.objects.select_for_update(no_key=True).get(pk=number)
    person = person_find(directory.tenant.pk, scim_id)
    precondition(person)
    return person


def wait_for_others(directory: Directory) -> None:
    """Needs a transaction. Requests of one tenant are served one after the other, until the transaction ends."""
    Tenant.objects.select_for_update(no_key=True).get(pk=directory.tenant.pk)


def _read(directory: Directory, person: User) -> User:
    """The person as stored."""
    return people_of(directory.tenant.pk).get(pk=person.pk)
