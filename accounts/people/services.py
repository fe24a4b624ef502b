"""Making and changing people by what other systems say of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from accounts.error_messages import error_message
from accounts.models import Tenant, User, UserGroup
from accounts.people.leaving import person_leave
from accounts.people.records import PersonRecord, RecordError
from accounts.people.rights import Position, rights_give
from accounts.services import audit_record
from ragcore.errors import PermanentError

PLAIN = ("email", "first_name", "last_name", "department", "product", "role", "locale", "interests", "clearance")


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonChange:
    """What a record does to a person: fields with their values before and after."""

    username: str
    is_new: bool = False
    changes: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether everything is as it was."""
        return not self.is_new and not self.changes


@dataclass(slots=True, kw_only=True)
class ImportResult:
    """What an import did, or would do."""

    changes: list[PersonChange] = field(default_factory=list)
    faults: list[tuple[int, str]] = field(default_factory=list)  # number of the record, from 1, and what is wrong


def people_import(
    records: Iterable[PersonRecord | RecordError], *, tenant: Tenant, actor: User, dry_run: bool, deactivate: bool
) -> ImportResult:
    """Bring the people of a tenant to what the records say; `deactivate`: who is not among them is made inactive.

    Staff are never deactivated by a list, and nobody where a record could not be read. All or nothing.
    """
    result, usernames = ImportResult(), set[str]()
    with transaction.atomic():
        for number, record in enumerate(records, 1):
            try:
                if isinstance(record, RecordError):
                    raise record
                usernames.add(record.username)
                change = person_upsert(record, tenant=tenant, actor=actor, with_rights=True)
            except RecordError as error:
                result.faults.append((number, str(error)))
            else:
                result.changes += [] if change.is_empty else [change]
        if deactivate and not result.faults:
            result.changes += _deactivate_others(usernames, tenant=tenant, actor=actor)
        if dry_run:
            transaction.set_rollback(True)
    return result


@transaction.atomic
def person_upsert(
    record: PersonRecord,
    *,
    tenant: Tenant,
    actor: User | None,
    user: User | None = None,
    with_rights: bool = False,
    source: str = "import",
) -> PersonChange:
    """Make or change one person. `user`: who it is, where that is known. Raises RecordError.

    `source`: what says it, for the audit log.

    `with_rights`: positions and knowledge sets of the record are given, too; the actor is an administrator.

    A person of another tenant with this name is nobody that this tenant may touch.
    """
    earlier = user or User.objects.select_for_update().filter(username=record.username).first()
    if earlier is not None and earlier.tenant_id != tenant.pk:
        raise RecordError(_("the user name '%(name)s' is in use elsewhere") % {"name": record.username})
    person = earlier or _new_person(record.username, tenant)
    changes = {} if earlier is None else _differences(person, record)
    for name in PLAIN:
        if (value := getattr(record, name)) is not None:
            setattr(person, name, list(value) if name == "interests" else value)
    if record.active is not None and not (person.is_staff and not record.active):
        person.is_active = record.active
    person.save()
    if record.groups is not None:
        person.user_groups.set([UserGroup.objects.get_or_create(tenant=tenant, name=n)[0] for n in record.groups])
    if with_rights and actor is not None:
        changes |= _rights(record, person, actor=actor)
    change = PersonChange(username=person.username, is_new=earlier is None, changes=changes)
    _record(change, person, actor=actor, source=source)
    return change


def _rights(record: PersonRecord, person: User, *, actor: User) -> dict[str, tuple[Any, Any]]:
    """Positions and sets of a record, given; what changed. Raises RecordError."""
    positions = None
    if record.positions is not None:
        if unknown := set(record.positions) - set(Position.values):
            names = {"unknown": ", ".join(sorted(unknown)), "known": ", ".join(Position.values)}
            raise RecordError(_("unknown positions: %(unknown)s; known are %(known)s") % names)
        positions = [Position(value) for value in record.positions]
    try:
        changed = rights_give(
            actor=actor,
            person=person,
            positions=positions,
            owns=record.owns or (),
            reads=record.reads or (),
            creates_sets=record.creates_sets,
        )
    except PermanentError as error:
        raise RecordError(error_message(error)) from error
    return {name: (None, list(getattr(record, name, None) or ()) or getattr(person, name, None)) for name in changed}


@transaction.atomic
def person_deactivate(*, user: User, actor: User) -> None:
    """Nothing of this person works any more, nor of what they made work (`accounts.people.leaving`)."""
    person_leave(user=user, actor=actor)


def username_check(username: str) -> None:
    """Raises RecordError for a name that nobody can have."""
    try:
        UnicodeUsernameValidator()(username)
    except ValidationError:
        raise RecordError(
            _("the user name '%(name)s' has characters that names cannot have") % {"name": username}
        ) from None


def _new_person(username: str, tenant: Tenant) -> User:
    username_check(username)
    person = User(username=username, tenant=tenant)
    person.set_unusable_password()
    return person


def _differences(person: User, record: PersonRecord) -> dict[str, tuple[Any, Any]]:
    values: dict[str, Any] = {name: getattr(record, name) for name in PLAIN}
    values["interests"] = None if record.interests is None else list(record.interests)
    before: dict[str, Any] = {name: getattr(person, name) for name in PLAIN}
    if record.groups is not None:
        before["groups"] = sorted(person.user_groups.values_list("name", flat=True))
        values["groups"] = sorted(record.groups)
    if not (person.is_staff and record.active is False):
        before["active"], values["active"] = person.is_active, record.active
    return {
        name: (before[name], value) for name, value in values.items() if value is not None and value != before[name]
    }


def _record(change: PersonChange, person: User, *, actor: User | None, source: str) -> None:
    if change.is_empty:
        return
    audit_record(
        actor=actor or person,
        action="user.create" if change.is_new else "user.change",
        target=person.username,
        source=source,
        changes={name: list(values) for name, values in change.changes.items()},
    )
    if not person.is_active and "active" in change.changes:
        person_leave(user=person, actor=actor or person)


def _deactivate_others(usernames: set[str], *, tenant: Tenant, actor: User) -> list[PersonChange]:
    absent = User.objects.filter(tenant=tenant, is_active=True, is_staff=False).exclude(username__in=usernames)
    changes = []
    for person in absent.order_by("username"):
        person_deactivate(user=person, actor=actor)
        changes.append(PersonChange(username=person.username, changes={"active": (True, False)}))
    return changes
