"""Who alone may read a document: its readers as its keepers and its source name them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db.models import Q

from accounts.models import User, UserGroup
from accounts.scope import Scope
from knowledge.indexes.reader_lists import EVERYBODY_GROUP, NamedIn, reader_lists_load
from knowledge.models import Document, ReaderList

Lists = NamedIn | None  # the lists that name somebody; None: there are no lists

Names = tuple[Mapping[int, str], Mapping[int, str]]  # of people, of groups


def reader_lists(*, scope: Scope) -> Lists:
    """The lists of readers that name the asker at this moment; None where the tenant has none."""
    return reader_lists_load(scope=scope)


def readers_condition(lists: Lists, *, prefix: str = "") -> Q:
    """Each list that the document refers to is among `lists`; a document without any meets it.

    What a set says about whose rights count is left out: see `set_condition`. `prefix`: the way to the document, such
    as "document__".
    """
    return keepers_condition(lists, prefix=prefix) & source_condition(lists, prefix=prefix)


def keepers_condition(lists: Lists, *, prefix: str = "") -> Q:
    """The list of its keepers lets the asker in."""
    return Q() if lists is None else _names(prefix, "readers", lists)


def source_condition(lists: Lists, *, prefix: str = "") -> Q:
    """The list of its source lets the asker in."""
    return Q() if lists is None else _names(prefix, "source_readers", lists)


def _names(prefix: str, name: str, lists: NamedIn) -> Q:
    return Q(**{f"{prefix}{name}__isnull": True}) | Q(**{f"{prefix}{name}_id__in": lists.lists})


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers:
    """People and groups who alone may read a document, by name; `unknown` names let nobody in."""

    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    def json(self) -> dict[str, list[str]]:
        return {"users": list(self.users), "groups": list(self.groups), "unknown": list(self.unknown)}


def readers_of(*, scope: Scope, document: Document) -> tuple[Readers | None, Readers | None]:
    """The readers of a document as its keepers, and as its source name them; None is no restriction.

    The caller has checked that the asker keeps the document: nobody else is told who reads it.
    """
    del scope  # asked for so that no caller forgets it
    ids = [reader_id for reader_id in (document.readers_id, document.source_readers_id) if reader_id is not None]
    rows = {row.pk: row for row in ReaderList.objects.filter(pk__in=ids, tenant_id=document.tenant_id)}
    names = _names_of(rows.values())
    by_keepers, by_source = (
        rows.get(reader_id) if reader_id is not None else None
        for reader_id in (document.readers_id, document.source_readers_id)
    )
    return _readers(by_keepers, names), _readers(by_source, names)


def _names_of(rows: Collection[ReaderList]) -> Names:
    users = {pk for row in rows for pk in row.users}
    groups = {pk for row in rows for pk in row.groups}
    return (
        dict(User.objects.filter(pk__in=users).values_list("pk", "username")) if users else {},
        {EVERYBODY_GROUP: "*"} | dict(UserGroup.objects.filter(pk__in=groups).values_list("pk", "name")),
    )


def _readers(row: ReaderList | None, names: Names) -> Readers | None:
    if row is None:
        return None
    users, groups = names
    return Readers(
        users=tuple(sorted(users[pk] for pk in row.users if pk in users)),
        groups=tuple(sorted(groups[pk] for pk in row.groups if pk in groups)),
        unknown=tuple(row.unknown),
    )
