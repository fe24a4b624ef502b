"""Golden cases: read from CSV and JSON Lines, written as JSON Lines, and loaded from public benchmarks.

CSV has a header with `question` and any of `answers`, `relevant`, `tags`; several values are separated by `|`.
JSON Lines has one object a line with the same fields, values as lists. A benchmark is a folder of `corpus.jsonl`
{id, title, text}, `queries.jsonl` {id, text, answers} and `qrels.tsv` (query, document, 1).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from django.db import transaction

from accounts.models import Tenant, User
from accounts.scope import Scope
from evaluation.errors import GoldenLineError, InvalidGoldenFileError
from evaluation.models import GoldenCase, GoldenSet
from evaluation.selectors import golden_cases
from knowledge.models import KnowledgeSet
from knowledge.services import BulkAccepted, documents_bulk
from knowledge.services.sets import set_create

LISTS = ("answers", "relevant", "tags")
LIMITS = {"question": 2000, "answers": 4000, "relevant": 512, "tags": 64}  # characters of one value
MAX_FAULTS = 50  # enough to see what is wrong with a file
Numbered = tuple[int, Mapping[str, Any]]
Fault = tuple[int, GoldenLineError]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenRow:
    """One case as read from a file."""

    question: str
    answers: tuple[str, ...] = ()
    relevant: tuple[str, ...] = ()  # external ids, or #<document id>
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GoldenImportResult:
    """`updated` counts questions that were there already and now have the new answers and documents."""

    golden_set: GoldenSet
    added: int
    updated: int


@transaction.atomic
def golden_import(*, tenant: Tenant, name: str, rows: Iterable[GoldenRow]) -> GoldenImportResult:
    """Add cases to the golden set of this name, made if it is new; a known question is replaced.

    Idempotent: importing a file again changes nothing.
    """
    golden_set, _made = GoldenSet.objects.get_or_create(tenant=tenant, name=name)
    known = {case.question: case for case in golden_set.cases.all()}
    fresh: dict[str, GoldenCase] = {}
    updated: dict[str, GoldenCase] = {}
    for row in rows:
        case = known.get(row.question)
        values = {field: list(getattr(row, field)) for field in LISTS}
        if case is None:
            fresh[row.question] = GoldenCase(golden_set=golden_set, question=row.question, **values)
        elif any(getattr(case, field) != value for field, value in values.items()):
            for field, value in values.items():
                setattr(case, field, value)
            updated[row.question] = case
    GoldenCase.objects.bulk_create(fresh.values(), batch_size=500)
    GoldenCase.objects.bulk_update(updated.values(), LISTS, batch_size=500)
    return GoldenImportResult(golden_set, added=len(fresh), updated=len(updated))


def golden_file_parse(*, name: str, content: bytes) -> list[GoldenRow]:
    """The cases of a .csv or .jsonl file. Raises InvalidGoldenFileError with all faults and their lines."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise _invalid([(line, GoldenLineError("encoding"))]) from None
    numbered = _csv_lines(text) if PurePath(name).suffix.lower() == ".csv" else _json_lines(text)
    faults: list[Fault] = []
    rows: list[GoldenRow] = []
    for line, values in numbered:
        found = list(_faults(values))
        faults += [(line, fault) for fault in found]
        if not found:
            rows.append(_row(values))
    if not faults and not rows:
        faults = [(1, GoldenLineError("no_case"))]
    if faults:
        raise _invalid(faults)
    return rows


def _csv_lines(text: str) -> Iterator[Numbered]:
    reader = csv.DictReader(io.StringIO(text, newline=""))
    unknown = set(reader.fieldnames or ()) - {"question", *LISTS}
    if "question" not in (reader.fieldnames or ()) or unknown:
        wanted = ", ".join(("question", *LISTS))
        raise _invalid([(1, GoldenLineError("header", columns=wanted))])
    for values in reader:
        if None in values:
            yield reader.line_num, {"_fault": GoldenLineError("too_many_values")}
        elif any(values.values()):
            yield reader.line_num, {**values, **{field: _split(values.get(field)) for field in LISTS}}


def _split(value: str | None) -> list[str]:
    return [part.strip() for part in (value or "").split("|") if part.strip()]


def _json_lines(text: str) -> Iterator[Numbered]:
    for line, source in enumerate(text.split("\n"), 1):
        if not source.strip():
            continue
        try:
            values = json.loads(source)
        except ValueError as error:
            yield line, {"_fault": GoldenLineError("not_json", problem=str(error))}
            continue
        yield line, values if isinstance(values, dict) else {"_fault": GoldenLineError("not_an_object")}


def _faults(values: Mapping[str, Any]) -> Iterator[GoldenLineError]:
    """What is wrong with one line, as ends of sentences."""
    if "_fault" in values:
        yield values["_fault"]
        return
    if unknown := set(values) - {"question", *LISTS}:
        yield GoldenLineError("unknown_fields", names=sorted(unknown))
    question = values.get("question")
    if not isinstance(question, str) or not question.strip():
        yield GoldenLineError("no_question")
    elif len(question) > LIMITS["question"]:
        yield GoldenLineError("long_question", limit=LIMITS["question"])
    for field in LISTS:
        yield from _list_faults(field, values.get(field, []))
    if not values.get("answers") and not values.get("relevant"):
        yield GoldenLineError("nothing_expected")


def _list_faults(field: str, value: Any) -> Iterator[GoldenLineError]:
    if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
        yield GoldenLineError("not_a_list", field=field)
    elif any(len(one) > LIMITS[field] for one in value):
        yield GoldenLineError("long_values", field=field, limit=LIMITS[field])


def _row(values: Mapping[str, Any]) -> GoldenRow:
    lists = {field: tuple(dict.fromkeys(one.strip() for one in values.get(field, ()))) for field in LISTS}
    return GoldenRow(question=values["question"].strip(), **lists)


def _invalid(faults: list[Fault]) -> InvalidGoldenFileError:
    shown = [f"line {line} {fault}" for line, fault in faults[:MAX_FAULTS]]
    more = [f"and {len(faults) - MAX_FAULTS} more"] if len(faults) > MAX_FAULTS else []
    return InvalidGoldenFileError("lines", lines="; ".join([*shown, *more]), faults=faults)


def golden_export(*, golden_set: GoldenSet) -> Iterator[str]:
    """One line a case, in order, each ending with a newline."""
    for case in golden_cases(golden_set=golden_set):
        row = {"question": case.question, "answers": case.answers, "relevant": case.relevant, "tags": case.tags}
        yield json.dumps(row, ensure_ascii=False) + "\n"


def benchmark_load(*, scope: Scope, actor: User, folder: Path, name: str) -> tuple[GoldenSet, BulkAccepted]:
    """Make the set and its golden cases, and queue its documents; loading again changes nothing.

    Raises MissingRightError without the right to create sets. A set that is there keeps its owners.
    """
    with transaction.atomic():
        code = f"bench-{name}".replace("_", "-")[:64]
        knowledge_set = KnowledgeSet.objects.filter(tenant_id=scope.tenant_id, code=code).first()
        if knowledge_set is None:
            knowledge_set = set_create(scope=scope, actor=actor, values={"name": name, "code": code})
        golden, is_new = GoldenSet.objects.get_or_create(
            tenant_id=scope.tenant_id, name=name, defaults={"created_by": actor}
        )
        golden.sets.set([knowledge_set])
        if is_new:
            GoldenCase.objects.bulk_create(_cases(golden, folder, name))
    return golden, documents_bulk(scope=scope, actor=actor, lines=_documents(folder, name, knowledge_set.pk))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _documents(folder: Path, name: str, set_id: int) -> Iterator[bytes]:
    for row in _rows(folder / "corpus.jsonl"):
        document = {
            "external_id": f"{name}/{row['id']}",
            "title": row.get("title") or "",
            "text": row["text"],
            "sets": [set_id],
        }
        yield json.dumps(document).encode()


def _cases(golden: GoldenSet, folder: Path, name: str) -> Iterator[GoldenCase]:
    relevant: dict[str, list[str]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, document = line.split("\t")[:2]
        relevant.setdefault(query, []).append(f"{name}/{document}")
    for row in _rows(folder / "queries.jsonl"):
        if str(row["id"]) in relevant:
            yield GoldenCase(
                golden_set=golden,
                question=row["text"],
                answers=row.get("answers") or [],
                relevant=relevant[str(row["id"])],
            )
