"""Reads a file of facts into its knowledge set."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from knowledge.models import TripleImport
from knowledge.queue import IMPORT_TRIPLES
from knowledge.services.triple_files import (
    batch_store,
    import_batches,
    import_begin,
    import_finish,
    words_of_import_settle,
)
from work.kinds import Checkpoint, JobKind, job_kind
from work.models import Job, State


@job_kind
class ImportTriples(JobKind):
    """One file, read from its beginning after a kill: a fact that is stored is not stored again."""

    name = IMPORT_TRIPLES
    label = _("Import of facts")
    queue = "nightly"
    slice_seconds = math.inf
    at_once = 1
    ends_with_author = False

    def run(self, job: Job) -> Iterator[Checkpoint]:
        row = _import(job)
        if row is None:  # it was deleted
            return
        yield Checkpoint(done=0, total=row.size_bytes, write=partial(import_begin, row))
        total = 0
        try:
            for batch in import_batches(row):
                total += len(batch.rows)
                yield Checkpoint(done=batch.end, write=partial(batch_store, row, batch))
        except FileNotFoundError:
            total = 0
        words_of_import_settle(row)
        yield Checkpoint(write=partial(import_finish, row, total=total), is_last=True)

    def state_changed(self, job: Job) -> None:
        """What was stored of an import that has failed or was cancelled stays; its file stays for another try."""
        is_over = job.state in (State.FAILED, State.CANCELLED)
        state = TripleImport.State.FAILED if is_over else TripleImport.State.QUEUED
        rows = TripleImport.objects.filter(pk=job.arguments["import_id"]).exclude(file="")
        rows.update(state=state, finished=timezone.now() if is_over else None)

    def subject_words(self, job: Job) -> str:
        """The name of the file."""
        return TripleImport.objects.filter(pk=job.arguments["import_id"]).values_list("name", flat=True).first() or ""


def _import(job: Job) -> TripleImport | None:
    rows = TripleImport.objects.filter(pk=job.arguments["import_id"]).select_related("knowledge_set", "actor")
    return rows.first()
