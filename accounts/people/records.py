"""One record for a person from any system, and how claims, LDAP, SCIM and CSV become one."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import IO, Any

from django.utils.translation import gettext as _

from ragcore.text.csv_fields import allow_long_fields

TRUE, FALSE = ("1", "true", "yes", "y", "是"), ("0", "false", "no", "n", "否")
SEPARATOR = ";"  # between groups and interests in a cell
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"

RIGHTS = ("positions", "owns", "reads", "creates_sets")
LISTS = ("interests", "groups", "positions", "owns", "reads")
FLAGS = ("active", "creates_sets")
LIMITS = {"username": 150, "email": 254, "first_name": 150, "last_name": 150, "locale": 64}
MAX_TEXT, MAX_ITEMS = 128, 200
OIDC_CLAIMS: Mapping[str, str] = {
    "username": "preferred_username",
    "email": "email",
    "first_name": "given_name",
    "last_name": "family_name",
    "department": "department",
    "role": "title",
    "locale": "locale",
    "groups": "groups",
}
LDAP_ATTRIBUTES: Mapping[str, str] = {
    "username": "uid",
    "email": "mail",
    "first_name": "givenName",
    "last_name": "sn",
    "department": "departmentNumber",
    "role": "title",
    "locale": "preferredLanguage",
}


class RecordError(ValueError):
    """A record that cannot be read; says what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonRecord:
    """What another system says of a person. None: it says nothing, and what is here stays."""

    username: str
    email: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    department: str | None = None
    product: str | None = None
    role: str | None = None
    locale: str | None = None  # such as zh-CN: the language of pages and mails
    interests: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    clearance: int | None = None
    active: bool | None = None
    # rights, which files of an administrator give; claims and directories never do
    positions: tuple[str, ...] | None = None  # owner, reviewer, administrator
    owns: tuple[str, ...] | None = None  # codes of knowledge sets
    reads: tuple[str, ...] | None = None  # codes of sets that the person becomes a member of
    creates_sets: bool | None = None


FIELDS = tuple(field.name for field in fields(PersonRecord))


def record_from_values(values: Mapping[str, Any], mapping: Mapping[str, str]) -> PersonRecord:
    """A record of claims or attributes; `mapping` names the one of each field. Raises RecordError.

    A clearance is taken only where the mapping names it: no provider raises rights by chance. Lists of LDAP with one
    value count as that value.
    """
    plain = {name: source for name, source in mapping.items() if name not in RIGHTS}
    values_by_field = {name: values[source] for name, source in plain.items() if values.get(source) is not None}
    return record_checked(values_by_field)


def record_checked(values_by_field: Mapping[str, Any]) -> PersonRecord:
    """A record of raw values by field. Raises RecordError."""
    record: dict[str, Any] = {}
    for name, value in values_by_field.items():
        if name in LISTS:
            record[name] = _items(name, value)
        elif name == "clearance":
            record[name] = _clearance(value)
        elif name in FLAGS:
            record[name] = _flag(name, value)
        else:
            record[name] = _text(name, value)
    if not record.get("username"):
        raise RecordError(_("it has no user name"))
    return PersonRecord(**record)


def record_from_scim(person: Any) -> PersonRecord:
    """The record of a User of SCIM 2.0 (RFC 7643, 4.1 and 4.3). Raises RecordError, and where it has another shape.

    The address is the primary one, else the one at work, else the first. `division` is the product, `title` the role;
    `preferredLanguage` counts where there is no `locale`, and a displayed name where there is no other.
    """
    if not isinstance(person, Mapping):
        raise RecordError(_("it is no JSON object"))
    name, more = person.get("name") or {}, person.get(ENTERPRISE) or {}
    first_name, last_name = name.get("givenName"), name.get("familyName")
    if not (first_name or last_name):
        first_name = name.get("formatted") or person.get("displayName")
    groups = person.get("groups")
    raw = {
        "username": person.get("userName"),
        "email": _mail_of(person.get("emails") or ()),
        "first_name": first_name,
        "last_name": last_name,
        "department": more.get("department"),
        "product": more.get("division"),
        "role": person.get("title"),
        "locale": person.get("locale") or person.get("preferredLanguage"),
        "groups": None if groups is None else [g.get("display") or g.get("value") for g in groups],
        "active": person.get("active"),
    }
    return record_checked({field: value for field, value in raw.items() if value is not None})


def _mail_of(emails: Any) -> Any:
    mails = [mail for mail in emails if isinstance(mail, Mapping)]
    ranked = sorted(mails, key=lambda mail: (str(mail.get("primary")).lower() not in TRUE, mail.get("type") != "work"))
    return ranked[0].get("value") if ranked else None


def records_from_scim(content: str) -> Iterator[PersonRecord | RecordError]:
    """Users of a SCIM 2.0 ListResponse (RFC 7644), or of a plain list of them."""
    try:
        parsed = json.loads(content)
    except ValueError as error:
        raise RecordError(_("the file is no JSON: %(fault)s") % {"fault": error}) from None
    people = parsed.get("Resources") if isinstance(parsed, dict) else parsed
    if not isinstance(people, list):
        raise RecordError(_("the file has no list of Resources"))
    for person in people:
        yield _one(lambda person=person: record_from_scim(person))  # type: ignore[misc]


def records_from_csv(file: IO[str]) -> Iterator[PersonRecord | RecordError]:
    """Lines with the fields of a record as their header; empty cells say nothing."""
    allow_long_fields()
    reader = csv.DictReader(file)
    header = [name.strip() for name in reader.fieldnames or ()]
    if "username" not in header:
        raise RecordError(_("the first line needs a column username"))
    if unknown := set(header) - set(FIELDS):
        names = {"unknown": ", ".join(sorted(unknown)), "known": ", ".join(FIELDS)}
        raise RecordError(_("unknown columns: %(unknown)s; known are %(known)s") % names)
    reader.fieldnames = header
    for row in reader:
        cells = {name: cell.strip() for name, cell in row.items() if name in FIELDS and cell and cell.strip()}
        yield _one(lambda cells=cells: record_checked(cells))  # type: ignore[misc]


def _one(read: Any) -> PersonRecord | RecordError:
    """One bad record does not end the list."""
    try:
        return read()  # type: ignore[no-any-return]
    except RecordError as error:
        return error
    except (AttributeError, TypeError) as error:
        return RecordError(_("it has an unexpected shape: %(fault)s") % {"fault": error})


def _text(name: str, value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str):
        raise RecordError(_("%(field)s is no text") % {"field": name})
    text, most = value.strip(), LIMITS.get(name, MAX_TEXT)
    if len(text) > most:
        raise RecordError(_("%(field)s is longer than %(most)s characters") % {"field": name, "most": most})
    if any(ord(letter) < 32 or 0xD800 <= ord(letter) < 0xE000 for letter in text):
        raise RecordError(_("%(field)s has control characters") % {"field": name})
    return text


def _items(name: str, value: Any) -> tuple[str, ...]:
    items = value.split(SEPARATOR) if isinstance(value, str) else value
    if not isinstance(items, Sequence):
        raise RecordError(_("%(field)s is no list") % {"field": name})
    if len(items) > MAX_ITEMS:
        raise RecordError(_("%(field)s has more than %(most)s entries") % {"field": name, "most": MAX_ITEMS})
    return tuple(dict.fromkeys(text for item in items if (text := _text(name, item))))


def _clearance(value: Any) -> int:
    text = str(value[0] if isinstance(value, list) and value else value).strip()
    if text not in ("0", "1", "2", "3", "4"):
        raise RecordError(_("clearance is no number from 0 to 4"))
    return int(text)


def _flag(name: str, value: Any) -> bool:
    text = str(value).strip().lower()
    if text not in (*TRUE, *FALSE):
        raise RecordError(_("%(field)s is neither true nor false") % {"field": name})
    return text in TRUE
