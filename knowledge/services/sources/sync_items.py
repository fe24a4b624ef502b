"""Items of a source: synchronise them one by one, and delete missing documents at the end."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db import transaction

from accounts.models import MAX_CLEARANCE
from accounts.scope import Scope
from knowledge.connectors.items import (
    FetchedItem,
    Item,
    Listed,
    ListEnd,
    RemovedItem,
    Stamp,
    UnchangedItem,
    UnreadableItem,
)
from knowledge.errors import (
    ItemUnreadableError,
    LeftOutError,
    LimitReachedError,
    NotDeletedError,
    SupersededError,
)
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import Document, IngestJob, Source
from knowledge.services.composition import glob_matches
from knowledge.services.deletion import documents_withdraw
from knowledge.services.documents import items_add, job_work, upload_check
from knowledge.services.handlers import Handler, arrival_refusal, handler_value
from knowledge.services.names import document_rename
from knowledge.services.registration import Arrival, document_register
from knowledge.services.relations.connectors import item_relations_write
from knowledge.services.sources.sync_runs import RunReport
from knowledge.types import SourceOptions, strictly
from ragcore.errors import RagError
from work.fencing import job_writing
from work.models import Job

CALL_WORKERS_EVERY = 20  # versions: reading them begins while others are still fetched
FEW = 10  # documents that may always be deleted, whatever their share
UNWANTED = (LeftOutError, SupersededError)


def source_scope(source: Source) -> Scope:
    """The authority of a source over its own documents, whoever owns the sets in which they stand."""
    return Scope(
        tenant_id=source.tenant_id, user_id=source.owner_id or 0, clearance=MAX_CLEARANCE, administers="tenant"
    )


class ItemSync:
    """One run of one source. `take` each item, which raises JobLostError once the run is over, then `finish`."""

    def __init__(self, *, job: IngestJob, work: Job, source: Source, report: RunReport) -> None:
        self.job, self.work, self.source, self.report = job, work, source, report
        self.options = strictly(SourceOptions, source.options)
        self.handler = handler_value(source.handler) if source.handler else Handler()
        self._scope = source_scope(source)
        self._seen: set[int] = set()
        self._removed: list[str] = []
        self._end: ListEnd | None = None
        self._is_complete = True
        self._called_for = self._versions = 0

    def take(self, item: Listed) -> bool:
        """Process one item; False if the limit of the source is reached."""
        match item:
            case ListEnd():
                self._end = item
                return True
            case RemovedItem():
                self._removed.append(item.external_id)
                return True
            case UnchangedItem():
                self._seen.add(_key(item.external_id))
                self.report.found += 1
                return True
            case _:
                return self._take_present(item)

    def _take_present(self, item: Item | UnreadableItem) -> bool:
        if isinstance(item, UnreadableItem):
            self._is_complete &= not item.hides
            self.report.found += 1
            self._seen.add(_key(item.path))  # it is there, though it cannot be taken
            self.report.refuse(path=item.path, error=item.error)
            return True
        if not self._is_wanted(item.external_id):
            return True
        if len(self._seen) >= self.options.max_documents:
            self._is_complete = False
            self._note(LimitReachedError("documents", limit=self.options.max_documents))
            return False
        self._seen.add(_key(item.external_id))
        self.report.found += 1
        try:
            self._take(item)
            item_relations_write(source=self.source, item=item, writing=partial(job_writing, self.work))
        except UNWANTED:
            self.report.left_out += 1
        except RagError as error:
            self.report.refuse(path=item.external_id, error=error)
        except OSError:
            self.report.refuse(path=item.external_id, error=ItemUnreadableError())
        return True

    def finish(self) -> None:
        """Call workers for the remaining versions; delete missing documents if the source is set to do so."""
        if self._versions > self._called_for:
            self._call_workers()
        if self.options.delete_missing:
            self._delete_missing()
        if self._end is not None and self._is_complete:
            with job_writing(self.work):
                cursor_store(source_id=self.source.pk, cursor=self._end.cursor)

    def _is_wanted(self, path: str) -> bool:
        included = not self.options.include or glob_matches(path, self.options.include)
        return included and not glob_matches(path, self.options.exclude)

    def _take(self, item: Item) -> None:
        if item.was:
            self._move(item)
        document = self._known(item.external_id)
        last: Stamp = document.handled.get("seen", {}) if document else {}
        if last and last == item.stamp:
            return
        if refusal := arrival_refusal(
            source=self.source,
            handler=self.handler,
            path=item.external_id,
            name=item.name,
            metadata=self._metadata(item),
        ):
            raise refusal
        fetched = item.read(last)
        if fetched is None:
            return
        upload_check(name=fetched.name, size_bytes=len(fetched.content))
        sha256 = hashlib.sha256(fetched.content).hexdigest()
        if document and _has_content(document, sha256):
            with job_writing(self.work):
                stamp_store(document_id=document.pk, stamp=fetched.stamp)
                document_rename(document_id=document.pk, file_name=fetched.name, path=item.external_id)
            return
        self._register(item, fetched)
        self.report.changed += document is not None
        self.report.new += document is None

    def _known(self, external_id: str) -> Document | None:
        rows = Document.objects.filter(source=self.source, external_id=external_id, deleted=None)
        return rows.only("pk", "sha256", "handled").first()

    def _register(self, item: Item, fetched: FetchedItem) -> None:
        arrival = Arrival(
            name=fetched.name,
            content=fetched.content,
            sets=(),
            external_id=item.external_id,
            clearance=self.options.clearance,
            floor=0,
            title=item.title,
            metadata=self._metadata(item),
            tags=tuple(dict.fromkeys((*self.options.tags, *item.tags))),
            sent_as=item.external_id,
        )
        with job_writing(self.work):
            self._store(arrival, fetched.stamp)

    def _metadata(self, item: Item) -> dict[str, Any]:
        """What the source says about all of its documents, and about this one."""
        return {**self.options.metadata, **item.metadata}

    def _move(self, item: Item) -> None:
        """The document that had another id stays the same one, unless the new id is taken."""
        document = self._known(item.was)
        if document is None or self._known(item.external_id) is not None:
            return
        with job_writing(self.work):
            Document.objects.filter(pk=document.pk).update(external_id=item.external_id)
            document_rename(document_id=document.pk, file_name=item.name, path=item.external_id)

    def _store(self, arrival: Arrival, stamp: Stamp) -> None:
        registration = document_register(
            scope=self._scope, actor=self.source.owner, arrival=arrival, source=self.source
        )
        stamp_store(document_id=registration.document.pk, stamp=stamp)
        if registration.version is not None:
            items_add(self.job, [registration.version])
            self._versions += 1
        if self._versions - self._called_for >= CALL_WORKERS_EVERY:
            self._call_workers()
        if registration.merged:
            epoch_advance(tenant_id=self.source.tenant_id, documents=[registration.document.pk])

    def _call_workers(self) -> None:
        job_work(self.job, workers=1)
        self._called_for = self._versions

    def _delete_missing(self) -> None:
        """Delete documents that are gone, unless the list may be incomplete; then the report says so.

        Gone is what a list of changes names, or what a whole list does not.
        """
        is_whole = self._end is None or self._end.is_full
        removed = frozenset(map(_key, self._removed))
        here = Document.objects.filter(source=self.source, deleted=None).values_list("pk", "external_id")
        total, missing = 0, []
        for pk, external_id in here.iterator(chunk_size=2000):
            total += 1
            key = _key(external_id)
            if key in removed or (is_whole and key not in self._seen):
                missing.append(pk)
        if not missing:
            return
        if not self._is_complete:
            self._note(NotDeletedError())
        elif is_whole and not self._seen:
            self._note(NotDeletedError("empty"))
        elif len(missing) > max(FEW, total * self.options.delete_at_most_percent / 100):
            self._note(NotDeletedError("too_many", missing=len(missing), total=total))
        else:
            self.report.deleted += documents_withdraw(tenant_id=self.source.tenant_id, document_ids=missing)

    def _note(self, error: RagError) -> None:
        self.report.note(source=self.source.name, error=error)


def _has_content(document: Document, sha256: str) -> bool:
    """Whether it has these bytes now, or they were withdrawn from it."""
    return document.sha256 == sha256 or document.versions.filter(sha256=sha256, withdrawn__isnull=False).exists()


def cursor_store(*, source_id: int, cursor: Mapping[str, object]) -> None:
    """Store where the next list of a source goes on."""
    Source.objects.filter(pk=source_id).update(cursor=dict(cursor))


@transaction.atomic
def stamp_store(*, document_id: int, stamp: Stamp) -> None:
    """Store the stamp of an item for the next run."""
    handled: Mapping[str, object] = (
        Document.objects.select_for_update().values_list("handled", flat=True).get(pk=document_id)
    )
    Document.objects.filter(pk=document_id).update(handled={**handled, "seen": dict(stamp)})


def _key(external_id: str) -> int:
    """64 bits of a hash: a million items take some tens of megabytes."""
    return int.from_bytes(hashlib.blake2b(external_id.encode(), digest_size=8).digest(), "big")
