"""Files of triples: kept until a worker has read them, then read line by line into their knowledge set.

A thread reads lines and cuts words ahead while the database stores the batch before, so that both cores work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import IO, ClassVar, TypeVar

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from accounts.error_messages import error_message
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge import model_registry
from knowledge.disk_space import space_require
from knowledge.indexes.graph_triples import (
    NewTriple,
    TripleRow,
    triple_row,
    triple_rows_store,
    words_settle,
)
from knowledge.indexes.index_maintenance import tables_analyse
from knowledge.models import Triple, TripleImport
from knowledge.queue import IMPORT_TRIPLES, READ_FACTS
from knowledge.selectors.sets import set_curated
from ragcore.errors import PermanentError, Sentence
from ragcore.graph.files import (
    FORMAT_OF_ENDING,
    MAX_LINE_BYTES,
    MAX_NAME,
    LineFault,
    TripleFormat,
    bounded_lines,
    read_triples,
)
from ragcore.text.csv_rows import unescaped_cell
from work.queue import due_enqueue
from work.services import work_start

State = TripleImport.State
BATCH_ROWS = 8000  # facts of a file a transaction
BATCH_BYTES = 4 * 1024 * 1024  # of the file, whichever comes first
AHEAD = 2  # batches that are read while one is stored
SHOWN_FAULTS = 100  # faulty lines that are kept with their message
READ_BYTES = 256 * 1024
FOLDER = "triples"
T = TypeVar("T")


class TripleFileError(PermanentError):
    """The file cannot be an import of triples at all."""

    code = "unsupported_triple_file"
    default_message = "Triples are imported from .csv, .tsv, .nt, .jsonl and .ndjson files."


class BadTripleError(PermanentError):
    """A line is no triple."""

    code = "invalid_triple"
    default_message = "The line is not a valid triple."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "too_long": "The line is longer than %(limit_kb)s KB.",
        "encoding": "The line is not UTF-8.",
        "not_json": "The line is not valid JSON.",
        "not_an_object": "The line must be a JSON object.",
        "missing": "Subject, relation and object are needed; missing: %(detail)s.",
        "name_too_long": "The %(detail)s is longer than %(limit)s characters.",
        "unknown_fields": "Unknown fields: %(detail)s.",
        "not_text": "The line has a value that is not text.",
        "syntax": "The line cannot be parsed: wrong quotes, brackets or full stop.",
        "columns": "The row has %(detail)s columns.",
        "set": "The knowledge set must be a number.",
    }


def fault_error(fault: LineFault) -> BadTripleError:
    """The fault of a line as an error with its sentence."""
    return BadTripleError(fault.code, detail=fault.detail, limit=MAX_NAME, limit_kb=MAX_LINE_BYTES // 1024)


def fault_row(line: int, error: PermanentError) -> dict[str, object]:
    """A faulty line as answers and pages show it."""
    return {"line": line, "code": error.code, "message": error_message(error)[:300]}


def import_recorded(actor: User, row: TripleImport) -> None:
    audit_record(
        actor=actor, action="triples.import", target=row.knowledge_set.code, set=row.knowledge_set_id,
        triples=row.accepted, rejected=row.rejected,
    )  # fmt: skip


def triple_format(name: str) -> TripleFormat:
    """By the ending of a file. Raises TripleFileError."""
    format_of_file = FORMAT_OF_ENDING.get(PurePath(name).suffix.lower())
    if format_of_file is None:
        raise TripleFileError
    return format_of_file


@transaction.atomic
def import_start(*, scope: Scope, actor: User, set_id: int, name: str, content: IO[bytes]) -> TripleImport:
    """Keep a file and queue its import. Raises NotFoundError, NotAllowedError, TripleFileError, StorageFullError."""
    into = set_curated(scope=scope, set_id=set_id)
    form = triple_format(name)
    space_require()
    stored = default_storage.save(f"{FOLDER}/{into.tenant_id}/{into.pk}", File(content))
    row = TripleImport.objects.create(
        tenant_id=into.tenant_id, knowledge_set=into, actor=actor, name=PurePath(name).name[:255], format=form,
        file=stored, size_bytes=default_storage.size(stored),
    )  # fmt: skip
    work_start(
        kind=IMPORT_TRIPLES,
        tenant_id=into.tenant_id,
        author=actor,
        subject=f"import:{row.pk}",
        arguments={"import_id": row.pk},
        total=row.size_bytes,
    )
    return row


@dataclass(slots=True)
class ImportBatch:
    """What a part of a file brought; `end`: bytes that were read when it was full."""

    rows: list[TripleRow] = field(default_factory=list)
    rejected: int = 0
    faults: list[LineFault] = field(default_factory=list)
    end: int = 0


def import_batches(row: TripleImport) -> Iterator[ImportBatch]:
    """The whole file of an import, part by part. Raises FileNotFoundError."""
    with default_storage.open(row.file, "rb") as content:
        yield from _read_ahead(_batches(content, row))


def import_begin(row: TripleImport) -> None:
    """Set the counts of an import back; facts that are stored already stay as they are."""
    row.state, row.accepted, row.rejected, row.faults, row.read_bytes = State.RUNNING, 0, 0, [], 0
    TripleImport.objects.filter(pk=row.pk).update(state=row.state, accepted=0, rejected=0, faults=[], read_bytes=0)


@transaction.atomic
def batch_store(row: TripleImport, batch: ImportBatch) -> None:
    """Store facts and counts of a part; nothing of an import that was deleted meanwhile."""
    if not TripleImport.objects.select_for_update().filter(pk=row.pk).exists():
        return
    row.accepted += triple_rows_store(batch.rows, tenant_id=row.tenant_id, source_id=row.pk)
    row.read_bytes = batch.end
    row.rejected += batch.rejected
    room = SHOWN_FAULTS - len(row.faults)
    row.faults += [fault_row(fault.line, fault_error(fault)) for fault in batch.faults[:room]]
    row.save(update_fields=["accepted", "read_bytes", "rejected", "faults"])


def words_of_import_settle(row: TripleImport) -> None:
    """Make a large import quick to search before the next maintenance."""
    if Triple.objects.filter(source=row).count() >= BATCH_ROWS // 4:
        words_settle()
        tables_analyse()


@transaction.atomic
def import_finish(row: TripleImport, *, total: int) -> None:
    """Store how an import has ended, and forget its file; nothing where it was deleted meanwhile.

    `total`: facts that were read; 0: it has failed.
    """
    if not TripleImport.objects.select_for_update().filter(pk=row.pk).exists():
        return
    row.state = State.FAILED if not total else State.PARTIAL if row.rejected else State.SUCCEEDED
    row.accepted = Triple.objects.filter(source=row).count()
    row.duplicates = max(0, total - row.accepted)
    row.finished = timezone.now()
    row.save()
    transaction.on_commit(lambda: default_storage.delete(row.file))
    if row.actor is not None:
        import_recorded(row.actor, row)
    due_enqueue(READ_FACTS)


def _batches(content: IO[bytes], row: TripleImport) -> Iterator[ImportBatch]:
    """The whole file; it touches no database."""
    tokenizer = model_registry.tokenizer()
    batch, begin, read = ImportBatch(), 0, 0

    def chunks() -> Iterator[bytes]:
        nonlocal read
        while chunk := content.read(READ_BYTES):
            read += len(chunk)
            yield chunk

    for line in read_triples(bounded_lines(chunks()), row.format, read_cell=unescaped_cell):  # type: ignore[arg-type]
        if isinstance(line, LineFault):
            batch.rejected += 1
            if len(batch.faults) < SHOWN_FAULTS:
                batch.faults.append(line)
        else:
            batch.rows.append(triple_row(NewTriple(set_id=row.knowledge_set_id, triple=line.triple), tokenizer))
        batch.end = read
        if len(batch.rows) >= BATCH_ROWS or read - begin >= BATCH_BYTES:
            yield batch
            batch, begin = ImportBatch(), read
    batch.end = read
    yield batch


def _read_ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items, made by a thread of their own while the caller works on those before."""
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="triples") as thread:
        waiting = deque(thread.submit(next, items, None) for _ in range(AHEAD))
        while (item := waiting.popleft().result()) is not None:
            waiting.append(thread.submit(next, items, None))
            yield item
