"""Reads a file that was attached to a question, and keeps its passages with their vectors."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from functools import partial

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from chat.attachments.reading import file_read, passages_store
from chat.models import Attachment
from chat.queue import READ_ATTACHMENT
from knowledge.errors import WorkerLostError, error_columns
from knowledge.services.ingestion.item_state import IngestionFaultError
from ragcore.errors import RagError, TransientError
from work.errors import InterruptedAgainError, JobLostError
from work.faults import known_fault
from work.fencing import job_writing
from work.kinds import Checkpoint, JobKind, job_kind
from work.models import UNKNOWN, Job, State

logger = logging.getLogger(__name__)


@job_kind
class ReadAttachment(JobKind):
    """One file. What is wrong with it is its verdict; a passing fault is shown with it until it is read."""

    name = READ_ATTACHMENT
    label = _("Reading of an attached file")
    queue = "ocr"  # where no long job of documents is before it, and pages can be recognised
    slice_seconds = math.inf
    most_failures = 9  # in about a quarter of an hour
    retry_seconds = 5.0

    def run(self, job: Job) -> Iterator[Checkpoint]:
        row = _reading(job).first()
        if row is None:  # it was removed
            return
        try:
            content = file_read(row, progress=partial(_progress, job))
        except JobLostError:
            raise
        except Exception as error:
            fault = known_fault(error)
            if fault is None:
                raise
            if isinstance(fault, TransientError):
                with job_writing(job):
                    _write(job, fault)
                raise
            yield Checkpoint(write=partial(_fail, job, fault), is_last=True)
            return
        yield Checkpoint(write=partial(passages_store, row.pk, content), is_last=True)

    def state_changed(self, job: Job) -> None:
        """A file whose job has failed by a passing fault may be read again (`attachment_retry`)."""
        if job.state not in (State.FAILED, State.CANCELLED):
            return
        if job.state == State.CANCELLED or job.error_code == InterruptedAgainError.code:
            _fail(job, WorkerLostError())
        elif job.error_code == UNKNOWN:
            _fail(job, IngestionFaultError())
        else:
            error = {"error_code": job.error_code, "error_data": job.error_data}
            _reading(job).update(state=Attachment.State.FAILED, can_retry=True, **error)

    def subject_words(self, job: Job) -> str:
        """Nothing: what a person has attached is theirs."""
        return ""


def _reading(job: Job) -> QuerySet[Attachment]:
    return Attachment.objects.filter(pk=job.arguments["attachment_id"], state=Attachment.State.READING)


def _progress(job: Job, count: int, total: int) -> None:
    """Store how many pages and pictures are recognised. Raises JobLostError."""
    with job_writing(job):
        _write(job, None, progress_done=count, progress_total=total)


def _fail(job: Job, error: RagError) -> None:
    _write(job, error, state=Attachment.State.FAILED)


def _write(job: Job, error: RagError | None, **values: object) -> None:
    _reading(job).update(**error_columns(error), **values)
