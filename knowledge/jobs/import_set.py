"""Reads a knowledge set from a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.selectors import scope_for
from knowledge.jobs.export_set import job_state
from knowledge.models import SetFile
from knowledge.queue import IMPORT_SET
from knowledge.services.set_files.identity import model_settle
from knowledge.services.set_files.set_arrival import SetArrival, arrival_of, document_parts, later_sections
from work.kinds import Checkpoint, JobKind, job_kind
from work.models import Job

VERIFIED_BYTES = 128 * 1024 * 1024  # of parts between two checkpoints


@job_kind
class ImportSet(JobKind):
    """First every part is compared with its SHA-256; then the set is made, filled, and opened.

    A part of documents and the checkpoint behind it are one transaction: after a kill nothing is there twice or in
    halves.
    """

    name = IMPORT_SET
    label = _("Import of a knowledge set")
    queue = "nightly"
    at_once = 2
    needs_author = True
    most_unknown_failures = 3

    def run(self, job: Job) -> Iterator[Checkpoint]:
        row = SetFile.objects.filter(pk=job.arguments["file_id"]).exclude(file="").first()
        if row is None or job.author is None:
            return
        arrival = arrival_of(scope=scope_for(job.author), actor=job.author, row=row)
        with arrival.reader:
            if "part" not in job.checkpoint:
                yield from _verified(arrival, job.checkpoint)
                model_settle(arrival.about.model)
                yield Checkpoint(data={"part": 0}, write=arrival.begin)
            yield from _filled(arrival, job)

    def state_changed(self, job: Job) -> None:
        """What was written of an import that has failed or was cancelled stays with its importer, as does its file."""
        state = job_state(job)
        rows = SetFile.objects.filter(pk=job.arguments["file_id"]).exclude(state=SetFile.State.DONE)
        rows.update(state=state, finished=None if state == SetFile.State.WORKING else timezone.now())

    def subject_words(self, job: Job) -> str:
        """The name of the file."""
        return SetFile.objects.filter(pk=job.arguments["file_id"]).values_list("name", flat=True).first() or ""


def _verified(arrival: SetArrival, checkpoint: Mapping[str, Any]) -> Iterator[Checkpoint]:
    """Every part is read once before anything is written."""
    names, read_bytes = sorted(arrival.reader.parts), 0
    for place in range(checkpoint.get("verified", 0), len(names)):
        arrival.reader.verify(names[place])
        read_bytes += arrival.reader.size_bytes(names[place])
        if read_bytes >= VERIFIED_BYTES:
            read_bytes = 0
            yield Checkpoint(data={"verified": place + 1})


def _filled(arrival: SetArrival, job: Job) -> Iterator[Checkpoint]:
    """The documents, part by part, then the sections. What was counted stands in the figures of the job."""
    stage = job.checkpoint.get("part", 0)
    counts: Counter[str] = Counter(job.figures.get("counts", {}))
    parts = list(document_parts(arrival.reader))
    for number, name in parts[stage:]:
        part = arrival.part_prepare(name)
        write = partial(_counted, counts, partial(arrival.part_write, part))
        yield Checkpoint(data={"part": number}, done=counts["documents"] + len(part.documents), write=write)
    for number, section in enumerate(later_sections(), len(parts) + 1):
        if number > stage:
            write = partial(_counted, counts, partial(arrival.section_store, section))
            yield Checkpoint(data={"part": number}, write=write)
    yield Checkpoint(write=partial(arrival.finish, counts), is_last=True)


def _counted(counts: Counter[str], write: Callable[[], Mapping[str, int]]) -> dict[str, Any]:
    """Write, and add up what was written; the figures of the job."""
    counts.update(write())
    return {"counts": dict(counts)}
