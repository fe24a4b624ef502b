"""Pause, resume, cancel and retry ingestion jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from accounts.errors import NotAllowedError, NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.errors import IngestionCancelledError, JobOverError, error_columns
from knowledge.models import Document, DocumentVersion, IngestItem, IngestJob, SyncRun
from knowledge.queue import advance_enqueue
from knowledge.selectors import jobs_readable
from knowledge.selectors.documents import manageable_condition
from knowledge.selectors.keepers import keeper_condition
from knowledge.selectors.keeping import documents_kept
from knowledge.selectors.sets import sources_managed
from knowledge.services.documents import document_managed, job_start
from knowledge.services.ingestion.item_state import document_error_set
from knowledge.services.ingestion.parse_cache import parse_cache_clear
from knowledge.services.sources.sync_runs import runs_open, sources_pending
from knowledge.services.withdrawal import VersionWithdrawnError
from work.models import Job
from work.services import job_act_now

Stage = IngestItem.Stage
Queue = IngestItem.Queue
RetryStage = Literal["received", "parsed", "chunked"]


def job_pause(*, scope: Scope, actor: User, job_id: int) -> IngestJob:
    """Stop work on a job at the next checkpoint; nothing is lost. Raises NotFoundError, JobOverError."""
    with transaction.atomic():
        job = _open_job(scope=scope, job_id=job_id)
        if job.paused is None:
            job.paused = timezone.now()
            job.save(update_fields=["paused"])
            _run_act(job, "pause")
            audit_record(actor=actor, action="job.pause", target=str(job), job=job.pk)
        return job


def job_resume(*, scope: Scope, actor: User, job_id: int) -> IngestJob:
    """Continue a paused job. Raises NotFoundError, JobOverError."""
    with transaction.atomic():
        job = _open_job(scope=scope, job_id=job_id)
        if job.paused is not None:
            job.paused = None
            job.save(update_fields=["paused"])
            _run_act(job, "resume")
            audit_record(actor=actor, action="job.resume", target=str(job), job=job.pk)
            _call_workers(job)
        return job


@transaction.atomic
def job_cancel(*, scope: Scope, actor: User, job_id: int) -> IngestJob:
    """Cancel the items that are not live yet; documents keep their versions.

    Raises NotFoundError, JobOverError; NotAllowedError where an item is of a document that the asker does not keep.
    Documents are locked before items, as publishing does; what was published by then stays live.
    """
    job = _open_job(scope=scope, job_id=job_id)
    if _has_items_of_others(job, scope=scope):
        raise NotAllowedError("job_of_others")
    job.cancelled = timezone.now()
    job.save(update_fields=["cancelled"])
    _run_act(job, "cancel")
    open_items = IngestItem.objects.filter(job=job, finished=None)
    documents = Document.objects.select_for_update().filter(versions__items__in=open_items).order_by("pk")
    list(documents.values_list("pk", flat=True))
    items = list(open_items.select_for_update(of=("self",)).select_related("version").order_by("pk"))
    reason = IngestionCancelledError()
    IngestItem.objects.filter(pk__in=[item.pk for item in items]).update(
        stage=Stage.CANCELLED, finished=job.cancelled, lease_until=None, **error_columns(reason)
    )
    for item in items:
        document_error_set(item, reason)
    audit_record(actor=actor, action="job.cancel", target=str(job), job=job.pk, items=len(items))
    return job


@transaction.atomic
def job_retry(*, scope: Scope, actor: User, job_id: int) -> IngestJob | None:
    """Ingest the failed and cancelled versions of a job again, in a new job, if they are still the newest.

    Documents that the asker does not keep any more, or may not open, are left out.

    None if there are no such versions, or all of them are being ingested already. Raises NotFoundError.
    """
    job = _job(scope=scope, job_id=job_id)
    newer = DocumentVersion.objects.filter(document=OuterRef("document"), number__gt=OuterRef("number"))
    at_work = IngestItem.objects.filter(version=OuterRef("pk"), finished=None)
    over = Q(items__job=job, items__stage__in=(Stage.FAILED, Stage.CANCELLED))
    documents = documents_kept(scope=scope).order_by()
    rows = DocumentVersion.objects.filter(over, ~Exists(newer), ~Exists(at_work), live_for=None, withdrawn=None)
    versions = list(rows.filter(document__in=documents.values("pk")).only("document").order_by("pk"))
    if not versions:
        return None
    audit_record(actor=actor, action="job.retry", target=str(job), job=job.pk, items=len(versions))
    return _versions_retry(tenant_id=job.tenant_id, actor=actor, versions=versions)


@transaction.atomic
def document_retry(*, scope: Scope, actor: User, document_id: int, stage: RetryStage = "received") -> IngestJob:
    """Ingest the newest version of a document again, from its original or from its stored text.

    "parsed" and "chunked" start with the stored text, if its options are still those of the document; it is chunked
    again in either case, which takes little time. Raises NotFoundError, NotAllowedError.
    """
    document = document_managed(scope=scope, document_id=document_id)
    version = document.versions.order_by("-number").first()
    if version is None or version.pk == document.live_version_id:
        raise NotAllowedError("already_live")
    if version.withdrawn is not None:
        raise VersionWithdrawnError
    if stage == "received":
        parse_cache_clear(version)
        return _versions_retry(tenant_id=document.tenant_id, actor=actor, versions=[version])
    return _versions_retry(
        tenant_id=document.tenant_id, actor=actor, versions=[version], queue=Queue.EMBED, stage=stage
    )


def _versions_retry(
    *,
    tenant_id: int,
    actor: User,
    versions: Sequence[DocumentVersion],
    queue: str = Queue.INGEST,
    stage: str = Stage.RECEIVED,
) -> IngestJob:
    """Create a job for versions that did not go live; their documents are in progress again."""
    documents = Document.objects.filter(pk__in=[version.document_id for version in versions])
    list(documents.select_for_update().order_by("pk").values_list("pk", flat=True))
    failed = documents.filter(state=Document.State.FAILED)
    failed.update(state=Document.State.PROCESSING, updated=timezone.now())
    documents.update(**error_columns(None))
    return job_start(tenant_id=tenant_id, actor=actor, versions=versions, queue=queue, stage=stage)


def _open_job(*, scope: Scope, job_id: int) -> IngestJob:
    """A job with unfinished items or an unfinished run, locked. Raises NotFoundError, NotAllowedError, JobOverError."""
    job = _job(scope=scope, job_id=job_id)
    if _is_of_others(job, scope=scope):
        raise NotAllowedError("job_of_others")
    if job.cancelled or not (_open_runs(job).exists() or job.items.filter(finished=None).exists()):
        raise JobOverError(job=job_id)
    return job


def _is_of_others(job: IngestJob, *, scope: Scope) -> bool:
    """Whether the job works on documents or sources that the asker, who started it, does not keep any more.

    Administrators pause and resume every job of their tenant: that changes no document.
    """
    if scope.administers != "nothing":
        return False
    if _has_items_of_others(job, scope=scope):
        return True
    source_ids = {pk for run in _open_runs(job) if run.work is not None for pk in sources_pending(run.work)}
    return sources_managed(scope=scope).filter(pk__in=source_ids).count() < len(source_ids)


def _has_items_of_others(job: IngestJob, *, scope: Scope) -> bool:
    """Whether an open item is of a document that the asker does not keep, or that is closed to them."""
    conditions = keeper_condition(scope=scope) & manageable_condition(scope=scope)
    documents = Document.objects.filter(conditions).order_by()  # deleted ones, too: ending their work changes nothing
    return job.items.filter(finished=None).exclude(version__document__in=documents.values("pk")).exists()


def _open_runs(job: IngestJob) -> QuerySet[SyncRun]:
    """The run of the job, if it has one that is not over."""
    return runs_open().filter(job=job)


def _run_act(job: IngestJob, act: str) -> None:
    """Pause, resume or cancel the run of the job, if it has one for which that is possible."""
    for run in _open_runs(job):
        if run.work is not None:
            job_act_now(run.work, act)


def _job(*, scope: Scope, job_id: int) -> IngestJob:
    """The job, locked; its run is locked before it, as workers do. Raises NotFoundError."""
    jobs = jobs_readable(scope=scope)
    runs = SyncRun.objects.filter(job__in=jobs.order_by().filter(pk=job_id).values("pk"))
    list(Job.objects.select_for_update(no_key=True).filter(pk__in=runs.values("work")))
    job = jobs.select_for_update(of=("self",)).filter(pk=job_id).first()
    if job is None:
        raise NotFoundError("job", job=job_id)
    return job


def _call_workers(job: IngestJob) -> None:
    queues = job.items.filter(finished=None).order_by().values_list("queue", flat=True).distinct()
    for queue in sorted(queues):
        advance_enqueue(job_id=job.pk, queue=queue)
