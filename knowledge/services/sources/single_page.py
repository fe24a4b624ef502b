"""Add one page by its address (POST /api/v1/documents/url): checked at once, fetched in the background."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from django.db import transaction
from django.utils import timezone

from accounts.errors import NotAllowedError
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import IngestJob, Source, SyncRun
from knowledge.queue import RUN_SYNC, enqueue_on_commit
from knowledge.services.documents import items_add, job_hold, job_work, upload_check
from knowledge.services.registration import Arrival, clearance_check, document_register, sets_owned, source_ensure
from knowledge.services.sources.items import FetchedItem
from knowledge.services.sources.sync_items import source_scope
from knowledge.services.sources.sync_report import RunReport
from knowledge.services.sources.web import address_check, fetcher_make, page_fetch

WEB_SOURCE = "web"  # the source of pages that people add by their address


def document_from_url(
    *, scope: Scope, actor: User, url: str, sets: Sequence[int], title: str = "", clearance: int = 0
) -> IngestJob:
    """Create a job that fetches a page and adds it to sets; its external id is the address.

    The address is checked before anything is stored; a slow server delays no request.
    Raises UrlNotAllowedError, NotFoundError, NotAllowedError, ClearanceTooHighError, MixedTenantsError.
    """
    clearance_check(scope=scope, clearance=clearance)
    owned = sets_owned(scope=scope, set_ids=sets)
    address_check(url)
    request = {"url": url, "sets": [s.pk for s in owned], "title": title, "clearance": clearance}
    tenant_id = owned[0].tenant_id if owned else scope.tenant_id
    return fetch_open(tenant_id=tenant_id, actor=actor, request=request)


@transaction.atomic
def fetch_open(
    *, tenant_id: int, actor: User | None, request: dict[str, object], source: Source | None = None
) -> IngestJob:
    """Create a job that fetches one address for a person, or for a source whose webhook named it."""
    job = IngestJob.objects.create(tenant_id=tenant_id, created_by=actor, source=source, report=RunReport().json())
    trigger = "person" if source is None else "webhook"
    SyncRun.objects.create(job=job, trigger=trigger, request=request, heartbeat=timezone.now())
    enqueue_on_commit(RUN_SYNC, job_id=job.pk)
    return job


def address_fetch(*, job: IngestJob, run: SyncRun, report: RunReport) -> None:
    """Fetch and register what the request of a job names: for a source, or with the rights its person has now.

    Raises what fetching and registering raise; NotAllowedError where the person does not exist any more.
    """
    report.found = 1
    if job.source is None and (job.created_by is None or not job.created_by.is_active):
        raise NotAllowedError
    fetched = page_fetch(fetcher_make(), run.request["url"], {})
    if fetched is not None:
        _register(job, run, report, fetched)


@transaction.atomic
def _register(job: IngestJob, run: SyncRun, report: RunReport, fetched: FetchedItem) -> None:
    job_hold(job)
    request, person = run.request, job.created_by
    scope = source_scope(job.source) if job.source else scope_for(cast(User, person))
    upload_check(name=fetched.name, size_bytes=len(fetched.content))
    clearance_check(scope=scope, clearance=request["clearance"])
    arrival = Arrival(
        name=fetched.name,
        content=fetched.content,
        sets=sets_owned(scope=scope, set_ids=request.get("sets", [])),
        title=request["title"],
        external_id=request.get("external_id") or request["url"],
        clearance=request["clearance"],
        metadata=request.get("metadata", {}),
        tags=request.get("tags", []),
        sent_as=request["url"],
    )
    source = job.source or source_ensure(tenant_id=job.tenant_id, name=WEB_SOURCE)
    done = document_register(scope=scope, actor=person, arrival=arrival, source=source)
    if done.version is not None:
        items_add(job, [done.version])
        job_work(job, workers=1)
        report.new += 1
    run.request = {**request, "document": done.document.pk}
    if done.merged:
        epoch_advance(tenant_id=job.tenant_id)
