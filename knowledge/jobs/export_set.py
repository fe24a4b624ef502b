"""Writes a knowledge set into one file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from functools import partial

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.selectors import scope_for
from knowledge.model_registry import embedder
from knowledge.models import SetFile
from knowledge.queue import EXPORT_SET
from knowledge.services.set_files.exporting import (
    export_finish,
    next_documents,
    part_write,
    set_exportable,
    set_write,
    writer_of,
)
from work.kinds import Checkpoint, JobKind, job_kind
from work.models import Job, State


@job_kind
class ExportSet(JobKind):
    """Some documents a checkpoint. What was written behind the last one is cut off and written again."""

    name = EXPORT_SET
    label = _("Export of a knowledge set")
    queue = "nightly"
    at_once = 2
    needs_author = True
    most_unknown_failures = 3

    def run(self, job: Job) -> Iterator[Checkpoint]:
        row = SetFile.objects.filter(pk=job.arguments["file_id"]).first()
        if row is None or job.author is None or row.knowledge_set_id is None:
            return
        scope = scope_for(job.author)
        knowledge_set = set_exportable(scope=scope, set_id=row.knowledge_set_id)
        counts: Counter[str] = Counter(job.checkpoint.get("counts", {}))
        after, number = job.checkpoint.get("after", 0), job.checkpoint.get("number", 0)
        with closing(writer_of(row, job.checkpoint)) as writer:
            while documents := next_documents(scope=scope, knowledge_set=knowledge_set, after=after):
                number, after = number + 1, documents[-1].pk
                counts.update(part_write(writer, documents, number=number, scope=scope, model=embedder().model))
                reached = {**writer.settle(), "after": after, "number": number, "counts": dict(counts)}
                yield Checkpoint(data=reached, done=counts["documents"])
            counts.update(set_write(writer, scope=scope, actor=job.author, row=row))
            ids = [pk for part in writer.parts for pk in part.documents]
            yield Checkpoint(write=partial(export_finish, row, documents=ids, counts=counts), is_last=True)

    def state_changed(self, job: Job) -> None:
        state = job_state(job)
        SetFile.objects.filter(pk=job.arguments["file_id"]).update(
            state=state, finished=None if state == SetFile.State.WORKING else timezone.now()
        )

    def subject_words(self, job: Job) -> str:
        """The name of the file."""
        return SetFile.objects.filter(pk=job.arguments["file_id"]).values_list("name", flat=True).first() or ""


def job_state(job: Job) -> str:
    """How a file shows the state of its job, which is not done."""
    states = {State.FAILED: SetFile.State.FAILED, State.CANCELLED: SetFile.State.CANCELLED}
    return states.get(State(job.state), SetFile.State.WORKING)
