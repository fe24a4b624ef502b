"""What the owner's desk lists: sets with their health, jobs and ingestion items (B7, D12)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Count, IntegerField, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.scope import Scope
from knowledge.models import Chunk, Document, DuplicatePair, IngestItem, IngestJob, KnowledgeSet
from knowledge.selectors.documents import documents_readable
from knowledge.selectors.jobs import jobs_readable
from knowledge.selectors.sets import sets_managed

Stage = IngestItem.Stage

# ── documents and sets ──────────────────────────────────────────────────────────────────────────


def documents_managed(*, scope: Scope, deleted: bool = False) -> QuerySet[Document]:
    """Documents of the sets that the person manages; administrators also have those that are in no set.

    `deleted` adds those that were deleted, for administrators only.
    """
    rows = documents_readable(scope=scope)
    if scope.administers == "nothing":
        managed = sets_managed(scope=scope).order_by().values("pk")
        return rows.filter(pk__in=Document.sets.through.objects.filter(knowledgeset__in=managed).values("document"))
    if not deleted:
        return rows
    gone = Document.objects.exclude(deleted=None)
    if scope.administers == "tenant":
        gone = gone.filter(tenant_id=scope.tenant_id, clearance__lte=scope.clearance)
    return Document.objects.filter(Q(pk__in=rows.values("pk")) | Q(pk__in=gone.values("pk")))


def sets_counted(*, scope: Scope) -> QuerySet[KnowledgeSet]:
    """Sets that the person manages with document_count, live_count, failed_count, processing_count, chunk_count,
    pair_count (open near-duplicates) and changed (when a document of it last changed).
    """
    state = Document.State
    return sets_managed(scope=scope).annotate(
        document_count=_documents(),
        live_count=_documents(state=state.LIVE),
        failed_count=_documents(state=state.FAILED),
        processing_count=_documents(state=state.PROCESSING),
        chunk_count=_chunks(),
        pair_count=_pairs(),
        changed=_changed(),
    )


def _documents(**conditions: Any) -> Coalesce:
    """How many documents of a set meet the conditions, as a subquery that does not multiply rows."""
    rows = Document.objects.filter(sets=OuterRef("pk"), deleted=None, **conditions).order_by()
    return _counted(rows, by="sets")


def _chunks() -> Coalesce:
    live = {"version__live_for__sets": OuterRef("pk"), "version__live_for__deleted": None, "retired": None}
    return _counted(Chunk.objects.filter(**live).order_by(), by="version__live_for__sets")


def _pairs() -> Coalesce:
    """Pairs of which the first document is in the set and both still exist."""
    alive = {"state": DuplicatePair.State.OPEN, "first__deleted": None, "second__deleted": None}
    rows = DuplicatePair.objects.filter(first__sets=OuterRef("pk"), **alive).order_by()
    return _counted(rows, by="first__sets")


def _counted(rows: QuerySet[Any], *, by: str) -> Coalesce:
    return Coalesce(Subquery(rows.values(by).annotate(n=Count("pk")).values("n"), output_field=IntegerField()), 0)


def _changed() -> Subquery:
    rows = Document.objects.filter(sets=OuterRef("pk"), deleted=None).order_by()
    return Subquery(rows.values("sets").annotate(at=Max("updated")).values("at"))


# ── ingestion ───────────────────────────────────────────────────────────────────────────────────


def items_shown(*, scope: Scope) -> QuerySet[IngestItem]:
    """Items of documents that the person manages."""
    rows = IngestItem.objects.select_related("job", "version__document").defer("version__markdown", "version__sketch")
    if scope.administers == "everything":
        return rows
    rows = rows.filter(job__tenant=scope.tenant_id)
    if scope.administers == "tenant":
        return rows
    return rows.filter(version__document__in=documents_managed(scope=scope))


def items_uploaded(*, scope: Scope, since: datetime) -> QuerySet[IngestItem]:
    """Items of what this person uploaded since then, the last upload first."""
    mine = {"job__created_by": scope.user_id, "job__kind": IngestJob.Kind.UPLOAD, "job__created__gte": since}
    return items_shown(scope=scope).filter(**mine).order_by("-job", "id")


def items_of_job(*, scope: Scope, job_id: int) -> QuerySet[IngestItem]:
    """Items of a job that the person started or administers."""
    jobs = jobs_readable(scope=scope).filter(pk=job_id)
    return items_shown(scope=scope).filter(job__in=jobs).order_by("id")


def jobs_counted(*, scope: Scope) -> QuerySet[IngestJob]:
    """Jobs that the person started or administers, with total_count, live_count, failed_count, cancelled_count and
    open_count.
    """
    finished = Q(items__finished__isnull=False)
    return jobs_readable(scope=scope).annotate(
        total_count=Count("items"),
        live_count=Count("items", filter=finished & Q(items__stage=Stage.LIVE)),
        failed_count=Count("items", filter=Q(items__stage=Stage.FAILED)),
        cancelled_count=Count("items", filter=Q(items__stage=Stage.CANCELLED)),
        open_count=Count("items", filter=Q(items__isnull=False, items__finished=None)),
    )
