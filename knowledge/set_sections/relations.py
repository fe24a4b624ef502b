"""How the documents of a set stand to each other: editions, parts, the documents of one feature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from django.db import transaction

from accounts.errors import NotAllowedError, NotFoundError
from knowledge.models import DocumentRelation
from knowledge.relation_errors import RelationInvalidError
from knowledge.relation_kinds import KINDS
from knowledge.services.relations.by_hand import relation_add
from knowledge.services.set_files.sections import Arriving, Leaving, Line, SetSection, set_section


@set_section
class RelationSection(SetSection):
    """Relations between two documents that travel, whoever said them; here they count as set by hand."""

    name: ClassVar[str] = "relations"
    order: ClassVar[int] = 60

    def lines(self, leaving: Leaving) -> Iterator[Line]:
        both = DocumentRelation.objects.filter(source__in=leaving.documents, target__in=leaving.documents)
        rows = both.filter(dismissed=False).order_by("source_id", "kind", "target_id")
        for source, kind, target in rows.values_list("source_id", "kind", "target_id").distinct():
            yield {"source": source, "kind": kind, "target": target}

    def store(self, arriving: Arriving, lines: Sequence[Line]) -> Mapping[str, int]:
        counts = {"relations": 0, "relations_left_out": 0}
        for line in lines:
            counts["relations" if _store(arriving, line) else "relations_left_out"] += 1
        return counts


def _store(arriving: Arriving, line: Line) -> bool:
    """Relate two documents; False where one of them is not here, or the relation cannot stand."""
    numbers, kind = (line.get("source"), line.get("target")), line.get("kind")
    source, target = (arriving.documents.get(number) if type(number) is int else None for number in numbers)
    if source is None or target is None or kind not in KINDS:
        return False
    try:
        with transaction.atomic():
            relation_add(
                scope=arriving.scope, actor=arriving.actor, document_id=source, kind=str(kind), other_id=target
            )
    except (NotAllowedError, NotFoundError, RelationInvalidError):
        return False
    return True
