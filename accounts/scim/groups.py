"""What a directory does to user groups, which share access to knowledge sets; they give no role."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db import IntegrityError, transaction

from accounts.models import User, UserGroup
from accounts.scim.attributes import GROUP_SHAPE, document_of
from accounts.scim.errors import invalid_value, not_unique
from accounts.scim.patches import patched
from accounts.scim.people import SOURCE, Directory, Precondition, wait_for_others
from accounts.scim.queries import group_find, people_of
from accounts.scim.resources import Resource, external_id_of, parsed_id, person_id
from accounts.services import audit_record

MAX_NAME = UserGroup._meta.get_field("name").max_length or 0


@transaction.atomic
def group_create(*, directory: Directory, body: Any) -> UserGroup:
    """A new user group. Raises ScimError."""
    wait_for_others(directory)
    document = document_of(body, GROUP_SHAPE)
    group = UserGroup(tenant=directory.tenant)
    _save(group, document)
    names = _put_members(directory, group, document, present=())
    audit_record(actor=directory.actor, action="group.create", target=group.name, source=SOURCE, **names)
    return group_find(directory.tenant.pk, str(group.pk))


@transaction.atomic
def group_replace(*, directory: Directory, scim_id: str, body: Any, precondition: Precondition) -> UserGroup:
    """PUT: members that the body does not name leave. Raises ScimError."""
    group = _locked(directory, scim_id, precondition)
    return _changed(directory, group, document_of(body, GROUP_SHAPE))


@transaction.atomic
def group_patch(*, directory: Directory, scim_id: str, body: Any, precondition: Precondition) -> UserGroup:
    """PATCH. Raises ScimError; then nothing has changed."""
    group = _locked(directory, scim_id, precondition)
    return _changed(directory, group, patched(_document(group), body, GROUP_SHAPE))


@transaction.atomic
def group_remove(*, directory: Directory, scim_id: str, precondition: Precondition) -> None:
    """Delete a group; who read knowledge sets because of it reads them no more. Raises ScimError."""
    group = _locked(directory, scim_id, precondition)
    group.delete()
    audit_record(actor=directory.actor, action="group.delete", target=group.name, source=SOURCE)


def _document(group: UserGroup) -> Resource:
    members = [{"value": person_id(user)} for user in group.members.all() if not user.is_service]
    return {"displayName": group.name, "externalId": group.external_id, "members": members}


def _changed(directory: Directory, group: UserGroup, document: Resource) -> UserGroup:
    before = (group.name, group.external_id)
    present = [user for user in group.members.all() if not user.is_service]
    _save(group, document)
    changes: dict[str, Any] = dict(_put_members(directory, group, document, present=present))
    if group.name != before[0]:
        changes["name"] = [before[0], group.name]
    if changes or group.external_id != before[1]:
        audit_record(actor=directory.actor, action="group.change", target=group.name, source=SOURCE, **changes)
    return group_find(directory.tenant.pk, str(group.pk))


def _save(group: UserGroup, document: Resource) -> None:
    name = document.get("displayName")
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name.strip()) > MAX_NAME:
        raise invalid_value(f"displayName must be a text of 1 to {MAX_NAME} printable characters.")
    group.name, group.external_id = name.strip(), external_id_of(document)
    try:
        with transaction.atomic():  # the constraint decides
            group.save()
    except IntegrityError:
        raise not_unique(f"There is a group with the name {group.name!r}.") from None


def _put_members(
    directory: Directory, group: UserGroup, document: Resource, *, present: Collection[User]
) -> dict[str, list[str]]:
    """Make these people the members; who came and went. Service accounts, which no directory sees, stay."""
    ids = _ids_of(document.get("members", []))
    rows = people_of(directory.tenant.pk).filter(pk__in={parsed[0] for parsed in map(parsed_id, ids) if parsed})
    people = {person_id(user): user for user in rows}
    if unknown := sorted(ids - set(people) - {person_id(user) for user in present}):
        raise invalid_value(f"There are no users {', '.join(unknown[:5])!s} that could be members.")
    present_ids = {user.pk for user in present}
    additions = [user for user in people.values() if user.pk not in present_ids]
    leaving = [user for user in present if person_id(user) not in ids]
    group.members.add(*additions)
    group.members.remove(*leaving)
    moves = {"members_added": additions, "members_removed": leaving}
    return {name: sorted(user.username for user in users) for name, users in moves.items() if users}


def _ids_of(members: Any) -> set[str]:
    items = members if isinstance(members, list) else [members]
    ids = [item.get("value") if isinstance(item, dict) else item for item in items]
    if not all(isinstance(each, str) for each in ids):
        raise invalid_value("Each member needs the id of a user as its value; groups have no groups as members.")
    return {str(each) for each in ids}


def _locked(directory: Directory, scim_id: str, precondition: Precondition) -> UserGroup:
    wait_for_others(directory)
    group = group_find(directory.tenant.pk, scim_id)
    precondition(group)
    return group
