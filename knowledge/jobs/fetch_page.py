"""Fetches one web page by its address, and registers it: for a person, or for a source whose webhook named it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from knowledge.connectors import FetchedItem
from knowledge.models import SyncRun
from knowledge.queue import FETCH_PAGE
from knowledge.services.sources.sync_runs import RunReport, report_store, run_interrupted
from knowledge.services.sources.web import address_fetch, page_register
from ragcore.errors import RagError
from work.kinds import Checkpoint, JobKind, job_kind
from work.models import Job, State


@job_kind
class FetchPage(JobKind):
    """One page. What goes wrong with it stands in the report of its ingestion job."""

    name = FETCH_PAGE
    label = _("Fetching of a web page")
    queue = "nightly"
    at_once = 1
    ends_with_author = False  # whether its person may still add documents is asked when it is registered

    def run(self, job: Job) -> Iterator[Checkpoint]:
        run = SyncRun.objects.select_related("job__created_by", "job__source").get(work=job)
        report = RunReport(found=1)
        page = None
        try:
            page = address_fetch(run=run)
        except RagError as error:
            report.fault(source=str(run.request.get("url", "")), error=error)
        yield Checkpoint(write=partial(_store, run, report, page), is_last=True)

    def state_changed(self, job: Job) -> None:
        if job.state == State.FAILED:
            run_interrupted(job=job)


def _store(run: SyncRun, report: RunReport, page: FetchedItem | None) -> None:
    if page is not None:
        try:
            with transaction.atomic():
                report.new += page_register(run=run, page=page)
        except RagError as error:
            report.fault(source=str(run.request["url"]), error=error)
    report_store(run.pk, report)
