"""Exports: who may have one, its start, its parts, and the file that comes of it."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Max, Q, QuerySet
from django.utils import timezone

from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.disk_space import space_require
from knowledge.models import Document, KnowledgeSet, SetFile
from knowledge.queue import EXPORT_SET
from knowledge.selectors import set_owned
from knowledge.selectors.keeping import documents_kept, documents_openable
from knowledge.selectors.set_files import set_file_get
from knowledge.services.originals import original_fault
from knowledge.services.set_files.about_set import PEOPLE, SET, set_written
from knowledge.services.set_files.container import FORMAT, VERSION, PartsWriter, list_path
from knowledge.services.set_files.documents_out import (
    Batch,
    batch_read,
    file_exists,
    original_pieces,
    picture_pieces,
    picture_sha256,
)
from knowledge.services.set_files.people import people_leaving
from knowledge.services.set_files.sections import Leaving, SetSection, sections
from knowledge.set_file_errors import SetFileStateError, SetNotExportableError
from work.services import work_start

FOLDER = "set_files"  # of the storage; the purge of originals leaves it alone
BATCH_DOCUMENTS = 50  # of a part
BATCH_ENTRIES = 2000  # or so many, whichever comes first
State = SetFile.State


# ── rights ──────────────────────────────────────────────────────────────────────────────────────


def set_exportable(*, scope: Scope, set_id: int) -> KnowledgeSet:
    """A set that the asker may export: keeps it, may open all of its documents, and know all of their readers.

    Raises NotFoundError, NotAllowedError, SetNotExportableError.
    """
    knowledge_set = set_owned(scope=scope, set_id=set_id)
    members = Document.objects.filter(sets=knowledge_set, deleted=None)
    openable = documents_openable(scope=scope).order_by().values("pk")
    kept_rows = documents_kept(scope=scope).order_by().values("pk")
    with_readers = Q(readers__isnull=False) | Q(source_readers__isnull=False)
    if members.exclude(pk__in=openable).exists() or members.filter(with_readers).exclude(pk__in=kept_rows).exists():
        raise SetNotExportableError
    return knowledge_set


@transaction.atomic
def set_export_start(*, scope: Scope, actor: User, set_id: int) -> SetFile:
    """Queue an export; the one of the asker that is under way, where there is one.

    Raises NotFoundError, NotAllowedError, SetNotExportableError, StorageFullError.
    """
    knowledge_set = set_exportable(scope=scope, set_id=set_id)
    of_set = SetFile.objects.filter(kind=SetFile.Kind.EXPORT, knowledge_set=knowledge_set, actor=actor)
    if open_export := of_set.filter(state=State.WORKING).first():
        return open_export
    space_require()
    row = SetFile.objects.create(
        tenant_id=knowledge_set.tenant_id,
        kind=SetFile.Kind.EXPORT,
        state=State.WORKING,
        knowledge_set=knowledge_set,
        actor=actor,
        name=f"{knowledge_set.code}.set.zip",
        file=f"{FOLDER}/{knowledge_set.tenant_id}/{uuid.uuid4().hex}.zip",
    )
    total = documents_leaving(scope=scope, knowledge_set=knowledge_set).count()
    arguments = {"file_id": row.pk}
    work_start(
        kind=EXPORT_SET,
        tenant_id=row.tenant_id,
        author=actor,
        subject=row.subject,
        arguments=arguments,
        total=total,
    )
    audit_record(actor=actor, action="set.export", target=knowledge_set.code, set=knowledge_set.pk, documents=total)
    return row


def export_open(*, scope: Scope, actor: User, file_id: int) -> tuple[SetFile, File[Any]]:
    """A finished export for its download, for those who could make it now.

    Raises NotFoundError, NotAllowedError, SetNotExportableError, SetFileStateError.
    """
    row = set_file_get(scope=scope, file_id=file_id)
    if row.kind != SetFile.Kind.EXPORT or row.state != State.DONE:
        raise SetFileStateError("unfinished")
    if row.knowledge_set_id is None or not file_exists(row.file):
        raise SetFileStateError("expired")
    set_exportable(scope=scope, set_id=row.knowledge_set_id)
    if scope.administers != "everything" and row.clearance > scope.clearance:
        raise SetNotExportableError
    audit_record(actor=actor, action="set.export_download", target=row.name, set=row.knowledge_set_id)
    return row, default_storage.open(row.file, "rb")


# ── parts ───────────────────────────────────────────────────────────────────────────────────────


def documents_leaving(*, scope: Scope, knowledge_set: KnowledgeSet) -> QuerySet[Document]:
    """Searchable documents of the set that the asker may open, by id."""
    rows = documents_openable(scope=scope).filter(sets=knowledge_set, live_version__isnull=False)
    return rows.order_by("pk")


def next_documents(*, scope: Scope, knowledge_set: KnowledgeSet, after: int) -> list[Document]:
    """The documents of the next part, above an id."""
    rows = documents_leaving(scope=scope, knowledge_set=knowledge_set).filter(pk__gt=after)
    counts = list(rows.values_list("pk", "entries")[:BATCH_DOCUMENTS])
    chosen: list[int] = []
    entries = 0
    for pk, number in counts:
        if chosen and entries + number > BATCH_ENTRIES:
            break
        chosen.append(pk)
        entries += number
    rows_of_part = Document.objects.filter(pk__in=chosen).select_related("live_version").order_by("pk")
    return list(rows_of_part.prefetch_related("live_version__pictures"))


def writer_of(row: SetFile, checkpoint: Mapping[str, Any]) -> PartsWriter:
    """The writer of an export from its checkpoint. Raises SetFileBusyError, SetFileInvalidError."""
    path = Path(default_storage.path(row.file))
    return PartsWriter(path, reached=checkpoint.get("reached", 0), listed=checkpoint.get("listed", 0))


def part_write(
    writer: PartsWriter, documents: Sequence[Document], *, number: int, scope: Scope, model: str
) -> dict[str, int]:
    """Write documents with their originals, pictures, vectors; counts by name."""
    batch = batch_read(documents, scope=scope, model=model)
    counts: Counter[str] = Counter()
    for document, line in zip(batch.documents, batch.lines, strict=True):
        counts.update(_files_write(writer, document, line))
    name = f"{number:06d}"
    writer.add(f"vectors/{name}.f16", [batch.vectors.tobytes()])
    writer.add(f"sentences/{name}.bin", [batch.sentences])
    ids = [document.pk for document in documents]
    writer.add(f"documents/{name}.jsonl", _json_lines(batch), documents=ids)
    return {**counts, "documents": len(ids)}


def _json_lines(batch: Batch) -> Iterator[bytes]:
    for line in batch.lines:
        yield line_bytes(line)


def line_bytes(line: Mapping[str, Any]) -> bytes:
    """One line of a part."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _files_write(writer: PartsWriter, document: Document, line: Mapping[str, Any]) -> dict[str, int]:
    """Originals and pictures, each content once; an original that is missing or damaged here does not travel."""
    version = document.live_version
    assert version is not None
    name = f"files/{version.sha256}"
    if line["version"]["has_file"] and original_fault(version):
        line["version"]["has_file"] = False
        return {"originals_missing": 1}
    if line["version"]["has_file"] and name not in writer.names:
        writer.add(name, original_pieces(document))
    for picture in version.pictures.all():
        content = f"files/{picture_sha256(picture)}"
        if content not in writer.names:
            writer.add(content, picture_pieces(picture))
    return {}


def section_write(writer: PartsWriter, section: SetSection, leaving: Leaving) -> int:
    """Write a section; the number of its lines. A section without any has no part."""
    lines = [line_bytes(line) for line in section.lines(leaving)]
    if lines:
        writer.add(f"sections/{section.name}.jsonl", lines, is_large=False)
    return len(lines)


def set_write(writer: PartsWriter, *, scope: Scope, actor: User, row: SetFile) -> dict[str, int]:
    """Write the sections, the set, its people, and finish the file; the number of lines by section."""
    knowledge_set = set_exportable(scope=scope, set_id=row.knowledge_set_id or 0)
    ids = [pk for part in writer.parts for pk in part.documents]
    leaving = Leaving(scope=scope, actor=actor, knowledge_set=knowledge_set, documents=frozenset(ids))
    counts = {section.name: section_write(writer, section, leaving) for section in sections()}
    counts = {name: count for name, count in counts.items() if count}
    about = set_written(knowledge_set, documents=ids, sections=counts, options=knowledge_set.options)
    writer.add(SET, [line_bytes(about)], is_large=False)
    writer.add(PEOPLE, [line_bytes(people_leaving(knowledge_set, documents=ids))], is_large=False)
    writer.settle()
    writer.finish({"format": FORMAT, "version": VERSION, "created": timezone.now().isoformat()})
    return counts


def export_finish(row: SetFile, *, documents: Sequence[int], counts: Mapping[str, int]) -> None:
    """Note that an export is done; its file can be downloaded. Called in the transaction of the last checkpoint."""
    path = Path(default_storage.path(row.file))
    highest = Document.objects.filter(pk__in=documents).aggregate(highest=Max("clearance"))["highest"] or 0
    SetFile.objects.filter(pk=row.pk).update(
        state=State.DONE,
        size_bytes=path.stat().st_size,
        clearance=highest,
        summary={"counts": {**counts, "documents": len(documents)}},
        finished=timezone.now(),
    )
    transaction.on_commit(lambda: list_path(path).unlink(missing_ok=True))
