"""Reading knowledge. Every function takes the asker's scope; visibility is defined here once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet

from accounts.errors import NotAllowedError, NotFoundError
from accounts.scope import Scope
from accounts.wording import worded
from knowledge.models import Chunk, CorpusEpoch, Document, IngestItem, IngestJob, KnowledgeSet
from knowledge.types import Filters, JobState, JobStatus

# ── sets ────────────────────────────────────────────────────────────────────────────────────────


def sets_listed(*, scope: Scope) -> QuerySet[KnowledgeSet]:
    """Every set of the tenant: everyone sees that it exists (D12). Administrators of everything see all tenants."""
    everything = KnowledgeSet.objects.all()
    return everything if scope.administers == "everything" else everything.filter(tenant_id=scope.tenant_id)


def sets_readable(*, scope: Scope) -> QuerySet[KnowledgeSet]:
    """Sets of the asker's own tenant whose documents the asker may read, up to clearance."""
    return KnowledgeSet.objects.filter(
        Q(visibility=KnowledgeSet.Visibility.EVERYONE)
        | Q(Exists(KnowledgeSet.members.through.objects.filter(knowledgeset_id=OuterRef("pk"), user_id=scope.user_id)))
        | Q(Exists(KnowledgeSet.owners.through.objects.filter(knowledgeset_id=OuterRef("pk"), user_id=scope.user_id)))
        | Q(
            Exists(
                KnowledgeSet.member_groups.through.objects.filter(
                    knowledgeset_id=OuterRef("pk"), usergroup_id__in=scope.group_ids
                )
            )
        ),
        tenant_id=scope.tenant_id,
    )


def sets_managed(*, scope: Scope) -> QuerySet[KnowledgeSet]:
    """Sets that the asker owns or administers."""
    if scope.administers == "everything":
        return KnowledgeSet.objects.all()
    if scope.administers == "tenant":
        return KnowledgeSet.objects.filter(tenant_id=scope.tenant_id)
    return KnowledgeSet.objects.filter(owners=scope.user_id, tenant_id=scope.tenant_id)


def set_get(*, scope: Scope, set_id: int) -> KnowledgeSet:
    """A set that is listed for the asker. Raises NotFoundError."""
    found = sets_listed(scope=scope).filter(pk=set_id).first()
    if found is None:
        raise NotFoundError(f"There is no knowledge set {set_id}.", set=set_id)
    return found


def set_owned(*, scope: Scope, set_id: int) -> KnowledgeSet:
    """A set that the asker may change. Raises NotFoundError, NotAllowedError."""
    found = set_get(scope=scope, set_id=set_id)
    if not sets_managed(scope=scope).filter(pk=set_id).exists():
        raise NotAllowedError(f"Only owners may change the knowledge set {found.name!r}.", set=set_id)
    return found


# ── documents ───────────────────────────────────────────────────────────────────────────────────


def documents_askable(*, scope: Scope, sets: Sequence[int] = (), filters: Filters | None = None) -> QuerySet[Document]:
    """THE definition of visibility: what a search of this asker may touch, narrowed by sets and filters.

    Tenant, not deleted, clearance, and membership in at least one readable set; all inside the query (B6, D27).
    """
    filters = filters or Filters()
    readable = sets_readable(scope=scope)
    if sets:
        readable = readable.filter(pk__in=sets)
    if filters.axis:
        readable = readable.filter(axis=filters.axis)
    found = Document.objects.filter(
        _in_any(_ids(readable)), tenant_id=scope.tenant_id, deleted=None, clearance__lte=scope.clearance
    )
    for axis, codes in (
        (KnowledgeSet.Axis.CAPABILITY, filters.capability),
        (KnowledgeSet.Axis.ORGANISATION, filters.organisation),
    ):
        if codes:
            found = found.filter(_in_any(_ids(sets_readable(scope=scope).filter(axis=axis, code__in=codes))))
    if filters.tags:
        found = found.filter(tags__overlap=list(filters.tags))
    if filters.metadata:
        found = found.filter(metadata__contains=dict(filters.metadata))
    return found


def documents_readable(*, scope: Scope) -> QuerySet[Document]:
    """What the asker may open: what a search may touch, and what the asker administers or has in an owned set."""
    if scope.administers == "everything":
        return Document.objects.filter(deleted=None)
    askable = documents_askable(scope=scope).values("pk")
    managed = Q(_in_any(_ids(sets_managed(scope=scope))), clearance__lte=scope.clearance)
    if scope.administers == "tenant":
        managed = Q(clearance__lte=scope.clearance)
    return Document.objects.filter(Q(pk__in=askable) | managed, tenant_id=scope.tenant_id, deleted=None)


def _ids(sets: QuerySet[KnowledgeSet]) -> list[int]:
    """Looked up once: the searches that follow plan faster with a list than with nested queries."""
    return list(sets.order_by().values_list("pk", flat=True))


def _in_any(set_ids: Sequence[int]) -> Exists:
    """The document is in at least one of these sets."""
    return Exists(Document.sets.through.objects.filter(document_id=OuterRef("pk"), knowledgeset_id__in=set_ids))


def document_get(*, scope: Scope, document_id: int) -> Document:
    """A document that the asker may open. Raises NotFoundError."""
    found = documents_readable(scope=scope).select_related("live_version").filter(pk=document_id).first()
    if found is None:
        raise NotFoundError(f"There is no document {document_id}, or you may not see it.", document=document_id)
    return found


def document_list(
    *,
    scope: Scope,
    set_id: int | None = None,
    state: str | None = None,
    q: str | None = None,
    external_id: str | None = None,
) -> QuerySet[Document]:
    """Documents that the asker may open, newest first; `q` is looked for in title, external id and text."""
    found = documents_readable(scope=scope)
    if set_id is not None:
        found = found.filter(sets=set_id)
    if state is not None:
        found = found.filter(state=state)
    if external_id is not None:
        found = found.filter(external_id=external_id)
    if q:
        in_text = Exists(Chunk.objects.filter(version_id=OuterRef("live_version_id"), text__icontains=q))
        found = found.filter(Q(title__icontains=q) | Q(external_id__icontains=q) | Q(in_text))
    return found.order_by("-created", "-id")


def chunks_of(*, scope: Scope, document_id: int) -> QuerySet[Chunk]:
    """The chunks of the live version in reading order. Raises NotFoundError."""
    document = document_get(scope=scope, document_id=document_id)
    return Chunk.objects.filter(version_id=document.live_version_id).order_by("ordinal")


def chunk_get(*, scope: Scope, chunk_id: int) -> Chunk:
    """A chunk of any version of a document that the asker may open now. Raises NotFoundError."""
    found = (
        Chunk.objects.select_related("version__document")
        .filter(pk=chunk_id, version__document__in=documents_readable(scope=scope))
        .first()
    )
    if found is None:
        raise NotFoundError("This source does not exist any more, or you may not see it.", chunk=chunk_id)
    return found


def corpus_epoch(*, scope: Scope) -> int:
    """The number of changes so far of what people of this tenant can find."""
    return CorpusEpoch.objects.filter(tenant_id=scope.tenant_id).values_list("value", flat=True).first() or 0


# ── jobs ────────────────────────────────────────────────────────────────────────────────────────


def jobs_readable(*, scope: Scope) -> QuerySet[IngestJob]:
    """Jobs that the asker started or administers."""
    if scope.administers == "everything":
        return IngestJob.objects.all()
    mine = IngestJob.objects.filter(tenant_id=scope.tenant_id)
    return mine if scope.administers == "tenant" else mine.filter(created_by_id=scope.user_id)


def job_get(*, scope: Scope, job_id: int) -> JobStatus:
    """Where a job of the asker stands. Raises NotFoundError."""
    job = jobs_readable(scope=scope).filter(pk=job_id).first()
    if job is None:
        raise NotFoundError(f"There is no job {job_id}, or it is not yours.", job=job_id)
    return job_status(job)


def job_status(job: IngestJob) -> JobStatus:
    """Counts, the least advanced open stage, and the errors of a job."""
    stages = IngestItem.Stage
    rows = job.items.order_by().values("stage").annotate(number=Count("pk"), attempts=Max("attempt"))
    counts = {row["stage"]: row["number"] for row in rows}
    total, done, failed = sum(counts.values()), counts.get(stages.LIVE, 0), counts.get(stages.FAILED, 0)
    return JobStatus(
        id=job.pk,
        state=_job_state(total=total, done=done, failed=failed, started=any(row["attempts"] for row in rows)),
        total=total,
        done=done,
        failed=failed,
        stage=min(counts, key=list(stages.values).index, default=stages.LIVE),  # what is over comes last in this order
        errors=tuple(_item_errors(job)) if failed else (),
    )


def _item_errors(job: IngestJob) -> Iterator[dict[str, Any]]:
    failed = job.items.filter(stage=IngestItem.Stage.FAILED).select_related("version__document").order_by("id")
    for item in failed.only("error_code", "error_message", "version__document__external_id"):
        yield {
            "document_id": item.version.document_id,
            "external_id": item.version.document.external_id,
            "code": item.error_code,
            "message": worded(item.error_message),
        }


def _job_state(*, total: int, done: int, failed: int, started: bool) -> JobState:
    if done + failed < total:
        return "running" if started else "queued"
    if failed == 0:
        return "succeeded"
    return "failed" if failed == total else "partial"
