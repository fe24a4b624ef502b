"""People and groups here by the names that a source has for its readers.

A table of the source comes first; then people are found by mail address, by the id of the directory and by user name,
groups by the id of the directory and by name. What fits two of them, or nobody, lets nobody in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Lower

from accounts.models import User, UserGroup
from knowledge.indexes.reader_lists import EVERYBODY_GROUP

USER, GROUP = "user:", "group:"  # before a name that both a person and a group have
EVERYONE = "everyone"
EVERYBODY = frozenset({"*", EVERYONE, "everybody", "所有人", "全部", "全员"})


@dataclass(slots=True)
class MappedReaders:
    """Ids of people and groups, and the names that name nobody."""

    users: set[int] = field(default_factory=set)
    groups: set[int] = field(default_factory=set)
    unknown: list[str] = field(default_factory=list)

    def fields(self) -> dict[str, list[Any]]:
        """As a list of readers stores them."""
        return {"users": sorted(self.users), "groups": sorted(self.groups), "unknown": sorted(self.unknown)}

    def shared_with(self, other: MappedReaders) -> MappedReaders:
        """Who is named by both; names that name nobody come along."""
        unknown = [*self.unknown, *other.unknown]
        if EVERYBODY_GROUP in self.groups | other.groups:
            rest = other if EVERYBODY_GROUP in self.groups else self
            return MappedReaders(set(rest.users), set(rest.groups), unknown)
        return MappedReaders(self.users & other.users, self.groups & other.groups, unknown)


def is_everybody(name: str) -> bool:
    """Whether a name means everybody of the organisation."""
    return name.strip().casefold() in EVERYBODY


def readers_mapped(*, tenant_id: int, names: Sequence[str], table: Mapping[str, str]) -> MappedReaders:
    """Who is meant by names of a source: "user:NAME", "group:NAME", "everyone", or a name without a prefix.

    `table`: names there, with or without prefix → such a name here, which is then looked up by name only.
    """
    by_table = {name: target for name in names if (target := _target(name, table)) is not None}
    plain = _Directory(tenant_id, by_table.values(), by_name_only=True)
    looked_up = _Directory(tenant_id, [name for name in names if name not in by_table], by_name_only=False)
    mapped = MappedReaders()
    for name in names:
        where, wanted_name = (plain, by_table[name]) if name in by_table else (looked_up, name)
        if is_everybody(wanted_name):
            mapped.groups.add(EVERYBODY_GROUP)
            continue
        users, groups = where.ids(wanted_name)
        if len(users) + len(groups) == 1:
            mapped.users |= users
            mapped.groups |= groups
        else:
            mapped.unknown.append(name)
    return mapped


def _target(name: str, table: Mapping[str, str]) -> str | None:
    """What the table of the source says: for the whole name, or for it without its prefix."""
    return table.get(name, table.get(bare_name(name)))


def bare_name(name: str) -> str:
    """A name without its prefix."""
    return name.removeprefix(USER).removeprefix(GROUP).strip()


class _Directory:
    """The people and groups of a tenant that some names may mean, looked up together."""

    def __init__(self, tenant_id: int, names: Iterable[str], *, by_name_only: bool) -> None:
        names = list(names)
        of_users = {bare_name(name) for name in names if not name.startswith(GROUP)}
        of_groups = {bare_name(name) for name in names if not name.startswith(USER)}
        people = User.objects.filter(tenant_id=tenant_id)
        groups = UserGroup.objects.filter(tenant_id=tenant_id)
        self._users = [_ids(people, "username", of_users)]
        self._groups = [_ids(groups, "name", of_groups)]
        if not by_name_only:
            active = people.filter(is_active=True)
            mails = {name.casefold() for name in of_users if "@" in name}
            present = active.exclude(directory_entry__removed_at__isnull=False)
            self._users = [
                _ids(active.annotate(mail=Lower("email")), "mail", mails, fold=True),
                _ids(present, "directory_entry__external_id", of_users),
                *self._users,
            ]
            self._groups = [_ids(groups, "external_id", of_groups), *self._groups]

    def ids(self, name: str) -> tuple[set[int], set[int]]:
        """Ids of the people and of the groups that a name may mean; the first way that knows it decides."""
        plain = bare_name(name)
        users = set() if name.startswith(GROUP) else _first(plain, self._users)
        groups = set() if name.startswith(USER) else _first(plain, self._groups)
        return users, groups


class _Ids(dict[str, set[int]]):
    """Ids by name. `fold`: names differ by more than case."""

    fold = False


def _ids(rows: QuerySet[Any], column: str, names: set[str], *, fold: bool = False) -> _Ids:
    names = {name for name in names if name}
    ids = _Ids()
    ids.fold = fold
    if names:
        for name, pk in rows.filter(**{f"{column}__in": names}).values_list(column, "pk"):
            ids.setdefault(name.casefold() if fold else name, set()).add(pk)
    return ids


def _first(name: str, ways: Sequence[_Ids]) -> set[int]:
    for way in ways:
        if ids := way.get(name.casefold() if way.fold else name):
            return ids
    return set()


def table_faults(*, tenant_id: int, table: Mapping[str, str]) -> list[str]:
    """Targets of a table that name nobody here, or both a person and a group."""
    targets = [target for target in table.values() if not is_everybody(target)]
    directory = _Directory(tenant_id, targets, by_name_only=True)
    counts = Counter({target: sum(map(len, directory.ids(target))) for target in targets})
    return sorted(target for target in counts if counts[target] != 1)
