"""Items of a source before they are fetched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from knowledge.models import Source
from ragcore.errors import RagError

LISTED_KINDS = frozenset({Source.Kind.FOLDER, Source.Kind.URL, Source.Kind.SITEMAP})  # the others send what they have

Stamp = Mapping[str, Any]  # changes when the item changes; JSON values


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedItem:
    """The bytes of an item and their stamp."""

    name: str  # file name with its ending
    content: bytes
    stamp: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One document of a source. An empty stamp says nothing: the item must be read."""

    external_id: str
    name: str
    stamp: Stamp = field(default_factory=dict)
    read: Callable[[Stamp], FetchedItem | None]  # takes the stamp of last time; None: it has not changed since


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableItem:
    """An item that cannot be fetched. `hides`: it may contain more items, so the list is incomplete."""

    path: str
    error: RagError
    hides: bool = False
