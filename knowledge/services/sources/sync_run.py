"""Run sources: fetch what is new or has changed, and register it under one job (D12, D28).

Memory is bounded: one item at a time, and eight bytes for each item seen. An interrupted run is taken up again and
finds most items unchanged. Nothing is deleted because of a list that may be incomplete.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from knowledge.errors import RunLostError, SourceRunningError
from knowledge.models import IngestJob, Source
from knowledge.services.composition import source_settle
from knowledge.services.ingestion.item_state import IngestionFaultError
from knowledge.services.sources.folders import folder_allowed, folder_items
from knowledge.services.sources.items import Item, Unlisted
from knowledge.services.sources.leases import (
    BEAT_SECONDS,
    job_claim,
    job_note,
    job_release,
    source_claim,
    source_release,
    source_renew,
)
from knowledge.services.sources.run_report import RunReport
from knowledge.services.sources.single_page import address_fetch
from knowledge.services.sources.sync_items import ItemSync
from knowledge.services.sources.sync_schedule import runs_next_start
from knowledge.services.sources.web import page_items, sitemap_items
from ragcore.errors import RagError

logger = logging.getLogger(__name__)

Outcome = Source.Outcome
Progress = Callable[[RunReport], None]


def sync_run(
    *, job_id: int, trusted_folders: bool = False, in_turn: bool = True, progress: Progress | None = None
) -> IngestJob:
    """Do what the job's report waits for; safe to call twice, the second call finds nothing to do.

    `trusted_folders`: the folder was named by whoever operates this machine, so SOURCE_FOLDERS is not asked.
    `in_turn`: only a few go on at once; where that many do, nothing is done, and the next one to end calls again.
    """
    report = job_claim(job_id=job_id, in_turn=in_turn)
    job = IngestJob.objects.select_related("created_by", "source").get(pk=job_id)
    if report is None:
        return job
    run = _Run(job, report, trusted_folders=trusted_folders, progress=progress)
    try:
        run.all()
    except RunLostError:
        logger.info("the run of job %s was ended from outside", job_id)
        job_release(job_id=job_id, report=report)  # a paused one waits; one that others have taken is theirs
    except BaseException:
        job_release(job_id=job_id, report=report)
        raise
    finally:
        runs_next_start()
    job.refresh_from_db()
    return job


class _Run:
    """One claimed job."""

    def __init__(self, job: IngestJob, report: RunReport, *, trusted_folders: bool, progress: Progress | None) -> None:
        self.job, self.report = job, report
        self._trusted_folders = trusted_folders
        self._progress = progress
        self._last_beat = time.monotonic()

    def all(self) -> None:
        if self.report.request:
            self._address()
        while self.report.waiting:
            self.report.source_begins()
            self._note()
            source = Source.objects.select_related("handler", "owner").filter(pk=self.report.waiting[0]).first()
            if source is not None:  # it may have been removed since
                self._one(source)
            self.report.waiting.pop(0)
        self.report.state, self.report.before = "done", {}
        self._note()

    def _address(self) -> None:
        try:
            address_fetch(job=self.job, report=self.report)
        except RagError as error:
            self.report.fault(source=str(self.report.request.get("url", "")), error=error)

    def _one(self, source: Source) -> None:
        """Run one source; what goes wrong is written on it and on the job, and the next source has its turn."""
        claimed = source_claim(source_id=source.pk)
        if claimed is None:
            running = SourceRunningError()
            self.report.note(source=source.name, code=running.code, message=running.message)
            return
        outcome, message = Outcome.FAILED, ""
        before = self.report.refused_total
        try:
            self._bring(source, claimed)
            refused = self.report.refused_total - before
            outcome = Outcome.SUCCEEDED
            message = f"{refused} items of the source could not be taken." if refused else ""
        except RunLostError as error:
            message = error.message
            raise
        except RagError as error:
            message = error.message
            self.report.fault(source=source.name, error=error)
        except Exception:  # noqa: BLE001 (whatever a source provokes must not take the others along)
            logger.exception("source %s: unexpected fault", source.pk)
            fault = IngestionFaultError()
            message = fault.message
            self.report.fault(source=source.name, error=fault)
        finally:
            source_release(source=source, claimed=claimed, outcome=outcome, message=message)

    def _bring(self, source: Source, claimed: datetime) -> None:
        bringing = ItemSync(job=self.job, source=source, report=self.report)
        for item in items_of(source, trusted_folders=self._trusted_folders):
            if not bringing.take(item):
                break
            self._beat(source, claimed)
        bringing.finish()
        source_settle(source_id=source.pk)

    def _beat(self, source: Source, claimed: datetime) -> None:
        """A sign of life now and then."""
        if self._progress is not None:
            self._progress(self.report)
        if time.monotonic() - self._last_beat >= BEAT_SECONDS:
            source_renew(source_id=source.pk, claimed=claimed)
            self._note()

    def _note(self) -> None:
        job_note(job_id=self.job.pk, report=self.report)
        self._last_beat = time.monotonic()
        if self._progress is not None:
            self._progress(self.report)


# ── items by kind of source ───────────────────────────────────────────────────────────────────────


Kind = Source.Kind


def items_of(source: Source, *, trusted_folders: bool = False) -> Iterator[Item | Unlisted]:
    """What a source has now; nothing for kinds that send their documents themselves.

    Raises FolderNotAllowedError, FolderUnreadableError, UrlNotAllowedError, UrlUnreachableError.
    """
    match source.kind:
        case Kind.FOLDER:
            root = Path(source.location).resolve() if trusted_folders else folder_allowed(source.location)
            yield from folder_items(root)
        case Kind.URL:
            yield from page_items(source)
        case Kind.SITEMAP:
            yield from sitemap_items(source)
