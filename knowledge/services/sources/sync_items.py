"""Items of a source: synchronise them one by one, and delete missing documents at the end."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django.db import transaction

from accounts.models import MAX_CLEARANCE
from accounts.scope import Scope
from knowledge.connector_errors import SourceBusyError
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
from knowledge.errors import ItemUnreadableError, LeftOutError, LimitReachedError, SupersededError
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import Document, IngestJob, Source
from knowledge.services.composition import glob_matches
from knowledge.services.documents import items_add, job_work, upload_check
from knowledge.services.handlers import Handler, arrival_refusal, handler_value
from knowledge.services.handlers.security import LIVE
from knowledge.services.names import document_rename
from knowledge.services.registration import Arrival, document_register
from knowledge.services.relations.connectors import item_relations_write
from knowledge.services.sources.item_faults import RunFaults, is_passing
from knowledge.services.sources.item_readers import item_readers_write
from knowledge.services.sources.known_items import KnownItems, item_key, readers_of_item, stamp_of
from knowledge.services.sources.missing_documents import hold_end, missing_settle, missing_tell
from knowledge.services.sources.sync_runs import RunReport, stored_error
from knowledge.types import SourceOptions, strictly
from ragcore.errors import RagError
from work.fencing import job_writing
from work.models import Job

CALL_WORKERS_EVERY = 20  # versions: reading them begins while others are still fetched
UNWANTED = (LeftOutError, SupersededError)


def source_scope(source: Source) -> Scope:
    """The authority of a source over its own documents, whoever owns the sets in which they stand."""
    return Scope(
        tenant_id=source.tenant_id, user_id=source.owner_id or 0, clearance=MAX_CLEARANCE, administers="tenant"
    )


class ItemSync:
    """One run of one source. `take` each item, which raises JobLostError once the run is over, then `finish`.

    `rereads`: items are read and compared although their stamps say that they have not changed; `before_read` is called
    before each of them is read.
    """

    def __init__(
        self,
        *,
        job: IngestJob,
        work: Job,
        source: Source,
        report: RunReport,
        rereads: bool = False,
        before_read: Callable[[], None] = lambda: None,
    ) -> None:
        self.job, self.work, self.source, self.report = job, work, source, report
        self.options = strictly(SourceOptions, source.options)
        self.handler = handler_value(source.handler) if source.handler else Handler()
        self.rereads, self.before_read = rereads, before_read
        self.faults = RunFaults(source)
        self.known = KnownItems(source)
        self._scope = source_scope(source)
        self._present: set[int] = set()
        self._removed: list[str] = []
        self._cleared: list[str] = []  # failed in an earlier run and not in this one
        self._end: ListEnd | None = None
        self._is_complete = True
        self._called_for = self._versions = 0
        self.has_changed = False  # documents are new, others, or elsewhere

    def take(self, item: Listed) -> bool:
        """Process one item; False if the limit of the source is reached. Raises SourceBusyError."""
        match item:
            case Item():
                return self._take_present(item) if self._is_wanted(item.external_id) else True
            case ListEnd():
                self._end = item
            case RemovedItem():
                self._removed.append(item.external_id)
                self._clear(item.external_id)
            case UnchangedItem():
                self._present.add(item_key(item.external_id))
                self.report.found += 1
            case UnreadableItem():
                self._is_complete &= not item.hides
                self.report.found += 1
                self._present.add(item_key(item.path))  # it is there, though it cannot be taken
                self._refuse(item.path, item.error)
        return True

    def _take_present(self, item: Item) -> bool:
        if len(self._present) >= self.options.max_documents:
            self._is_complete = False
            self._note(LimitReachedError("documents", limit=self.options.max_documents))
            return False
        self._present.add(item_key(item.external_id))
        self.report.found += 1
        is_unchanged, is_related_alike = self.known.is_unchanged(item), self.known.is_related_alike(item)
        if is_unchanged and is_related_alike and not self.rereads:
            self._clear(item.external_id)
            return True
        try:
            if self.rereads or not is_unchanged:
                self._take(item)
            if not is_related_alike:
                item_relations_write(source=self.source, item=item, writing=partial(job_writing, self.work))
        except UNWANTED:
            self.report.left_out += 1
        except SourceBusyError:
            raise
        except RagError as error:
            self._refuse(item.external_id, error)
        except OSError as error:
            self._refuse(item.external_id, ItemUnreadableError(), passing=is_passing(error))
        else:
            self._clear(item.external_id)
        return True

    def finish(self) -> None:
        """Call workers for the remaining versions; delete missing documents if the source is set to do so."""
        if self._versions > self._called_for:
            self._call_workers()
        self._settle_missing()
        is_whole = self._is_complete and (self._end is None or self._end.is_full)
        with job_writing(self.work):
            self.faults.store(cleared=self._cleared, is_whole=is_whole)
            if self._end is not None and self._is_complete and not self.faults.waits:
                cursor_store(source_id=self.source.pk, cursor=self._end.cursor)

    def _refuse(self, path: str, error: RagError, *, passing: bool | None = None) -> None:
        self.report.refuse(path=path, error=error)
        self.faults.note(path, stored_error(error), is_passing=is_passing(error) if passing is None else passing)

    def _clear(self, path: str) -> None:
        if self.faults.taken(path):
            self._cleared.append(path)

    def _is_wanted(self, path: str) -> bool:
        included = not self.options.include or glob_matches(path, self.options.include)
        return included and not (self.options.exclude and glob_matches(path, self.options.exclude))

    def _take(self, item: Item) -> None:
        if item.was:
            self._move(item)
        document = self.known.document(item.external_id)
        last = stamp_of(document) if not self.rereads else {}
        if last and last == item.stamp:
            self._readers(document, item)
            return
        self._readers(document, item, with_content=True)
        self._check(item)
        self.before_read()
        fetched = item.read(last)
        if fetched is None:
            self._readers(document, item)
            return
        upload_check(name=fetched.name, size_bytes=len(fetched.content))
        sha256 = hashlib.sha256(fetched.content).hexdigest()
        if document and _has_content(document, sha256):
            with job_writing(self.work):
                stamp_store(document_id=document.pk, stamp=fetched.stamp)
                document_rename(document_id=document.pk, file_name=fetched.name, path=item.external_id)
            self._readers(document, item)
            return
        self._register(item, fetched)
        self.has_changed = True
        self.report.changed += document is not None
        self.report.new += document is None

    def _check(self, item: Item) -> None:
        """Raises what the handler refuses by path and name, before anything is read."""
        if refusal := arrival_refusal(
            source=self.source,
            handler=self.handler,
            path=item.external_id,
            name=item.name,
            metadata=self._metadata(item),
        ):
            raise refusal

    def _readers(self, document: Document | None, item: Item, *, with_content: bool = False) -> None:
        """Who may read it there is written at once, also where nothing else has changed.

        `with_content`: its content may be another one; until that is live, nobody new reads the document.
        """
        if document is None or item.readers is None:
            return
        noted = document.handled.get("security", {})
        if readers_of_item(item) == noted.get("item") and (with_content or LIVE not in noted):
            return
        with job_writing(self.work):
            if item_readers_write(document_id=document.pk, readers=item.readers, with_content=with_content):
                epoch_advance(tenant_id=self.source.tenant_id, documents=[document.pk])
        document.refresh_from_db(fields=["handled"])

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
            self._store(arrival, fetched.stamp, item)

    def _metadata(self, item: Item) -> dict[str, Any]:
        """What the source says about all of its documents, and about this one."""
        return {**self.options.metadata, **item.metadata}

    def _move(self, item: Item) -> None:
        """The document that had another id stays the same one, unless the new id is taken."""
        document = self.known.document(item.was)
        if document is None or self.known.document(item.external_id) is not None:
            return
        self.has_changed = True
        with job_writing(self.work):
            Document.objects.filter(pk=document.pk).update(external_id=item.external_id)
            document_rename(document_id=document.pk, file_name=item.name, path=item.external_id)

    def _store(self, arrival: Arrival, stamp: Stamp, item: Item) -> None:
        registration = document_register(
            scope=self._scope, actor=self.source.owner, arrival=arrival, source=self.source
        )
        stamp_store(document_id=registration.document.pk, stamp=stamp)
        is_moved = registration.merged
        if item.readers is not None:  # in the same transaction: nobody else sees the document before
            is_moved |= item_readers_write(document_id=registration.document.pk, readers=item.readers)
        if registration.version is not None:
            items_add(self.job, [registration.version])
            self._versions += 1
        if self._versions - self._called_for >= CALL_WORKERS_EVERY:
            self._call_workers()
        if is_moved:
            epoch_advance(tenant_id=self.source.tenant_id, documents=[registration.document.pk])

    def _call_workers(self) -> None:
        job_work(self.job, workers=1)
        self._called_for = self._versions

    def _settle_missing(self) -> None:
        """Delete what is gone, or say that it is."""
        listed: dict[str, Any] = {
            "source": self.source,
            "present": self._present,
            "removed": self._removed,
            "end": self._end,
            "is_complete": self._is_complete,
            "known_keys": self.known.keys,
        }
        if self.options.delete_missing:
            settled = missing_settle(options=self.options, **listed)
            self.report.deleted += settled.deleted
            note = settled.note
        else:
            hold_end(source_id=self.source.pk)
            note = missing_tell(**listed)
        if note is not None:
            self._note(note)

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
