"""Imports of facts that workers read, for these tests."""

from __future__ import annotations

from knowledge.models import TripleImport
from knowledge.queue import IMPORT_TRIPLES
from work.models import Job
from work.runner import slice_run


def import_job(row: TripleImport) -> Job:
    """The background job of an import."""
    return Job.objects.get(kind=IMPORT_TRIPLES, subject=f"import:{row.pk}")


def import_read(row: TripleImport) -> None:
    """Let a worker read the file of an import."""
    slice_run(job_id=import_job(row).pk)
