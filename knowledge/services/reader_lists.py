"""Lists of readers: kept by their content, of names that a source gives or keepers enter.

A name that names nobody lets nobody in; it is looked up again once people and groups have been added.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from accounts.models import Tenant, User, UserGroup
from knowledge.errors import UnknownPeopleError
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.reader_lists import list_hold, unused_lists_delete
from knowledge.models import ReaderList, Source
from knowledge.services.reader_mapping import EVERYBODY, EVERYONE, GROUP, USER, MappedReaders, readers_mapped
from knowledge.types import SourceOptions, strictly

MAX_NAMES = 1000  # of a list that a source gives
SEPARATORS = re.compile(r"[,;\n，；、]")
PURGE_BATCH = 500  # lists a transaction
MAX_ITEM_NAMES = 5000  # of a list that a connector gives
SECOND = "&"  # before names that a field of the metadata gives
LIVE = "&&"  # before names that a connector gave for the version that is still live


def keepers_readers_ensure(*, tenant_id: int, users: Sequence[str], groups: Sequence[str]) -> ReaderList:
    """The list of these people and groups of the tenant, by name. Raises UnknownPeopleError."""
    people = _known(tenant_id, users, groups)
    for field, names, ids_of_names in (("users", users, people.users), ("groups", groups, people.groups)):
        if unknown := sorted(set(names) - set(ids_of_names)):
            raise UnknownPeopleError("names", field=field, unknown=unknown)
    values = people.fields()
    return _ensure(tenant_id, ["keepers", values["users"], values["groups"]], values)[0]


def reader_list_of(*, tenant_id: int, users: Sequence[int], groups: Sequence[int]) -> ReaderList:
    """The list of these people and groups of the tenant, by id, as keepers make it; of nobody: only keepers read."""
    values: dict[str, list[Any]] = {"users": sorted(set(users)), "groups": sorted(set(groups)), "unknown": []}
    return _ensure(tenant_id, ["keepers", values["users"], values["groups"]], values)[0]


def source_readers_ensure(*, tenant_id: int, value: Any) -> ReaderList | None:
    """The list that a source means by the value of a field; None: it says nothing, or everybody.

    A list of names, or names in one text between commas, semicolons or line ends: user names and names of groups, with
    `user:` or `group:` before names that both have. An empty list is nobody. What cannot be read lets nobody in.
    """
    names = _names(value)
    if names is None:
        return None
    people = _named(tenant_id, names)
    row, is_new = _ensure(tenant_id, ["source", *names], people.fields())
    if not is_new and row.unknown:
        _resolve(row)
    return row


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedReaders:
    """Whom a source names. `item`: as its connector does, None: it says nothing; `field_value`: of a mapped field."""

    item: Sequence[str] | None = None
    field_value: Any = None


def item_readers_ensure(*, source: Source, readers: NamedReaders, live: NamedReaders | None = None) -> ReaderList:
    """The list of those whom a connector names as the readers of an item, perhaps everybody.

    Where a field that the handler maps says so, too, only who is named by both reads. `live`: whom the source named
    for the version that is live, while a newer one is on its way; nobody else reads meanwhile.
    """
    names = _named_parts(readers, first="")
    if live is not None:
        before = NamedReaders(
            item=live.item if live.item != readers.item else None,
            field_value=live.field_value if live.field_value != readers.field_value else None,
        )
        names += _named_parts(before, first=LIVE)
    mapped = _mapped(source, names)
    values = {**mapped.fields(), "names": names, "source": source}
    row, is_new = _ensure(source.tenant_id, ["item", source.pk, *names], values)
    if not is_new:
        _renewed(row, mapped)
    return row


def _named_parts(readers: NamedReaders, *, first: str) -> list[str]:
    """Names behind signs that say who gave them; none at the beginning of a list are those of its connector."""
    item = readers.item if readers.item is not None or first else [EVERYONE]
    names: list[str] = []
    if item is not None:
        plain = sorted({name.replace("\x00", "").strip()[:200] for name in item if name.strip()})
        names = [*plain[:MAX_ITEM_NAMES], "…"] if len(plain) > MAX_ITEM_NAMES else plain
        names = [first, *names] if first else names
    of_field = _names(readers.field_value)
    return [*names, SECOND, *of_field] if of_field is not None else names


def item_readers_renew(*, source: Source) -> int:
    """Map the names of all lists of a source again, by its table and the people of today; how many have changed.

    Call it in a transaction: it advances the epoch.
    """
    rows = ReaderList.objects.select_for_update().filter(source=source).order_by("pk")
    changed = sum(_renewed(row, _mapped(source, row.names)) for row in rows.iterator(chunk_size=PURGE_BATCH))
    if changed:
        epoch_advance(tenant_id=source.tenant_id)
    return changed


def _mapped(source: Source, names: Sequence[str]) -> MappedReaders:
    table = strictly(SourceOptions, source.options).people
    mapped: MappedReaders | None = None
    for sign, part in _parts(names):
        if sign == SECOND:
            people = _named(source.tenant_id, part)
            of_part = MappedReaders(set(people.users.values()), set(people.groups.values()), people.unknown)
        else:
            of_part = readers_mapped(tenant_id=source.tenant_id, names=part, table=table)
        mapped = of_part if mapped is None else mapped.shared_with(of_part)
    return mapped or MappedReaders()


def _parts(names: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The names of a list by who gave them: all of its parts have to name a reader."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for name in names:
        if name in (SECOND, LIVE):
            parts.append((name, []))
        else:
            parts[-1][1].append(name)
    return parts


def _renewed(row: ReaderList, mapped: MappedReaders) -> bool:
    """Whether other people are meant by a list than before; then they are stored."""
    values = mapped.fields()
    if all(getattr(row, name) == value for name, value in values.items()):
        return False
    for name, value in values.items():
        setattr(row, name, value)
    row.save(update_fields=list(values))
    return True


def _ensure(tenant_id: int, of: Sequence[Any], values: Mapping[str, Any]) -> tuple[ReaderList, bool]:
    """The list with this content, and whether it is new. It stays until the transaction ends, used or not."""
    key = _key(tenant_id, of=of)
    while True:
        row, is_new = ReaderList.objects.get_or_create(tenant_id=tenant_id, key=key, defaults=values)
        if is_new or list_hold(list_id=row.pk):
            return row, is_new


def reader_lists_purge() -> int:
    """Remove the lists that no document refers to; returns how many. Safe to interrupt and to repeat."""
    removed, count = 0, 1
    while count:
        with transaction.atomic():
            count = unused_lists_delete(limit=PURGE_BATCH)
        removed += count
    return removed


def reader_names_resolve() -> int:
    """Look up again the names that named nobody; returns how many lists let somebody new in."""
    tenants = Tenant.objects.filter(pk__in=ReaderList.objects.exclude(unknown=[]).values("tenant")).order_by("pk")
    changed = 0
    for tenant in tenants:
        with transaction.atomic():
            rows = ReaderList.objects.select_for_update(of=("self",)).select_related("source")
            rows = rows.filter(tenant=tenant).exclude(unknown=[]).order_by("pk")
            moved = sum(_resolve(row) for row in rows)
            if moved:
                epoch_advance(tenant_id=tenant.pk)
            changed += moved
    return changed


def _resolve(row: ReaderList) -> bool:
    """Take in those of the unknown names that are known by now. People who were found once stay found by their id."""
    if row.source is not None:
        return _renewed(row, _mapped(row.source, row.names))
    people = _named(row.tenant_id, row.unknown)
    if not (people.users or people.groups):
        return False
    row.users = sorted({*row.users, *people.users.values()})
    row.groups = sorted({*row.groups, *people.groups.values()})
    row.unknown = people.unknown
    row.save(update_fields=["users", "groups", "unknown"])
    return True


def _names(value: Any) -> list[str] | None:
    """The names in the value of a field, each once, in order; None: no restriction."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    parts = SEPARATORS.split(value) if isinstance(value, str) else value if isinstance(value, list) else [value]
    if len(parts) > MAX_NAMES:
        parts = [*parts[:MAX_NAMES], "…"]
    texts = [part.strip() if isinstance(part, str) else json.dumps(part, sort_keys=True) for part in parts]
    names = sorted({text.replace("\x00", "")[:200] for text in texts if text})
    return None if len(names) == 1 and names[0].casefold() in EVERYBODY else names


@dataclass(frozen=True, slots=True)
class _Known:
    """Names with their ids, and those that name nobody."""

    users: dict[str, int]
    groups: dict[str, int]
    unknown: list[str]

    def fields(self) -> dict[str, list[Any]]:
        return {
            "users": sorted(self.users.values()),
            "groups": sorted(self.groups.values()),
            "unknown": self.unknown,
        }


def _named(tenant_id: int, names: Sequence[str]) -> _Known:
    """People and groups by the names that a source uses; a name that both have, without a prefix, names nobody."""
    plain = [name for name in names if not name.startswith((USER, GROUP))]
    asked_users = [name.removeprefix(USER).strip() for name in names if name.startswith(USER)]
    asked_groups = [name.removeprefix(GROUP).strip() for name in names if name.startswith(GROUP)]
    people = _known(tenant_id, [*plain, *asked_users], [*plain, *asked_groups])
    users: dict[str, int] = {}
    groups: dict[str, int] = {}
    unknown = []
    for name in names:
        as_user = None if name.startswith(GROUP) else people.users.get(name.removeprefix(USER).strip())
        as_group = None if name.startswith(USER) else people.groups.get(name.removeprefix(GROUP).strip())
        if as_user is not None and as_group is None:
            users[name] = as_user
        elif as_group is not None and as_user is None:
            groups[name] = as_group
        else:
            unknown.append(name)
    return _Known(users, groups, unknown)


def _known(tenant_id: int, users: Iterable[str], groups: Iterable[str]) -> _Known:
    people = User.objects.filter(tenant_id=tenant_id, username__in=set(users)).values_list("username", "pk")
    teams = UserGroup.objects.filter(tenant_id=tenant_id, name__in=set(groups)).values_list("name", "pk")
    return _Known(dict(people), dict(teams), [])


def _key(tenant_id: int, *, of: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps([tenant_id, *of]).encode()).hexdigest()
