"""What a set file says of the set itself: `set.json`, written by an export and read, checked, by an import."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Sum
from django.utils import timezone

from knowledge.indexes.set_file_rows import reference_lengths
from knowledge.models import Document, KnowledgeSet, RefusalLine, SetEmbedder
from knowledge.selectors.options import GROUPS
from knowledge.services.options import options_merge
from knowledge.services.set_files.container import PartsReader
from knowledge.services.set_files.identity import model_identity
from knowledge.services.set_files.values import Values, values_of
from knowledge.services.sets import CHANGEABLE
from ragcore.errors import InvalidOptionsError
from ragcore.options import for_comparing

SET = "set.json"
PEOPLE = "people.json"
REFUSAL = ("lowered", "questions", "passages", "documents", "embedder")
CODE = re.compile(r"[-a-zA-Z0-9_]*")
MAX_LOWERED = 20.0  # log-odds
MAX_REFERENCE = 100_000.0  # terms of a passage


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutSet:
    """The set of a file. `values`: fields of CHANGEABLE; `sections`: number of lines by name."""

    values: Mapping[str, Any]
    options: Mapping[str, Mapping[str, Any]]
    options_left_out: Sequence[str]  # that this site does not know, or whose values it does not take
    model: Mapping[str, Any]
    own_model: str  # of the set itself, whose vectors do not travel
    references: Mapping[str, float]
    refusal_line: Mapping[str, Any] | None
    clearances: Mapping[int, int]  # clearance → documents
    passages: int
    size_bytes: int  # of the originals
    not_searchable: int  # documents that were being processed, and stayed behind
    sections: Mapping[str, int] = field(default_factory=dict)

    @property
    def documents(self) -> int:
        return sum(self.clearances.values())

    def above(self, clearance: int) -> int:
        """Documents that somebody with this clearance may not have."""
        return sum(count for level, count in self.clearances.items() if level > clearance)


def set_written(
    knowledge_set: KnowledgeSet, *, documents: Sequence[int], sections: Mapping[str, int], options: Mapping[str, Any]
) -> dict[str, Any]:
    """The JSON of a set whose documents with these ids travel. `options`: its own, as they are stored."""
    rows = Document.objects.filter(pk__in=documents).order_by()
    clearances = rows.values("clearance").annotate(number=Count("pk")).values_list("clearance", "number")
    sums = rows.aggregate(passages=Sum("passages"), size_bytes=Sum("live_version__size_bytes"))
    total = Document.objects.filter(sets=knowledge_set, deleted=None).count()
    line = RefusalLine.objects.filter(pk=knowledge_set.pk).first()
    embedder_of_set = SetEmbedder.objects.filter(knowledge_set=knowledge_set, state=SetEmbedder.State.LIVE).first()
    return {
        "values": {name: getattr(knowledge_set, name) for name in CHANGEABLE},
        "options": dict(options),
        "model": model_identity(),
        "own_model": embedder_of_set.model if embedder_of_set else "",
        "references": reference_lengths(tenant_id=knowledge_set.tenant_id),
        "refusal_line": {name: getattr(line, name) for name in REFUSAL} if line else None,
        "clearances": {str(level): number for level, number in clearances},
        "passages": sums["passages"] or 0,
        "size_bytes": sums["size_bytes"] or 0,
        "not_searchable": max(0, total - len(documents)),
        "sections": dict(sections),
        "exported": timezone.now().isoformat(),
    }


def set_read(reader: PartsReader) -> AboutSet:
    """The set of a file, checked. Raises SetFileInvalidError."""
    values = values_of(reader.document(SET), SET, 1)
    options, left_out = options_fitting(values.mapping("options"))
    return AboutSet(
        values=_values(values.below("values")),
        options=options,
        options_left_out=left_out,
        model=values.mapping("model"),
        own_model=values.text("own_model", 200),
        references=_references(values.below("references")),
        refusal_line=_refusal_line(values),
        clearances={level: _count(values.below("clearances"), str(level)) for level in range(5)},
        passages=values.number("passages"),
        size_bytes=values.number("size_bytes", most=2**62),
        not_searchable=values.number("not_searchable"),
        sections={name: _count(values.below("sections"), name) for name in values.mapping("sections")},
    )


def _values(values: Values) -> dict[str, Any]:
    return {
        "name": values.text("name", 128) or "–",
        "name_zh": values.text("name_zh", 128),
        "code": _code(values),
        "axis": values.text("axis", choices=tuple(KnowledgeSet.Axis.values)),
        "visibility": values.text("visibility", choices=tuple(KnowledgeSet.Visibility.values)),
        "originals": values.text("originals", choices=tuple(KnowledgeSet.Originals.values)),
        "description": values.text("description", 100_000),
        "persona": values.text("persona", 256),
        "answer_template": values.text("answer_template", 2000),
        "example_questions": values.texts("example_questions", 256, 20),
    }


def _code(values: Values) -> str:
    code = values.text("code", 64)
    if not CODE.fullmatch(code):
        values.refuse("code")
    return code


def _references(values: Values) -> dict[str, float]:
    return {name[:8]: values.real(name, 0.0, MAX_REFERENCE) for name in values.of if len(name) <= 8}


def _refusal_line(values: Values) -> dict[str, Any] | None:
    if values.of.get("refusal_line") is None:
        return None
    line = values.below("refusal_line")
    return {
        "lowered": line.real("lowered", 0.0, MAX_LOWERED),
        "embedder": line.text("embedder", 128),
        **{name: line.number(name) for name in ("questions", "passages", "documents")},
    }


def _count(values: Values, name: str) -> int:
    return values.number(name) if name in values.of else 0


def options_fitting(options: Mapping[str, Any]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The options that this site takes, by group, and the names of the others."""
    fitting: dict[str, dict[str, Any]] = {}
    left_out: list[str] = []
    for code, values in options.items():
        comparing = for_comparing(GROUPS[code]) if code in GROUPS else set()
        for name, value in values.items() if isinstance(values, dict) else ():
            try:
                merged = options_merge({}, {code: {name: value}}, layer="set") if code in GROUPS else {}
            except (InvalidOptionsError, TypeError, ValueError):
                merged = {}
            if name in comparing or not merged.get(code):
                left_out.append(f"{code}.{name}"[:120])
            else:
                fitting.setdefault(code, {})[name] = value
    return fitting, sorted(left_out)
