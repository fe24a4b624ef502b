"""Folders as sources, where the operator allows it and never out of them by a link; files of archives."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile, File
from django.db import transaction

from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.connectors import FetchedItem, Item, Stamp, UnreadableItem
from knowledge.errors import (
    FolderUnreadableError,
    ItemUnreadableError,
    NothingTakenError,
    OutsideFolderError,
)
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
from knowledge.services.reviews import reviews_arrived
from knowledge.services.sources.sync_runs import RunReport
from ragcore.errors import RagError

INSIDE = "!/"  # between the name of an archive and the path in it


def folder_items(root: Path) -> Iterator[Item | UnreadableItem]:
    """Files below a folder in the order of their names; what is hidden is left out.

    Links to files inside are followed; links to folders are not, since what lies inside is listed where it is.
    Raises FolderUnreadableError where the folder itself cannot be listed.
    """
    if not root.is_dir():
        raise FolderUnreadableError
    yield from _below(root, root)


def _below(root: Path, folder: Path) -> Iterator[Item | UnreadableItem]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        if folder == root:
            raise FolderUnreadableError from error
        yield _unlisted(root, folder, FolderUnreadableError("subfolder"), hides=True)
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _below(root, path)
        elif entry.is_symlink() and not _is_inside(root, path):
            yield _unlisted(root, path, OutsideFolderError())
        elif not path.is_dir():
            yield _item(root, path)


def _item(root: Path, path: Path) -> Item | UnreadableItem:
    try:
        found = path.stat()
        name = str(path.relative_to(root))
        name.encode()
    except (OSError, UnicodeEncodeError):
        return _unlisted(root, path, ItemUnreadableError())
    if not stat.S_ISREG(found.st_mode):
        return _unlisted(root, path, ItemUnreadableError("not_a_file"))
    return Item(
        external_id=name.replace(os.sep, "/"),
        name=path.name,
        stamp=_stamp(found),
        read=lambda known: _read(root, path),
    )


def _read(root: Path, path: Path) -> FetchedItem:
    """The bytes of a file that is still inside, opened without following a link that was put there meanwhile."""
    real = path.resolve()
    descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not (_is_inside(root, real) and os.path.samestat(found, real.stat()) and stat.S_ISREG(found.st_mode)):
            raise OSError(OutsideFolderError.default_message)
        upload_check(name=path.name, size_bytes=found.st_size)
        content = file.read(settings.MAX_UPLOAD_BYTES + 1)
    upload_check(name=path.name, size_bytes=len(content))
    return FetchedItem(name=path.name, content=content, stamp=_stamp(found))


def _stamp(found: os.stat_result) -> Stamp:
    return {"size": found.st_size, "mtime_ns": found.st_mtime_ns}


def _is_inside(root: Path, path: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # a ring of links
        return False


def _unlisted(root: Path, path: Path, error: RagError, *, hides: bool = False) -> UnreadableItem:
    shown = str(path.relative_to(root)).encode("utf-8", "replace").decode()
    return UnreadableItem(path=shown, error=error, hides=hides)


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
    content: bytes | File[bytes],
    source: str = DEFAULT_SOURCE,
    external_id: str = "",
    clearance: int = 0,
    metadata: Mapping[str, Any] | None = None,
    tags: Sequence[str] = (),
    review_by: date | None = None,
) -> ArchiveUpload:
    """Register every file of an archive under one job; external ids are `name!/path`, so a newer one replaces it.

    Raises UploadTooLargeError, UnsafeArchiveError, PasswordProtectedError, CorruptDocumentError, NothingTakenError
    and what an upload raises for sets and clearance. A file inside that cannot be taken is refused alone.
    """
    from ragcore.parsing.archive.parser import members_in_sandbox

    clearance_check(scope=scope, clearance=clearance)
    owned = sets_owned(scope=scope, set_ids=sets)
    home = source_ensure(tenant_id=owned[0].tenant_id if owned else scope.tenant_id, name=source)
    file = ContentFile(content) if isinstance(content, bytes) else content
    upload_check(name=name, size_bytes=file.size)
    unpacking = _Unpacking(scope=scope, actor=actor, sets=owned, source=home)
    for member in members_in_sandbox(file.chunks(), name=name):
        arrival = Arrival(
            name=PurePosixPath(member.path).name,
            content=File(member.file),
            sets=owned,
            external_id=f"{external_id or name}{INSIDE}{member.path}"[-512:],
            clearance=clearance,
            metadata={**(metadata or {}), "archive": name},
            tags=tags,
            sent_as=member.path,
            review_by=review_by,
        )
        unpacking.take(member.path, arrival)
    done = unpacking.done()
    documents = len(done.document_ids)
    audit_record(actor=actor, action="documents.upload", target=name, job=done.job.pk, documents=documents)
    return done


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
            upload_check(name=arrival.name, size_bytes=arrival.size_bytes)
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
        if arrival.review_by is not None:
            reviews_arrived(arrived={done.document.pk: arrival.review_by})
        if done.version is not None:
            self._add(done.version)
        if done.merged:
            epoch_advance(tenant_id=self._source.tenant_id, documents=[done.document.pk])
        self._documents.append(done.document.pk)

    def _add(self, version: DocumentVersion) -> None:
        self._job = self._job or self._job_create()
        items_add(self._job, [version])
        self._report.new += 1

    def _job_create(self) -> IngestJob:
        return IngestJob.objects.create(tenant_id=self._source.tenant_id, created_by=self._actor)
