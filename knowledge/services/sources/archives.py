"""Register every file of an archive as a document (U6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from django.db import transaction

from accounts.models import User
from accounts.scope import Scope
from knowledge.errors import NothingTakenError
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import DocumentVersion, IngestJob, KnowledgeSet, Source
from knowledge.services.documents import items_add, job_hold, job_work, upload_check
from knowledge.services.registration import (
    DEFAULT_SOURCE,
    Arrival,
    clearance_check,
    document_register,
    sets_owned,
    source_ensure,
)
from knowledge.services.sources.sync_report import RunReport
from ragcore.errors import RagError

INSIDE = "!/"  # between the name of an archive and the path in it


@dataclass(frozen=True, slots=True)
class ArchiveUpload:
    """`document_ids` in the order of the archive; the job's report names what was refused."""

    job: IngestJob
    document_ids: tuple[int, ...]
    refused: int


def archive_upload(
    *,
    scope: Scope,
    actor: User,
    sets: Sequence[int],
    name: str,
    content: bytes,
    source: str = DEFAULT_SOURCE,
    external_id: str = "",
    clearance: int = 0,
    metadata: Mapping[str, Any] | None = None,
    tags: Sequence[str] = (),
) -> ArchiveUpload:
    """Register every file of an archive under one job; external ids are `name!/path`, so a newer one replaces it.

    Raises UploadTooLargeError, UnsafeArchiveError, PasswordProtectedError, CorruptDocumentError, NothingTakenError
    and what an upload raises for sets and clearance. A file inside that cannot be taken is refused alone.
    """
    from ragcore.parsing.archive.parser import unpack_in_sandbox

    clearance_check(scope=scope, clearance=clearance)
    owned = sets_owned(scope=scope, set_ids=sets)
    home = source_ensure(tenant_id=owned[0].tenant_id if owned else scope.tenant_id, name=source)
    upload_check(name=name, size_bytes=len(content))
    unpacking = _Unpacking(scope=scope, actor=actor, sets=owned, source=home)
    for member in unpack_in_sandbox(content, name=name):
        arrival = Arrival(
            name=PurePosixPath(member.path).name,
            content=member.content,
            sets=owned,
            external_id=f"{external_id or name}{INSIDE}{member.path}"[-512:],
            clearance=clearance,
            metadata={**(metadata or {}), "archive": name},
            tags=tags,
            sent_as=member.path,
        )
        unpacking.take(member.path, arrival)
    return unpacking.done()


class _Unpacking:
    """The members of one archive, registered one by one; a job is made with the first that is to be read."""

    def __init__(self, *, scope: Scope, actor: User, sets: Sequence[KnowledgeSet], source: Source) -> None:
        self._scope, self._actor, self._sets, self._source = scope, actor, sets, source
        self._report = RunReport()
        self._documents: list[int] = []
        self._job: IngestJob | None = None
        self._first: RagError | None = None  # why the first member was not taken

    def take(self, path: str, arrival: Arrival) -> None:
        self._report.found += 1
        try:
            upload_check(name=arrival.name, size_bytes=len(arrival.content))
            self._register(arrival)
        except RagError as error:
            self._report.refuse(path=path, error=error)
            self._first = self._first or error

    def done(self) -> ArchiveUpload:
        """Raises NothingTakenError with the first reason where no member was taken."""
        if not self._documents:
            raise NothingTakenError("first", cause=self._first) if self._first else NothingTakenError
        job = self._job or self._job_create()  # nothing to read: all of it was here already
        IngestJob.objects.filter(pk=job.pk).update(report=self._report.json())
        job_work(job, workers=1 + len(self._documents) // 16)
        return ArchiveUpload(job, tuple(self._documents), self._report.refused_total)

    @transaction.atomic
    def _register(self, arrival: Arrival) -> None:
        if self._job is not None:
            job_hold(self._job)
        done = document_register(scope=self._scope, actor=self._actor, arrival=arrival, source=self._source)
        if done.version is not None:
            self._add(done.version)
        if done.merged:
            epoch_advance(tenant_id=self._source.tenant_id)
        self._documents.append(done.document.pk)

    def _add(self, version: DocumentVersion) -> None:
        self._job = self._job or self._job_create()
        items_add(self._job, [version])
        self._report.new += 1

    def _job_create(self) -> IngestJob:
        return IngestJob.objects.create(tenant_id=self._source.tenant_id, created_by=self._actor)
