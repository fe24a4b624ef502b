"""What the owner's desk lists: sets with their health, jobs and ingestion items."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Case, Count, F, IntegerField, Max, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce

from accounts.scope import Scope
from knowledge.models import Chunk, Document, DuplicatePair, IngestItem, IngestJob, KnowledgeSet
from knowledge.selectors.documents import documents_readable, manageable_condition
from knowledge.selectors.jobs import jobs_readable
from knowledge.selectors.keepers import keeper_condition
from knowledge.selectors.keeping import documents_openable
from knowledge.selectors.sets import sets_curated

Stage = IngestItem.Stage

# ── documents and sets ──────────────────────────────────────────────────────────────────────────


def documents_managed(*, scope: Scope, deleted: bool = False) -> QuerySet[Document]:
    """Documents of the sets that the person curates; administrators also have those that are in no set.

    `deleted` adds those that were deleted, for administrators only.
    """
    rows = documents_readable(scope=scope)
    if scope.administers == "nothing":
        managed = sets_curated(scope=scope).order_by().values("pk")
        return rows.filter(pk__in=Document.sets.through.objects.filter(knowledgeset__in=managed).values("document"))
    if not deleted:
        return rows
    gone = Document.objects.exclude(deleted=None)
    if scope.administers == "tenant":
        gone = gone.filter(tenant_id=scope.tenant_id, clearance__lte=scope.clearance)
    return Document.objects.filter(Q(pk__in=rows.values("pk")) | Q(pk__in=gone.values("pk")))


def documents_rebuildable(*, scope: Scope, set_id: int) -> QuerySet[Document]:
    """Live documents of a set that the person may rebuild: those that others keep, too, or above the person's
    clearance, are left out.
    """
    rows = _cleared(scope).filter(sets=set_id, live_version__isnull=False)
    return rows.filter(keeper_condition(scope=scope)).order_by("pk")


def sets_counted(*, scope: Scope) -> QuerySet[KnowledgeSet]:
    """Sets that the person curates with document_count, live_count, failed_count, processing_count, chunk_count,
    pair_count (open near-duplicates) and changed (when a document of it last changed).
    """
    state = Document.State
    cleared = _cleared(scope)
    return sets_curated(scope=scope).annotate(
        document_count=_documents(cleared),
        live_count=_documents(cleared, state=state.LIVE),
        failed_count=_documents(cleared, state=state.FAILED),
        processing_count=_documents(cleared, state=state.PROCESSING),
        chunk_count=_chunks(cleared),
        pair_count=_pairs(scope),
        changed=_changed(cleared),
    )


def _cleared(scope: Scope) -> QuerySet[Document]:
    """What the person may see of the sets that they manage: numbers, too, say nothing of what is above them."""
    here = Document.objects.filter(deleted=None).order_by()
    return here.filter(manageable_condition(scope=scope))


def _documents(cleared: QuerySet[Document], **conditions: Any) -> Coalesce:
    """How many documents of a set meet the conditions, as a subquery that does not multiply rows."""
    return _counted(cleared.filter(sets=OuterRef("pk"), **conditions), by="sets")


def _chunks(cleared: QuerySet[Document]) -> Coalesce:
    live = {"version__live_for__sets": OuterRef("pk"), "version__live_for__in": cleared, "retired": None}
    return _counted(Chunk.objects.filter(**live).order_by(), by="version__live_for__sets")


def _pairs(scope: Scope) -> Coalesce:
    """Open pairs of which the first document is in the set, if the person may open both (as in `pairs_of`)."""
    readable = documents_openable(scope=scope).order_by().values("pk")
    both = {"state": DuplicatePair.State.OPEN, "first__in": readable, "second__in": readable}
    rows = DuplicatePair.objects.exclude(dismissed_by=scope.user_id).filter(first__sets=OuterRef("pk"), **both)
    rows = rows.order_by()
    return _counted(rows, by="first__sets")


def _counted(rows: QuerySet[Any], *, by: str) -> Coalesce:
    return Coalesce(Subquery(rows.values(by).annotate(n=Count("pk")).values("n"), output_field=IntegerField()), 0)


def _changed(cleared: QuerySet[Document]) -> Subquery:
    rows = cleared.filter(sets=OuterRef("pk"))
    return Subquery(rows.values("sets").annotate(at=Max("updated")).values("at"))


# ── ingestion ───────────────────────────────────────────────────────────────────────────────────


def items_shown(*, scope: Scope) -> QuerySet[IngestItem]:
    """Items of documents that the person manages, with their place in a list (held by a worker 0, failed 1,
    waiting 2, over 3) and their turn within it: what is open in the order of its coming, the rest latest first.
    """
    place = Case(
        When(finished=None, lease_until__isnull=False, then=0),
        When(stage=Stage.FAILED, then=1),
        When(finished=None, then=2),
        default=3,
    )
    turn = Case(When(finished=None, then=F("pk")), default=-F("pk"))
    rows = IngestItem.objects.select_related("job", "version__document").annotate(place=place, turn=turn)
    rows = rows.defer("version__markdown", "version__sketch")
    if scope.administers == "everything":
        return rows
    return rows.filter(version__document__in=documents_managed(scope=scope, deleted=True))


def items_uploaded(*, scope: Scope, since: datetime) -> QuerySet[IngestItem]:
    """Items of what this person uploaded since then, the last upload first."""
    of_person = {"job__created_by": scope.user_id, "job__kind": IngestJob.Kind.UPLOAD, "job__created__gte": since}
    return items_shown(scope=scope).filter(**of_person).order_by("-job_id", "id")


def items_of_job(*, scope: Scope, job_id: int) -> QuerySet[IngestItem]:
    """Items of a job that the person started or administers."""
    jobs = jobs_readable(scope=scope).filter(pk=job_id)
    return items_shown(scope=scope).filter(job__in=jobs).order_by("id")


def items_named(*, scope: Scope, words: Sequence[str]) -> QuerySet[IngestItem]:
    """Items of documents that the person may see, each word in their title or their file name."""
    is_admin = scope.administers != "nothing"
    visible = documents_managed(scope=scope, deleted=True) if is_admin else documents_readable(scope=scope)
    rows = IngestItem.objects.filter(version__document__in=visible.order_by().values("pk"))
    for word in words:
        rows = rows.filter(Q(version__document__title__icontains=word) | Q(version__file_name__icontains=word))
    return rows


def jobs_counted(*, scope: Scope) -> QuerySet[IngestJob]:
    """Jobs that the person started or administers, with total_count, live_count, failed_count, cancelled_count,
    open_count and first_title (of their first document that the person may see).
    """
    finished = Q(items__finished__isnull=False)
    readable = documents_readable(scope=scope).order_by().values("pk")
    first = IngestItem.objects.filter(job=OuterRef("pk"), version__document__in=readable).order_by("pk")
    return jobs_readable(scope=scope).annotate(
        total_count=Count("items"),
        live_count=Count("items", filter=finished & Q(items__stage=Stage.LIVE)),
        failed_count=Count("items", filter=Q(items__stage=Stage.FAILED)),
        cancelled_count=Count("items", filter=Q(items__stage=Stage.CANCELLED)),
        open_count=Count("items", filter=Q(items__isnull=False, items__finished=None)),
        first_title=Subquery(first.values("version__document__title")[:1]),
    )
