"""Many texts in one request, line by line (NDJSON)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from django.db import transaction

from accounts.errors import NotAllowedError
from accounts.models import Tenant, User
from accounts.scope import Scope
from accounts.storable import storable_bytes
from knowledge.errors import MixedTenantsError
from knowledge.models import DocumentVersion, KnowledgeSet, Source
from knowledge.selectors import set_owned
from knowledge.services.documents import job_start, upload_check
from knowledge.services.registration import DEFAULT_SOURCE, Arrival, clearance_check, document_register, source_ensure
from ragcore.errors import PermanentError

BATCH_LINES = 200  # lines a transaction
MAX_LINE_BYTES = 10 * 1024 * 1024
WORKERS = 4  # tasks that a large job may occupy at once
ENDINGS = {"text": ".txt", "markdown": ".md", "html": ".html"}
FIELDS = {"external_id", "title", "text", "format", "sets", "clearance", "metadata", "tags", "tenant", "source"}


class BadLineError(PermanentError):
    """A line that is no valid row."""

    code = "invalid_line"
    default_message = "The line is not a valid document."


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line that was not taken, 1-based."""

    line: int
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class BulkAccepted:
    job_id: int
    accepted: int
    rejected: list[Rejected]


@dataclass(slots=True)
class _Desk:
    """What repeats from line to line, looked up once."""

    scope: Scope
    actor: User
    sets: dict[int, KnowledgeSet] = field(default_factory=dict)
    sources: dict[tuple[int, str], Source] = field(default_factory=dict)
    tenants: dict[str, int] = field(default_factory=dict)

    def set_named(self, set_id: int) -> KnowledgeSet:
        if set_id not in self.sets:
            self.sets[set_id] = set_owned(scope=self.scope, set_id=set_id)
        return self.sets[set_id]

    def source_named(self, tenant_id: int, name: str) -> Source:
        key = (tenant_id, name or DEFAULT_SOURCE)
        if key not in self.sources:
            self.sources[key] = source_ensure(tenant_id=tenant_id, name=name)
        return self.sources[key]

    def tenant_named(self, name: str) -> int:
        if name not in self.tenants:
            found = Tenant.objects.filter(name=name).first()
            if found is None or (self.scope.administers != "everything" and found.pk != self.scope.tenant_id):
                raise NotAllowedError(f"There is no tenant {name!r}, or you do not administer it.")
            self.tenants[name] = found.pk
        return self.tenants[name]


def documents_bulk(*, scope: Scope, actor: User, lines: Iterable[bytes]) -> BulkAccepted:
    """Register every valid line and queue one job for all of them; bad lines are reported, not fatal."""
    desk, rejected, accepted = _Desk(scope, actor), [], 0
    versions: list[DocumentVersion] = []
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    while batch := list(islice(numbered, BATCH_LINES)):
        with transaction.atomic():
            for number, line in batch:
                try:
                    with transaction.atomic():
                        version = _register(desk, line)
                except PermanentError as error:
                    rejected.append(Rejected(number, error.code, error.message))
                else:
                    accepted += 1
                    versions.extend([version] if version else [])
    tenant_id = versions[0].document.tenant_id if versions else scope.tenant_id
    with transaction.atomic():
        unique = list({version.pk: version for version in versions}.values())
        workers = min(WORKERS, 1 + len(unique) // 16)
        job = job_start(tenant_id=tenant_id, actor=actor, versions=unique, workers=workers)
    return BulkAccepted(job.pk, accepted, rejected)


def _register(desk: _Desk, line: bytes) -> DocumentVersion | None:
    row = _parse(line)
    sets = [desk.set_named(set_id) for set_id in dict.fromkeys(row.get("sets") or [])]
    tenant_id = desk.tenant_named(row["tenant"]) if row.get("tenant") else desk.scope.tenant_id
    if sets and not row.get("tenant"):
        tenant_id = sets[0].tenant_id
    if any(s.tenant_id != tenant_id for s in sets):
        raise MixedTenantsError
    clearance_check(scope=desk.scope, clearance=row.get("clearance") or 0)
    arrival = _arrival(row, sets)
    upload_check(name=arrival.name, size_bytes=len(arrival.content))
    source = desk.source_named(tenant_id, row.get("source") or "")
    return document_register(scope=desk.scope, actor=desk.actor, arrival=arrival, source=source).version


def _arrival(row: Mapping[str, Any], sets: list[KnowledgeSet]) -> Arrival:
    ending = ENDINGS[row.get("format") or "text"]
    stem = (row.get("title") or row["external_id"]).replace("/", "_")[:200]
    return Arrival(
        name=stem + ending,
        content=row["text"].encode(),
        sets=sets,
        title=(row.get("title") or "")[:512],
        external_id=row["external_id"],
        clearance=row.get("clearance") or 0,
        metadata=row.get("metadata") or {},
        tags=row.get("tags") or (),
    )


CHECKS: Mapping[str, Any] = {
    "external_id": lambda v: isinstance(v, str) and 0 < len(v) <= 512,
    "title": lambda v: v is None or isinstance(v, str),
    "text": lambda v: isinstance(v, str) and v.strip() != "",
    "format": lambda v: v is None or (isinstance(v, str) and v in ENDINGS),
    "sets": lambda v: v is None or (isinstance(v, list) and all(type(x) is int for x in v)),
    "clearance": lambda v: v is None or (type(v) is int and 0 <= v <= 4),
    "metadata": lambda v: v is None or isinstance(v, dict),
    "tags": lambda v: v is None or (isinstance(v, list) and all(isinstance(x, str) and len(x) <= 64 for x in v)),
    "tenant": lambda v: v is None or isinstance(v, str),
    "source": lambda v: v is None or (isinstance(v, str) and len(v) <= 128),
}


def _parse(line: bytes) -> dict[str, Any]:
    if len(line) > MAX_LINE_BYTES:
        raise BadLineError(f"The line is longer than {MAX_LINE_BYTES // (1024 * 1024)} MB.")
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadLineError(f"The line is not valid JSON: {error}") from None
    if not isinstance(row, dict):
        raise BadLineError("The line must be a JSON object.")
    if storable_bytes(row) is None:
        raise BadLineError("The line has a null character, half a surrogate pair or an infinite number.")
    faults = list(_faults(row))
    if faults:
        raise BadLineError("; ".join(faults))
    return row


def _faults(row: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"unknown field {name!r}" for name in sorted(set(row) - FIELDS))
    for name, holds in CHECKS.items():
        if name in ("external_id", "text") and name not in row:
            yield f"{name} is missing"
        elif name in row and not holds(row[name]):
            yield f"{name} has a wrong value"
