"""Register many texts of one request, one per line (NDJSON)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from django.db import OperationalError, transaction
from psycopg.errors import DeadlockDetected

from accounts.errors import NotAllowedError
from accounts.models import Tenant, User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.disk_space import space_require
from knowledge.errors import MixedTenantsError
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import DocumentVersion, IngestJob, KnowledgeSet, Source
from knowledge.selectors import set_curated
from knowledge.services.bulk_lines import ENDINGS, LineRefusal, LineSpool, Numbered, Refusals, parse_line
from knowledge.services.documents import items_add, job_hold, job_start, job_work, upload_check
from knowledge.services.registration import DEFAULT_SOURCE, Arrival, Registration, clearance_check, source_ensure
from knowledge.services.registration_batch import Addressed, documents_register
from knowledge.services.reviews import reviews_arrived
from ragcore.errors import PermanentError

logger = logging.getLogger(__name__)

BATCH_LINES = 200  # lines a transaction
DEADLOCK_TRIES = 3  # two loads of the same documents in another order, or a load and a publication
WORKERS = 4  # tasks that a large job may occupy at once


@dataclass(frozen=True, slots=True)
class BulkAccepted:
    job_id: int
    accepted: int
    rejected: list[LineRefusal]  # the first of them
    rejected_count: int


@dataclass(slots=True)
class _LoadContext:
    """Sets and sources that many lines name, looked up once per transaction."""

    scope: Scope
    actor: User
    sets: dict[int, KnowledgeSet] = field(default_factory=dict)
    sources: dict[tuple[int, str], Source] = field(default_factory=dict)
    tenants: dict[str, int] = field(default_factory=dict)
    merged: set[int] = field(default_factory=set)  # tenants with changes of present documents

    def set_named(self, set_id: int) -> KnowledgeSet:
        if set_id not in self.sets:
            self.sets[set_id] = set_curated(scope=self.scope, set_id=set_id)
        return self.sets[set_id]

    def source_named(self, tenant_id: int, name: str) -> Source:
        key = (tenant_id, name or DEFAULT_SOURCE)
        if key not in self.sources:
            self.sources[key] = source_ensure(tenant_id=tenant_id, name=name)
        return self.sources[key]

    def tenant_named(self, name: str) -> int:
        if name not in self.tenants:
            tenant = Tenant.objects.filter(name=name).first()
            if tenant is None or (self.scope.administers != "everything" and tenant.pk != self.scope.tenant_id):
                raise NotAllowedError("tenant", name=name)
            self.tenants[name] = tenant.pk
        return self.tenants[name]


def documents_bulk(*, scope: Scope, actor: User, lines: Iterable[bytes]) -> BulkAccepted:
    """Register every valid line under one job; bad lines are reported, not fatal.

    All lines are read and checked before any is stored. Then documents are committed together with their items of the
    job, BATCH_LINES lines at a time. Idempotent: lines may be sent again.

    Raises TooManyBadLinesError, with nothing stored, at MAX_FAULTY_LINES lines that are not valid; StorageFullError.
    """
    space_require()
    with LineSpool() as valid:
        load = _Load(scope, actor, refusals=_lines_check(scope, actor, lines, valid))
        for batch in valid.batches(BATCH_LINES):
            load.take(batch)
    job = load.job or job_start(tenant_id=scope.tenant_id, actor=actor, versions=[], kind=IngestJob.Kind.BULK)
    audit_record(actor=actor, action="documents.upload", target=str(job), job=job.pk, documents=load.accepted)
    job_work(job, workers=min(WORKERS, 1 + load.versions // 16))
    return BulkAccepted(job.pk, load.accepted, load.refusals.named, load.refusals.count)


def _lines_check(scope: Scope, actor: User, lines: Iterable[bytes], valid: LineSpool) -> Refusals:
    """Keep the valid lines. Raises TooManyBadLinesError."""
    context, refusals = _LoadContext(scope, actor), Refusals()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            _arrival_of(context, line)
        except PermanentError as error:
            refusals.add([LineRefusal.of(number, error)])
            refusals.raise_if_too_many()
        else:
            valid.add(number, line)
    return refusals


@dataclass(slots=True)
class _Load:
    """One load, batch by batch; its job is created with the first version to be ingested."""

    scope: Scope
    actor: User
    refusals: Refusals
    job: IngestJob | None = None
    versions: int = 0
    accepted: int = 0

    def take(self, batch: Sequence[Numbered]) -> None:
        """Register a batch in one transaction; tried again after a deadlock."""
        for tries_left in reversed(range(DEADLOCK_TRIES)):
            try:
                with transaction.atomic():
                    job, versions, rejected = self._registered(batch)
                break
            except OperationalError as error:
                if not tries_left or not isinstance(error.__cause__, DeadlockDetected):
                    raise
                logger.info("a load met a deadlock; its lines are taken again")
        self.job = job
        self.versions += versions
        self.accepted += len(batch) - len(rejected)
        self.refusals.add(rejected)

    def _registered(self, batch: Sequence[Numbered]) -> tuple[IngestJob | None, int, list[LineRefusal]]:
        """The job, the number of versions to be ingested, and the refused lines."""
        context, job = _LoadContext(self.scope, self.actor), self.job
        if job is not None:
            job_hold(job)
        versions, rejected = _lines_register(context, batch)
        if job is not None:
            items_add(job, versions)
        elif versions:
            job = job_start(
                tenant_id=versions[0].document.tenant_id, actor=self.actor, versions=versions, kind=IngestJob.Kind.BULK
            )
        for tenant_id in sorted(context.merged):  # last: publishing locks documents before the epoch, too
            epoch_advance(tenant_id=tenant_id)
        return job, len(versions), rejected


def _lines_register(
    context: _LoadContext, batch: Sequence[Numbered]
) -> tuple[list[DocumentVersion], list[LineRefusal]]:
    """The versions to be ingested, each once, and the refused lines."""
    outcomes: dict[int, Registration | PermanentError] = {}
    arrivals: dict[int, Addressed] = {}
    for number, line in batch:
        try:
            arrivals[number] = _addressed(context, line)
        except PermanentError as error:
            outcomes[number] = error
    registered = documents_register(scope=context.scope, actor=context.actor, arrivals=list(arrivals.values()))
    outcomes.update(zip(arrivals, registered, strict=True))
    versions: dict[int, DocumentVersion] = {}
    rejected: list[LineRefusal] = []
    reviews: dict[int, date] = {}
    for number, outcome in sorted(outcomes.items()):
        if isinstance(outcome, PermanentError):
            rejected.append(LineRefusal.of(number, outcome))
            continue
        if (review_by := arrivals[number].arrival.review_by) is not None:
            reviews[outcome.document.pk] = review_by
        context.merged |= {outcome.document.tenant_id} if outcome.merged else set()
        versions.update({outcome.version.pk: outcome.version} if outcome.version else {})
    reviews_arrived(arrived=reviews)
    return list(versions.values()), rejected


def _addressed(context: _LoadContext, line: bytes) -> Addressed:
    """The arrival of a line and its source. Raises the errors of `_arrival_of`."""
    arrival, tenant_id, source = _arrival_of(context, line)
    return Addressed(arrival=arrival, source=context.source_named(tenant_id, source))


def _arrival_of(context: _LoadContext, line: bytes) -> tuple[Arrival, int, str]:
    """The arrival of a line, its tenant, and the name of its source. Writes nothing.

    Raises BadLineError, NotFoundError, NotAllowedError, MixedTenantsError and the errors of `upload_check`.
    """
    row = parse_line(line)
    sets = [context.set_named(set_id) for set_id in dict.fromkeys(row.get("sets") or [])]
    tenant_id = context.tenant_named(row["tenant"]) if row.get("tenant") else context.scope.tenant_id
    if sets and not row.get("tenant"):
        tenant_id = sets[0].tenant_id
    if any(s.tenant_id != tenant_id for s in sets):
        raise MixedTenantsError
    clearance_check(scope=context.scope, clearance=row.get("clearance") or 0)
    arrival = _arrival(row, sets)
    upload_check(name=arrival.name, size_bytes=arrival.size_bytes)
    return arrival, tenant_id, row.get("source") or ""


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
        review_by=date.fromisoformat(row["review_by"]) if row.get("review_by") else None,
    )
