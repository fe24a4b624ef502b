"""People and groups as SCIM shows them, and what a document says of a person."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.dateparse import parse_datetime

from accounts.models import DirectoryEntry, User, UserGroup
from accounts.people.records import ENTERPRISE, PersonRecord, RecordError, record_from_scim
from accounts.scim.attributes import GROUP, PERSON_SHAPE, USER, document_of, plain_path
from accounts.scim.errors import invalid_value
from accounts.selectors import person_name

Resource = dict[str, Any]
ALWAYS = frozenset({"schemas", "id"})
MAX_EXTERNAL_ID = 255
ID = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,9}))?")
MAIL_TYPE = "work"  # of the one address that a person has


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonValues:
    """What a document says of a person."""

    record: PersonRecord
    external_id: str
    active: bool | None


def person_id(user: User) -> str:
    """The id of a person, which a directory keeps: another one where somebody was removed and came back."""
    entry = entry_of(user)
    return f"{user.pk}-{entry.generation}" if entry is not None and entry.generation else str(user.pk)


def entry_of(user: User) -> DirectoryEntry | None:
    """The entry of a person; None for somebody whom no directory has changed yet."""
    return getattr(user, "directory_entry", None)


def person_resource(user: User, *, base: str) -> Resource:
    """A person as SCIM shows it; `base`: address of the service without a slash at its end."""
    entry, scim_id = entry_of(user), person_id(user)
    groups = sorted(user.user_groups.all(), key=lambda group: group.pk)
    resource: Resource = {
        **person_document(user),
        "schemas": [USER, ENTERPRISE],
        "id": scim_id,
        "displayName": person_name(user),
        "groups": [
            {"value": str(group.pk), "display": group.name, "$ref": f"{base}/Groups/{group.pk}"} for group in groups
        ],
    }
    modified = entry.modified if entry is not None else user.date_joined
    times = {"created": user.date_joined.isoformat(), "lastModified": modified.isoformat()}
    return _with_meta(_without_empty(resource), kind="User", location=f"{base}/Users/{scim_id}", times=times)


def person_document(user: User) -> Resource:
    """What a directory may change of a person, as a document that PATCH works on."""
    entry = entry_of(user)
    mail = [{"value": user.email, "type": MAIL_TYPE, "primary": True}] if user.email else []
    return _without_empty({
        "userName": user.username,
        "externalId": entry.external_id if entry is not None else "",
        "name": _without_empty({"givenName": user.first_name, "familyName": user.last_name}),
        "emails": mail,
        "title": user.role,
        "locale": user.locale,
        "active": user.is_active,
        ENTERPRISE: _without_empty({"department": user.department, "division": user.product}),
    })  # fmt: skip


def person_values(document: Mapping[str, Any]) -> PersonValues:
    """The values of a whole document: what it does not name is emptied. Raises ScimError."""
    try:
        record = record_from_scim({**document, "groups": None, "active": document.get("active")})
    except (RecordError, AttributeError, TypeError) as error:
        reason = str(error) if isinstance(error, RecordError) else "some attribute has another shape"
        raise invalid_value(f"The person cannot be used: {reason}.") from None
    emptied: dict[str, Any] = {
        name: getattr(record, name) if getattr(record, name) is not None else ""
        for name in ("email", "first_name", "last_name", "department", "product", "role", "locale")
    }
    whole = PersonRecord(username=record.username, **emptied)
    return PersonValues(record=whole, external_id=external_id_of(document), active=record.active)


def external_id_of(document: Mapping[str, Any]) -> str:
    """The id that the directory uses itself; "" for none. Raises ScimError."""
    value = document.get("externalId") or ""
    is_plain = isinstance(value, str) and value.isprintable() and len(value) <= MAX_EXTERNAL_ID
    if not is_plain:
        raise invalid_value(f"externalId must be a text of at most {MAX_EXTERNAL_ID} printable characters.")
    return str(value)


def person_document_of(body: Any) -> Resource:
    """What is kept of the body of POST and PUT."""
    return document_of(body, PERSON_SHAPE)


def group_resource(group: UserGroup, *, base: str) -> Resource:
    """A user group with its members as SCIM shows it."""
    people = sorted((user for user in group.members.all() if not user.is_service), key=lambda user: user.pk)
    members = [
        {"value": (scim_id := person_id(user)), "display": person_name(user), "$ref": f"{base}/Users/{scim_id}"}
        for user in people
    ]
    resource = {
        "schemas": [GROUP],
        "id": str(group.pk),
        "externalId": group.external_id,
        "displayName": group.name,
        "members": members,
    }
    return _with_meta(_without_empty(resource), kind="Group", location=f"{base}/Groups/{group.pk}", times={})


def projected(resource: Resource, *, attributes: Collection[str], excluded: Collection[str]) -> Resource:
    """Only the attributes that are asked for, or all but the excluded ones; `schemas` and `id` always."""
    wanted_paths, excluded_paths = ({plain_path(name) for name in names} for names in (attributes, excluded))
    result: Resource = {}
    for name, value in resource.items():
        lower = "enterprise:" if name == ENTERPRISE else name.lower()
        if name in ALWAYS or (not wanted_paths and lower not in excluded_paths):
            result[name] = value
        elif any(path == lower or path.startswith(_begin(lower)) for path in wanted_paths):
            result[name] = _parts(value, {path.removeprefix(_begin(lower)) for path in wanted_paths} - {lower}, lower)
    return result


def _begin(lower: str) -> str:
    return lower if lower.endswith(":") else f"{lower}."


def _parts(value: Any, subs: Collection[str], lower: str) -> Any:
    """The named parts of a complex value; all of it where none of its own is named."""
    if isinstance(value, list):
        return [_parts(item, subs, lower) for item in value]
    if not isinstance(value, Mapping):
        return value
    return {name: each for name, each in value.items() if name.lower() in subs} or value


def parsed_id(scim_id: Any) -> tuple[int, int] | None:
    """Number of the row and generation of an id; None for a text that is no id."""
    match = ID.fullmatch(str(scim_id))
    return (int(match[1]), int(match[2] or 0)) if match else None


def parsed_time(value: Any) -> Any:
    """A time of a filter. Raises ValueError."""
    time = parse_datetime(str(value))
    if time is None or time.tzinfo is None:
        raise ValueError("no time with a zone")
    return time


def _with_meta(resource: Resource, *, kind: str, location: str, times: Mapping[str, str]) -> Resource:
    """With a version that changes with any attribute, whoever changes it."""
    text = json.dumps(resource, sort_keys=True, ensure_ascii=False)
    version = f'W/"{hashlib.sha256(text.encode()).hexdigest()[:20]}"'
    return {**resource, "meta": {"resourceType": kind, **times, "location": location, "version": version}}


def _without_empty(resource: Resource) -> Resource:
    return {name: value for name, value in resource.items() if value not in ("", [], {}, None)}
