"""Golden cases: put into golden sets, kept in versions, and loaded from public benchmarks.

A benchmark is a folder of `corpus.jsonl` {id, title, text}, `queries.jsonl` {id, text, answers} and `qrels.tsv` (query,
document, grade). What the corpus says of the origin of a document becomes its attributes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import transaction

from accounts.models import Tenant, User
from accounts.scope import Scope
from accounts.services import audit_record
from evaluation.errors import GoldenLineError
from evaluation.models import GoldenCase, GoldenSet, GoldenVersion
from evaluation.selectors import cases_withheld, documents_by_name, golden_cases, names_hidden
from evaluation.services.golden_files import Fault, GoldenRow, file_error, row_json, row_of, row_read
from knowledge.models import KnowledgeSet
from knowledge.services import BulkAccepted, documents_bulk
from knowledge.services.sets import set_create

ORIGIN = ("source", "author", "category", "published_at")  # of a document of a benchmark


@dataclass(frozen=True, slots=True)
class GoldenImportResult:
    """`updated` counts questions that were there already and now have the new answers and documents."""

    golden_set: GoldenSet
    added: int
    updated: int


@transaction.atomic
def golden_import(
    *,
    tenant: Tenant,
    name: str,
    rows: Sequence[GoldenRow],
    scope: Scope | None = None,
    actor: User | None = None,
) -> GoldenImportResult:
    """Add cases to the golden set of this name, made if it is new; a known question is replaced.

    What was there before and what is there now are kept as versions. Idempotent: importing a file again changes
    nothing. `scope`: of a person; raises InvalidGoldenFileError where a line names a document that this person may not
    open, or has the question of a case that does. None: a program imports, perhaps before its documents are there.
    """
    golden_set, _made = GoldenSet.objects.get_or_create(tenant=tenant, name=name)
    if scope is not None:
        withheld = cases_withheld(scope=scope, cases=golden_set.cases.all())
        closed = set(withheld.order_by().values_list("question", flat=True))
        faults = [(row.line, GoldenLineError("withheld")) for row in rows if row.question in closed]
        if faults := [*faults, *_unknown(scope, rows)]:
            raise file_error(sorted(faults, key=lambda fault: fault[0]))
    version_keep(golden_set=golden_set, actor=actor)
    added, updated = _rows_put(golden_set, rows)
    version_keep(golden_set=golden_set, actor=actor, note="import")
    return GoldenImportResult(golden_set, added=added, updated=updated)


def _unknown(scope: Scope, rows: Sequence[GoldenRow]) -> Iterator[Fault]:
    """A fault for each name that leads to no document which the person may open."""
    ids = documents_by_name(scope=scope, names={name for row in rows for name in row.relevant})
    for row in rows:
        for name in row.relevant:
            if name not in ids:
                yield row.line, GoldenLineError("unknown_document", name=name)


def _rows_put(golden_set: GoldenSet, rows: Iterable[GoldenRow]) -> tuple[int, int]:
    """(added, updated) cases, by question."""
    stored = {case.question: case for case in golden_set.cases.all()}
    fresh: dict[str, GoldenCase] = {}
    updated: dict[str, GoldenCase] = {}
    fields: list[str] = []
    for row in rows:
        case, values = stored.get(row.question), row.values()
        fields = list(values)
        if case is None:
            fresh[row.question] = GoldenCase(golden_set=golden_set, question=row.question, **values)
        elif any(getattr(case, field) != value for field, value in values.items()):
            for field, value in values.items():
                setattr(case, field, value)
            updated[row.question] = case
    GoldenCase.objects.bulk_create(fresh.values(), batch_size=500)
    if updated:
        GoldenCase.objects.bulk_update(updated.values(), fields, batch_size=500)
    return len(fresh), len(updated)


# ── versions ────────────────────────────────────────────────────────────────────────────────────


@transaction.atomic
def version_keep(*, golden_set: GoldenSet, actor: User | None = None, note: str = "") -> GoldenVersion:
    """The cases as they are now, as a version: the latest one where nothing has changed since, else a new one."""
    GoldenSet.objects.select_for_update().get(pk=golden_set.pk)
    stored = golden_cases(golden_set=golden_set)
    cases = [{"id": case.pk, **row_json(row_of(case))} for case in stored]
    sha256 = cases_sha256(cases)
    latest = golden_set.versions.first()
    if latest is not None and latest.sha256 == sha256:
        return latest
    number = 1 if latest is None else latest.number + 1
    return GoldenVersion.objects.create(
        golden_set=golden_set, number=number, sha256=sha256, cases=cases, note=note, created_by=actor
    )


def cases_sha256(cases: Iterable[dict[str, Any]]) -> str:
    """A hash of what the cases say; their ids do not count."""
    plain = [{name: value for name, value in case.items() if name != "id"} for case in cases]
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


@transaction.atomic
def version_restore(*, scope: Scope, version: GoldenVersion, actor: User) -> GoldenVersion:
    """Make the cases of a golden set those of a version again; what was there is kept as a version.

    Cases that name a document which the actor may not open stay as they are: neither those of the version come back,
    nor are those of today changed or removed. The caller has checked that the actor keeps the golden set.
    """
    golden_set = version.golden_set
    version_keep(golden_set=golden_set, actor=actor)
    rows = [row_read(case) for case in version.cases]
    hidden = names_hidden(scope=scope, names={name for row in rows for name in row.relevant})
    withheld = cases_withheld(scope=scope, cases=golden_set.cases.all())
    closed = set(withheld.order_by().values_list("question", flat=True))
    closed |= {row.question for row in rows if hidden.intersection(row.relevant)}
    rows = [row for row in rows if row.question not in closed]
    golden_set.cases.exclude(question__in=[*closed, *(row.question for row in rows)]).delete()
    _rows_put(golden_set, rows)
    version_before = version_keep(golden_set=golden_set, actor=actor, note=f"v{version.number}")
    audit_record(actor=actor, action="golden_set.restore", target=golden_set.name, version=version.number)
    return version_before


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionChange:
    """A version beside the one before it: numbers of cases."""

    version: GoldenVersion
    total: int
    added: int
    changed: int
    removed: int


def version_changes(versions: list[GoldenVersion]) -> list[VersionChange]:
    """What each of the versions, newest first, changed. Cases are told apart by their questions."""
    by_question = [{case["question"]: row_read(case) for case in version.cases} for version in versions]
    return [
        VersionChange(
            version=version,
            total=len(now),
            added=len(now.keys() - before.keys()),
            changed=sum(now[name] != before[name] for name in now.keys() & before.keys()),
            removed=len(before.keys() - now.keys()),
        )
        for version, now, before in zip(versions, by_question, [*by_question[1:], {}], strict=False)
    ]


# ── benchmarks ──────────────────────────────────────────────────────────────────────────────────


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
            "metadata": {name: row[name] for name in ORIGIN if row.get(name)},
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
