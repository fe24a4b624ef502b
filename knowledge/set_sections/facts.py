"""Facts that were imported into a set, and what its owners decided about facts and names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from knowledge.indexes.graph_triples import entity_key
from knowledge.models import EntityDecision, Triple, TripleDecision
from knowledge.models.graph import FactState
from knowledge.services.set_files.sections import Arriving, Leaving, Line, SetSection, set_section
from knowledge.services.triples import triples_import

FACT = ("subject", "relation", "object")
TYPES = ("subject_type", "object_type")
MAX_NAME = 2000


@set_section
class FactSection(SetSection):
    """Facts that were read in documents are read again here, in the background. Decisions come first, and hold."""

    name: ClassVar[str] = "facts"
    order: ClassVar[int] = 20

    def lines(self, leaving: Leaving) -> Iterator[Line]:
        rows = Triple.objects.filter(knowledge_set=leaving.knowledge_set, document=None).order_by("pk")
        for row in rows.defer("lexemes").iterator(chunk_size=2000):
            yield {name: getattr(row, name) for name in (*FACT, *TYPES)}

    def store(self, arriving: Arriving, lines: Sequence[Line]) -> Mapping[str, int]:
        rows = [{name: line[name] for name in (*FACT, *TYPES) if line.get(name)} for line in lines]
        result = triples_import(
            scope=arriving.scope,
            actor=arriving.actor,
            lines=[json.dumps(row).encode() for row in rows],
            form="jsonl",
            set_id=arriving.knowledge_set.pk,
            name="set file",
        )
        return {"facts": result.accepted}


@set_section
class DecisionSection(SetSection):
    """Decisions that hold; those about facts of a document that stayed behind stay, too."""

    name: ClassVar[str] = "decisions"
    order: ClassVar[int] = 10

    def lines(self, leaving: Leaving) -> Iterator[Line]:
        of_set = {"knowledge_set": leaving.knowledge_set, "undone": None}
        for fact in TripleDecision.objects.filter(**of_set).order_by("pk"):
            if fact.document_id is None or fact.document_id in leaving.documents:
                yield {
                    "about": "fact",
                    "decision": fact.kind,
                    "document": fact.document_id,
                    **{name: getattr(fact, name) for name in FACT},
                }
        for row in EntityDecision.objects.filter(**of_set, clearance__lte=leaving.scope.clearance).order_by("pk"):
            names = {"name": row.name, "other": row.other, "clearance": row.clearance}
            yield {"about": "name", "decision": row.kind, **names}

    def store(self, arriving: Arriving, lines: Sequence[Line]) -> Mapping[str, int]:
        facts = [row for line in lines if line.get("about") == "fact" and (row := _fact(arriving, line)) is not None]
        names = [
            name_row
            for line in lines
            if line.get("about") == "name" and (name_row := _name(arriving, line)) is not None
        ]
        TripleDecision.objects.bulk_create(facts)
        EntityDecision.objects.bulk_create(names)
        return {"decisions": len(facts) + len(names)}


def _texts(line: Line, *names: str, most: int) -> list[str] | None:
    values = [line.get(name, "") for name in names]
    return values if all(isinstance(value, str) and len(value) <= most for value in values) else None


def _fact(arriving: Arriving, line: Line) -> TripleDecision | None:
    number, values = line.get("document"), _texts(line, *FACT, most=MAX_NAME)
    document = arriving.documents.get(number) if isinstance(number, int) else None
    is_known = number is None or document is not None
    if not values or not is_known or line.get("decision") not in (FactState.CONFIRMED, FactState.REJECTED):
        return None
    return TripleDecision(
        tenant_id=arriving.knowledge_set.tenant_id,
        knowledge_set=arriving.knowledge_set,
        document_id=document,
        kind=str(line["decision"]),
        subject=values[0],
        relation=values[1],
        object=values[2],
        subject_key=entity_key(values[0]),
        object_key=entity_key(values[2]),
        author=arriving.actor,
    )


def _name(arriving: Arriving, line: Line) -> EntityDecision | None:
    values, clearance = _texts(line, "name", "other", most=240), line.get("clearance", 0)
    is_cleared = type(clearance) is int and 0 <= clearance <= arriving.scope.clearance
    if not values or not values[0] or not is_cleared or line.get("decision") not in EntityDecision.Kind.values:
        return None
    return EntityDecision(
        tenant_id=arriving.knowledge_set.tenant_id,
        knowledge_set=arriving.knowledge_set,
        kind=str(line["decision"]),
        name=values[0],
        key=entity_key(values[0]),
        other=values[1],
        other_key=entity_key(values[1]) if values[1] else "",
        clearance=clearance,
        author=arriving.actor,
    )
