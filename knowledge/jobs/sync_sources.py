"""Reads sources one after another: registers what is new or has changed under one ingestion job.

Memory is bounded: one item at a time, and eight bytes for each item seen. A source whose run was interrupted is listed
again from its beginning, and most items are found unchanged. Nothing is deleted because of a list that may be
incomplete.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from typing import Any

from django.db.models import Count, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from knowledge.connector_errors import SourceBusyError
from knowledge.connectors import connector_kinds
from knowledge.errors import ItemsRefusedError, SourceRunningError
from knowledge.models import IngestJob, Source
from knowledge.queue import SYNC_SOURCES
from knowledge.services.composition import source_settle
from knowledge.services.ingestion.item_state import IngestionFaultError
from knowledge.services.reader_lists import item_readers_renew
from knowledge.services.sources.connectors import listed_items
from knowledge.services.sources.ownership import owner_check, owner_check_now
from knowledge.services.sources.pacing import Pace, opens_at
from knowledge.services.sources.sync_items import ItemSync
from knowledge.services.sources.sync_runs import (
    CHANGES,
    EVERYTHING,
    RunReport,
    report_store,
    run_interrupted,
    source_claim,
    source_release,
    stored_error,
)
from knowledge.types import SourceOptions, strictly
from ragcore.errors import RagError
from work.errors import JobLostError
from work.faults import known_fault
from work.fencing import job_writing
from work.kinds import Checkpoint, JobKind, job_kind
from work.models import Job, State

logger = logging.getLogger(__name__)
clock = time.monotonic

STORE_SECONDS = 2.0  # between two checkpoints within a source
MOST_RESTS = 50  # one after another, without a document that was new or had changed
Outcome = Source.Outcome
Release = Callable[[], None]


@job_kind
class SyncSources(JobKind):
    """One run. A source is one step: its list has no place from which to go on, so a run is one slice."""

    name = SYNC_SOURCES
    label = _("Synchronisation of sources")
    queue = "nightly"
    slice_seconds = math.inf
    at_once = 2  # with the fetching of pages fewer than the workers of the queue: a run may take hours
    ends_with_author = False  # what a source may bring is decided by its owner

    def run(self, job: Job) -> Iterator[Checkpoint]:
        yield from _Run(job).checkpoints()

    def state_changed(self, job: Job) -> None:
        if job.state not in (State.QUEUED, State.RUNNING):
            run_interrupted(job=job)

    def subject_words(self, job: Job) -> str:
        """The names of the sources."""
        names = Source.objects.filter(pk__in=job.arguments["sources"]).order_by("name").values_list("name", flat=True)
        return ", ".join(names)

    def panel(self, job: Job) -> list[tuple[Any, Any]]:
        words = (("new", _("new")), ("changed", _("changed")), ("deleted", _("deleted")))
        return [(label, job.figures[name]) for name, label in words if name in job.figures]


class _Run:
    """A claimed job. Its checkpoint: how many sources are through, and the counts when the next one began."""

    def __init__(self, job: Job) -> None:
        self.work = job
        self.job = IngestJob.objects.select_related("created_by", "source").get(pk=job.arguments["job_id"])
        counts = job.checkpoint.get("counts", RunReport().checkpoint())
        self.report = RunReport.of({**self.job.report, **counts})
        if job.attempt > 1:
            self._count_registered()

    def checkpoints(self) -> Iterator[Checkpoint]:
        source_ids = self.work.arguments["sources"]
        for position in range(self.work.checkpoint.get("position", 0), len(source_ids)):
            rows = Source.objects.select_related("handler", "owner__service_owner")
            source = rows.filter(pk=source_ids[position]).first()
            try:
                release = (yield from self._source(source)) if source is not None else None  # it may have been removed
            except _RestError as rest:
                yield self._rest(position, rest.seconds)
                return
            data = {"position": position + 1, "counts": self.report.checkpoint()}
            yield self._checkpoint(release, data=data)
        yield self._checkpoint(None, is_last=True)

    def _rest(self, position: int, seconds: float) -> Checkpoint:
        """The source is listed again after a rest, and what was taken from it is found unchanged."""
        before, registered = self.work.checkpoint, self.report.new + self.report.changed
        rests = before.get("rests", 0) + 1 if registered == before.get("registered", 0) else 1
        data = {
            "position": position,
            "counts": before.get("counts", RunReport().checkpoint()),
            "rests": rests,
            "registered": registered,
        }
        return self._checkpoint(None, data=data, rest_seconds=seconds)

    def _count_registered(self) -> None:
        """An earlier worker may have registered more than the report says, which is stored now and then."""
        is_new = Q(version__number=1)
        counts = self.job.items.aggregate(new=Count("pk", filter=is_new), changed=Count("pk", filter=~is_new))
        self.report.new = max(self.report.new, counts["new"])
        self.report.changed = max(self.report.changed, counts["changed"])

    def _checkpoint(self, release: Release | None, **values: Any) -> Checkpoint:
        def write() -> None:
            if release is not None:
                release()
            report_store(self.job.pk, self.report)

        figures = {name: getattr(self.report, name) for name in ("new", "changed", "deleted")}
        return Checkpoint(done=self.report.found, figures=figures, write=write, **values)

    def _source(self, source: Source) -> Generator[Checkpoint, None, Release | None]:
        """Read one source; what goes wrong is noted on it and on the job, and the next source has its turn.

        Gives what stores its outcome; None where another run has it.
        """
        with job_writing(self.work):
            is_claimed = source_claim(source_id=source.pk, job=self.work)
        if not is_claimed:
            self.report.note(source=source.name, error=SourceRunningError())
            return None
        items, refused = self.report.found, self.report.refused_total
        try:
            yield from self._items(source)
        except (JobLostError, _RestError):
            raise
        except SourceBusyError as error:
            if self.work.checkpoint.get("rests", 0) < MOST_RESTS:
                raise _RestError(error.retry_seconds) from error
            return self._failed(source, error)
        except RagError as error:
            return self._failed(source, error)
        except Exception as error:
            logger.exception("source %s: unexpected fault", source.pk)
            return self._failed(source, known_fault(error) or IngestionFaultError())
        return self._ended(source, self.report.found - items, self.report.refused_total - refused)

    def _ended(self, source: Source, total: int, refused: int) -> Release:
        """`refused`: of the `total` items of the source."""
        error = stored_error(ItemsRefusedError("count", count=refused)) if refused else None
        if refused == total == 1:
            error = self.report.refused[-1]
        outcome = Outcome.FAILED if refused and refused == total else Outcome.SUCCEEDED
        return self._release(source, outcome, error)

    def _failed(self, source: Source, error: RagError) -> Release:
        self.report.fault(source=source.name, error=error)
        return self._release(source, Outcome.FAILED, stored_error(error))

    def _release(self, source: Source, outcome: Outcome, error: Mapping[str, Any] | None) -> Release:
        return partial(source_release, source_id=source.pk, job=self.work, outcome=outcome, error=error)

    def _items(self, source: Source) -> Iterator[Checkpoint]:
        owner_check(source)
        options, mode = strictly(SourceOptions, source.options), self.work.arguments.get("mode", CHANGES)
        source.cursor = source.cursor if mode == CHANGES else {}
        with job_writing(self.work):
            item_readers_renew(source=source)
        pace = Pace(options.requests_per_minute)
        kind = connector_kinds().get(source.kind)
        sync = ItemSync(
            job=self.job,
            work=self.work,
            source=source,
            report=self.report,
            rereads=mode == EVERYTHING,
            before_read=pace if kind is None or not kind.paces_itself else lambda: None,
        )
        stored = clock()
        for item in listed_items(source, trusted_folder=self.work.arguments.get("trusted_folder", ""), pace=pace):
            if not sync.take(item):
                break
            if clock() - stored >= STORE_SECONDS:
                owner_check_now(source.pk)
                yield self._checkpoint(None)
                self._check_hours(options.hours)
                stored = clock()
        yield self._checkpoint(None)  # whoever has lost the run deletes nothing
        sync.finish()
        if sync.has_changed or self.work.attempt > 1 or self.job.run.trigger != "schedule":
            source_settle(source_id=source.pk)  # an earlier worker may have brought something; a person wants it done

    def _check_hours(self, hours: str) -> None:
        """A run of the schedule goes on when the source may be read again; one that a person started just goes on."""
        now = timezone.now()
        if (opening := opens_at(hours, now)) is not None and self.job.run.trigger == "schedule":
            raise _RestError((opening - now).total_seconds())


class _RestError(Exception):
    """The run goes on after some seconds, in the hands of whichever worker is free then."""

    def __init__(self, seconds: float) -> None:
        self.seconds = max(seconds, 1.0)
        super().__init__(seconds)
