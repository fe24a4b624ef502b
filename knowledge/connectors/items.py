"""What a source lists: documents, what could not be read, what is gone, and where the next list goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragcore.errors import RagError

Stamp = Mapping[str, Any]  # changes when the item changes; JSON values


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedItem:
    """The bytes of an item and their stamp."""

    name: str  # file name with its ending
    content: bytes
    stamp: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRelation:
    """How an item stands to another one of its source, named by its id there. `kind`: as DocumentRelation.kind."""

    kind: str
    external_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One document of a source. An empty stamp says nothing: the item must be read.

    `metadata`: what the source says about it, besides what holds for all of its documents; `was`: the id under which it
    was listed before; `readers`: who may read it there, as the source names them ("user:NAME", "group:NAME",
    "everyone"), () nobody, None where the source says nothing.
    """

    external_id: str
    name: str
    stamp: Stamp = field(default_factory=dict)
    read: Callable[[Stamp], FetchedItem | None]  # takes the stamp of last time; None: it has not changed since
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tags: Sequence[str] = ()
    was: str = ""
    readers: Sequence[str] | None = None
    relations: Sequence[ItemRelation] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableItem:
    """An item that cannot be fetched. `hides`: it may contain more items, so the list is incomplete."""

    path: str
    error: RagError
    hides: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedItem:
    """An item that the source had at the last list, and has no more."""

    external_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnchangedItem:
    """An item that is still there, as it was at the last list."""

    external_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListEnd:
    """The list is complete. `cursor`: where the next one goes on, JSON values; `is_full`: every item was listed."""

    cursor: Mapping[str, Any]
    is_full: bool


Listed = Item | UnreadableItem | UnchangedItem | RemovedItem | ListEnd
