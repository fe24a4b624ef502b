"""What a set holds besides its documents: one kind of thing a section, one class a section.

Each app may have a folder `set_sections` with such classes; a section is a part of the file, one JSON object a line.
What a site does not know is left out and named: files of sites with further apps can be read here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from accounts.models import User
from accounts.scope import Scope
from knowledge.models import KnowledgeSet
from work.registry import KindRegistry

Line = Mapping[str, Any]

SECTIONS: KindRegistry[SetSection] = KindRegistry("set_sections", what="sections of set files")
set_section = SECTIONS.register


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """A set that is exported: for whom, and the ids of the documents that go with it."""

    scope: Scope
    actor: User
    knowledge_set: KnowledgeSet
    documents: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arriving:
    """A set that is imported: for whom, and which document came of which number."""

    scope: Scope
    actor: User
    knowledge_set: KnowledgeSet
    documents: Mapping[int, int]
    is_same_model: bool  # the vectors of the file are those of the model in use here


class SetSection(ABC):
    """One section. `store` runs within the transaction of a checkpoint, once."""

    name: ClassVar[str]  # of the part: never changed
    is_first: ClassVar[bool] = False  # it is stored before the documents
    order: ClassVar[int] = 50  # among those before, or behind, the documents

    @abstractmethod
    def lines(self, leaving: Leaving) -> Iterator[Line]:
        """What travels."""

    @abstractmethod
    def store(self, arriving: Arriving, lines: Sequence[Line]) -> Mapping[str, int]:
        """Write it; counts for the report, by name. What does not fit here is left out and counted."""


def sections(*, is_first: bool | None = None) -> list[SetSection]:
    """All sections in the order in which they are stored, or those before (True) or behind the documents."""
    rows = sorted(SECTIONS.all(), key=lambda section: (not section.is_first, section.order, section.name))
    return [section for section in rows if is_first is None or section.is_first == is_first]
