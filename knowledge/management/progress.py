"""Showing on a terminal how ingestion goes on."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TextIO

from django.db.models import Count, Q

from accounts.scope import Scope
from knowledge.models import IngestItem
from knowledge.selectors import job_get
from knowledge.types import JobStatus

POLL_SECONDS = 0.5
WIDTH = 30  # characters of the bar


@dataclass
class ProgressLine:
    """One line that is rewritten on a terminal; elsewhere (files, CI) only the last state is written."""

    title: str
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    line: str = ""

    def show(self, count: int, total: int, note: str = "") -> None:
        filled = WIDTH * count // max(total, 1)
        self.line = f"{self.title} {'█' * filled}{'░' * (WIDTH - filled)} {count}/{total} {note}".rstrip()
        if self.stream.isatty():
            self.stream.write(f"\r\x1b[K{self.line}")
            self.stream.flush()

    def close(self) -> None:
        self.stream.write("\n" if self.stream.isatty() else f"{self.line}\n")


def jobs_wait(*, scope: Scope, job_ids: Sequence[int]) -> list[JobStatus]:
    """Wait until all jobs are over and return those with failures. Ctrl-C ends only the waiting.

    The worker must be running: this process ingests nothing.
    """
    line, items = ProgressLine("Ingesting"), IngestItem.objects.filter(job__in=job_ids)
    try:
        while True:
            counts = items.aggregate(total=Count("id"), over=Count("id", filter=Q(finished__isnull=False)))
            line.show(counts["over"], counts["total"])
            if counts["over"] == counts["total"]:
                break
            time.sleep(POLL_SECONDS)
    finally:
        line.close()
    failed = items.filter(stage=IngestItem.Stage.FAILED).order_by("job_id").values_list("job", flat=True).distinct()
    return [job_get(scope=scope, job_id=job_id) for job_id in failed]
