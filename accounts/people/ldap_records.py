"""What an LDAP directory says of a person, as a record."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from django.conf import settings

from accounts.people.records import LDAP_ATTRIBUTES, LISTS, PersonRecord, record_checked


def ldap_record(username: str, attributes: Mapping[str, Sequence[str]], groups: Collection[str] | None) -> PersonRecord:
    """The record of an entry; attributes have several values, of which a field takes the first. Raises RecordError.

    The name is the one that was typed: names of directories do not distinguish case, ours do.
    """
    mapping = {**LDAP_ATTRIBUTES, **settings.LDAP_ATTRIBUTES}
    lower = {name.lower(): list(values) for name, values in attributes.items()}
    values_by_field: dict[str, object] = {}
    for name, source in mapping.items():
        if values := lower.get(source.lower()):
            values_by_field[name] = values if name in LISTS else values[0]
    values_by_field["username"] = username.strip().lower()
    if groups is not None:
        values_by_field["groups"] = sorted(groups)
    return record_checked(values_by_field)
