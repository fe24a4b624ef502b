"""Golden sets of a knowledge set, with those cases that name its documents only."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, ClassVar

from accounts.models import Tenant
from evaluation.errors import InvalidGoldenFileError
from evaluation.models import GoldenSet
from evaluation.selectors import golden_cases, golden_sets_listed
from evaluation.services.golden import golden_import
from evaluation.services.golden_files import GoldenRow, golden_file_parse, row_json, row_of
from knowledge.models import Document
from knowledge.services.set_files.sections import Arriving, Leaving, Line, SetSection, set_section

NAME_CHARACTERS = 128
MOST_FLOORS = 50


@set_section
class GoldenSection(SetSection):
    """Stored last: golden sets guard the settings of their set, which have come before. Runs and versions stay."""

    name: ClassVar[str] = "golden_cases"
    order: ClassVar[int] = 90

    def lines(self, leaving: Leaving) -> Iterator[Line]:
        rows = Document.objects.filter(pk__in=leaving.documents).exclude(external_id="")
        names = {f"#{pk}" for pk in leaving.documents} | set(rows.values_list("external_id", flat=True))
        for golden_set in golden_sets_listed(scope=leaving.scope).filter(sets=leaving.knowledge_set).order_by("pk"):
            about = {name: getattr(golden_set, name) for name in ("description", "guards", "floors")}
            yield {"golden_set": golden_set.name, "about": about}
            for case in golden_cases(golden_set=golden_set):
                if names.issuperset(case.relevant):
                    yield {"golden_set": golden_set.name, "case": row_json(row_of(case))}

    def store(self, arriving: Arriving, lines: Sequence[Line]) -> Mapping[str, int]:
        counts = {"golden_cases": 0, "golden_cases_left_out": 0}
        external_ids = set(
            Document.objects.filter(pk__in=arriving.documents.values())
            .exclude(external_id="")
            .values_list("external_id", flat=True)
        )
        for name in dict.fromkeys(str(line.get("golden_set", ""))[:NAME_CHARACTERS] for line in lines):
            lines_of_set = [line for line in lines if line.get("golden_set") == name]
            cases = [line["case"] for line in lines_of_set if isinstance(line.get("case"), dict)]
            rows = [row for case in cases if (row := _row(arriving, case, external_ids)) is not None]
            counts["golden_cases"] += len(rows)
            counts["golden_cases_left_out"] += len(cases) - len(rows)
            _golden_set(arriving, name or arriving.knowledge_set.name, lines_of_set, rows)
        return counts


def _golden_set(arriving: Arriving, name: str, lines: Sequence[Line], rows: Sequence[GoldenRow]) -> None:
    tenant = Tenant.objects.get(pk=arriving.knowledge_set.tenant_id)
    free = _free_name(tenant, name, arriving.knowledge_set.code)
    golden_set = golden_import(tenant=tenant, name=free, rows=rows, actor=arriving.actor).golden_set
    about: dict[str, Any] = next((line["about"] for line in lines if isinstance(line.get("about"), dict)), {})
    golden_set.description = str(about.get("description", ""))[:10_000]
    golden_set.guards = bool(about.get("guards", True))
    golden_set.floors = _floors(about.get("floors"))
    golden_set.created_by = arriving.actor
    golden_set.save()
    golden_set.sets.set([arriving.knowledge_set])


def _floors(value: Any) -> dict[str, float]:
    rows = value.items() if isinstance(value, dict) else ()
    return {str(name)[:64]: float(least) for name, least in list(rows)[:MOST_FLOORS] if type(least) in (int, float)}


def _free_name(tenant: Tenant, name: str, code: str) -> str:
    """The name, or one with the code of the set, and a number, that no golden set of the tenant has."""
    if not GoldenSet.objects.filter(tenant=tenant, name=name).exists():
        return name
    for number in count(1):
        ending = f" ({code})" if number == 1 else f" ({code} {number})"
        free = f"{name[: NAME_CHARACTERS - len(ending)]}{ending}"
        if not GoldenSet.objects.filter(tenant=tenant, name=free).exists():
            return free
    raise AssertionError("numbers do not end")


def _row(arriving: Arriving, case: Mapping[str, Any], external_ids: set[str]) -> GoldenRow | None:
    """The case with the documents of this site; None where one of them is not here, or a value is not taken."""
    names = case.get("relevant", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    here = [_name(arriving, name, external_ids) for name in names]
    if None in here:
        return None
    try:
        line = json.dumps({**case, "relevant": here}).encode()
        return golden_file_parse(name="cases.jsonl", content=line)[0]
    except InvalidGoldenFileError:
        return None


def _name(arriving: Arriving, name: str, external_ids: set[str]) -> str | None:
    number = name[1:]
    if name.startswith("#") and number.isascii() and number.isdigit() and len(number) < 19:
        document = arriving.documents.get(int(number))
        return f"#{document}" if document is not None else None
    return name if name in external_ids else None
