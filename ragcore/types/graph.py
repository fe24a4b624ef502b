"""Entities and where passages mention them, as a search sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Node:
    """An entity that the asker may know of."""

    id: int
    key: str
    name: str


class Place(NamedTuple):
    """A mention of an entity in a sentence of a passage; `in_head`: in the title or headings of the passage.

    A tuple, because a search makes thousands of them.
    """

    entity: int
    chunk: int
    document: int
    in_head: bool
    sentence_start: int
    sentence_end: int
