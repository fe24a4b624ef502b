"""Run sources: fetch what is new or has changed, and register it under one job.

Memory is bounded: one item at a time, and eight bytes for each item seen. An interrupted run is taken up again and
finds most items unchanged. Nothing is deleted because of a list that may be incomplete.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from django.utils import timezone

from knowledge.errors import ItemsRefusedError, RunLostError, SourceRunningError
from knowledge.models import IngestJob, Source, SyncRun
from knowledge.services.composition import source_settle
from knowledge.services.ingestion.item_state import IngestionFaultError
from knowledge.services.leases import LeaseLostError
from knowledge.services.places import folder_allowed
from knowledge.services.sources.folders import folder_items
from knowledge.services.sources.ownership import owner_check, owner_check_now
from knowledge.services.sources.sync_items import Item, ItemSync, UnreadableItem
from knowledge.services.sources.sync_runs import (
    BEAT_SECONDS,
    RunReport,
    run_claim,
    run_lease,
    run_release,
    run_store,
    runs_next_start,
    source_claim,
    source_release,
    source_renew,
    stored_error,
)
from knowledge.services.sources.web import address_fetch, page_items, sitemap_items
from ragcore.errors import RagError
from work.faults import known_fault

logger = logging.getLogger(__name__)

Outcome = Source.Outcome
Progress = Callable[[RunReport], None]

Kind = Source.Kind


def sync_run(
    *, job_id: int, trusted_folders: bool = False, in_turn: bool = True, progress: Progress | None = None
) -> IngestJob:
    """Run the pending sources of a job, or fetch its address. Idempotent: a second call finds nothing to do.

    `trusted_folders`: the folder was named by whoever operates this machine, so nobody asks whether the tenant has it.
    `in_turn`: only a few go on at once; where that many do, nothing is done, and the next one to end calls again.
    """
    claimed = run_claim(job_id=job_id, in_turn=in_turn)
    job = IngestJob.objects.select_related("created_by", "source").get(pk=job_id)
    if claimed is None:
        return job
    run = _Execution(job, claimed, trusted_folders=trusted_folders, progress=progress)
    try:
        run.all()
    except LeaseLostError:
        logger.info("the run of job %s was ended from outside", job_id)
        run.release()  # a paused one waits; one that others have taken is theirs
    except BaseException:
        run.release()
        raise
    finally:
        runs_next_start()
    job.refresh_from_db()
    return job


class _Execution:
    """One claimed run."""

    def __init__(self, job: IngestJob, run: SyncRun, *, trusted_folders: bool, progress: Progress | None) -> None:
        self.job, self.run, self.report = job, run, RunReport.of(job.report)
        self._lease = run_lease(run)
        self._trusted_folders = trusted_folders
        self._progress = progress

    def all(self) -> None:
        if self.run.request:
            self._address()
        while self.run.pending_sources:
            self.run.checkpoint = self.report.checkpoint()
            self._store()
            source = (
                Source.objects.select_related("handler", "owner__service_owner")
                .filter(pk=self.run.pending_sources[0])
                .first()
            )
            if source is not None:  # it may have been removed since
                self._one(source)
            self.run.pending_sources.pop(0)
        self.run.checkpoint = {}
        self._store(finished=timezone.now(), lease_until=None)

    def release(self) -> None:
        run_release(lease=self._lease, report=self.report)

    def _address(self) -> None:
        try:
            if self.job.source is not None:
                owner_check(self.job.source)
            address_fetch(job=self.job, run=self.run, report=self.report)
        except RagError as error:
            self.report.fault(source=str(self.run.request.get("url", "")), error=error)

    def _one(self, source: Source) -> None:
        """Run one source; what goes wrong is written on it and on the job, and the next source has its turn."""
        claimed = source_claim(source_id=source.pk)
        if claimed is None:
            self.report.note(source=source.name, error=SourceRunningError())
            return
        outcome = Outcome.FAILED
        told: RagError | None = None
        reason: dict[str, Any] | None = None
        before = self.report.found, self.report.refused_total
        try:
            self._sync(source, claimed)
            taken, refused = self.report.found - before[0], self.report.refused_total - before[1]
            outcome = Outcome.FAILED if refused and refused == taken else Outcome.SUCCEEDED
            told = ItemsRefusedError("count", count=refused) if refused else None
            reason = self.report.refused[-1] if refused == taken == 1 else None  # of the only item
        except LeaseLostError:
            told = RunLostError()
            raise
        except RagError as error:
            told = error
            self.report.fault(source=source.name, error=error)
        except Exception as error:  # noqa: BLE001 (whatever a source provokes must not take the others along)
            logger.exception("source %s: unexpected fault", source.pk)
            told = known_fault(error) or IngestionFaultError()
            self.report.fault(source=source.name, error=told)
        finally:
            source_release(
                source=source, claimed=claimed, outcome=outcome, error=reason or (stored_error(told) if told else None)
            )

    def _sync(self, source: Source, claimed: datetime) -> None:
        owner_check(source)
        sync = ItemSync(job=self.job, source=source, report=self.report)
        for item in items_of(source, trusted_folders=self._trusted_folders):
            if not sync.take(item):
                break
            self._beat(source, claimed)
        sync.finish()
        source_settle(source_id=source.pk)

    def _beat(self, source: Source, claimed: datetime) -> None:
        """A sign of life now and then."""
        if self._progress is not None:
            self._progress(self.report)
        if time.monotonic() - self._lease.renewed >= BEAT_SECONDS:
            source_renew(source_id=source.pk, claimed=claimed)
            owner_check_now(source.pk)
            self._store()

    def _store(self, **values: Any) -> None:
        run_store(lease=self._lease, report=self.report, **values)
        if self._progress is not None:
            self._progress(self.report)


# ── items by kind of source ───────────────────────────────────────────────────────────────────────


def items_of(source: Source, *, trusted_folders: bool = False) -> Iterator[Item | UnreadableItem]:
    """What a source has now; nothing for kinds that send their documents themselves.

    Raises FolderNotAllowedError, FolderUnreadableError, UrlNotAllowedError, UrlUnreachableError.
    """
    match source.kind:
        case Kind.FOLDER:
            home = source.tenant_id
            root = (
                Path(source.location).resolve() if trusted_folders else folder_allowed(source.location, tenant_id=home)
            )
            yield from folder_items(root)
        case Kind.URL:
            yield from page_items(source)
        case Kind.SITEMAP:
            yield from sitemap_items(source)
