"""A place in memory that a connector lists and reads, with a log of what was read, for tests of the frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass as checked_dataclass

from accounts.models import User
from knowledge.connectors import FetchedItem, Item, ListEnd, RemovedItem
from knowledge.connectors import base as registry
from knowledge.connectors.base import Connector
from knowledge.connectors.items import ItemRelation, Listed, Stamp
from knowledge.models import Source
from knowledge.services.sources import source_create
from knowledge.types import STRICT
from tests.factories import scope_of

KIND = "git"  # whose place in the registry it takes for a test


@dataclass
class Thing:
    """What is at the place. `fails`: raised when it is read."""

    text: str
    version: int = 1
    readers: Sequence[str] | None = None
    fails: Exception | None = None
    relations: Sequence[ItemRelation] = ()


@dataclass
class Place:
    """Things by id, every change of them with its number, and how often each was read."""

    things: dict[str, Thing] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    reads: Counter[str] = field(default_factory=Counter)
    lists: list[int] = field(default_factory=list)  # cursors from which it was listed
    fails: Exception | None = None  # raised by the list
    fails_after: int = 0  # items
    hook: Callable[[], None] = lambda: None  # called before each item and each reading

    def put(self, name: str, text: str, readers: Sequence[str] | None = None) -> None:
        before = self.things.get(name)
        self.things[name] = Thing(text, (before.version + 1) if before else 1, readers)
        self.log.append(name)

    def remove(self, name: str) -> None:
        del self.things[name]
        self.log.append(name)


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class ScriptedSettings:
    """None."""


class ScriptedConnector(Connector):
    """Lists the place that its class has; a cursor is the number of changes so far."""

    kind = KIND
    label = "scripted"
    settings_type = ScriptedSettings
    credential_fields: ClassVar = (frozenset({"token"}),)
    paces_itself = True
    place: ClassVar[Place]

    @classmethod
    def host_of(cls, location: str) -> tuple[str, int] | None:
        return None

    def allowed(self) -> None:
        """Always."""

    def changes(self, cursor: Mapping[str, Any]) -> Iterator[Listed]:
        place, since = self.place, cursor.get("at", 0)
        place.lists.append(since)
        names = sorted(place.things) if not since else list(dict.fromkeys(place.log[since:]))
        for number, name in enumerate(names):
            place.hook()
            if place.fails is not None and number >= place.fails_after:
                raise place.fails
            yield self._item(name, place.things[name]) if name in place.things else RemovedItem(external_id=name)
        if place.fails is not None:
            raise place.fails
        yield ListEnd(cursor={"at": len(place.log)}, is_full=not since)

    def _item(self, name: str, thing: Thing) -> Item:
        stamp = {"version": thing.version}
        read = partial(self._read, name, thing, stamp)
        return Item(
            external_id=name,
            name=f"{name}.txt",
            stamp=stamp,
            read=read,
            readers=thing.readers,
            relations=thing.relations,
        )

    def _read(self, name: str, thing: Thing, stamp: Stamp, last: Stamp) -> FetchedItem | None:
        self.place.hook()
        if thing.fails is not None:
            raise thing.fails
        if last == stamp:
            return None
        self.place.reads[name] += 1
        return FetchedItem(name=f"{name}.txt", content=thing.text.encode(), stamp=stamp)


def scripted_place(monkeypatch: Any) -> Place:
    """A place that sources of the kind KIND read during a test."""
    place = Place()
    kind = type("OnePlace", (ScriptedConnector,), {"place": place})
    monkeypatch.setitem(registry._KINDS, KIND, kind)
    return place


def scripted_source(owner: User, name: str = "wiki", **values: Any) -> Source:
    """A source that reads the scripted place."""
    given = {"name": name, "kind": KIND, "location": "scripted", **values}
    return source_create(scope=scope_of(owner), actor=owner, values=given)
