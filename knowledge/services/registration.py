"""Register a document that has arrived, or a new version of one. Runs inside the caller's transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from pathlib import PurePath
from typing import Any

from django.core.files.base import ContentFile, File
from django.db import IntegrityError, transaction
from django.db.models import Case, IntegerField, Max, Q, When, prefetch_related_objects

from accounts.errors import NotAllowedError, NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.disk_space import space_require
from knowledge.errors import ClearanceTooHighError, MixedTenantsError, SetNotOwnedError
from knowledge.indexes.statements import files_lock_shared
from knowledge.models import Document, DocumentNames, DocumentVersion, KnowledgeSet, Source
from knowledge.selectors import document_get, documents_kept, documents_readable, is_kept, set_curated
from knowledge.selectors.documents import documents_in_any
from knowledge.services.composition import documents_settle, memberships_by_hand_record
from knowledge.services.entities import entities_attributes_changed
from knowledge.services.floors import source_floor
from knowledge.services.handlers import arrival_apply, handlers_apply, security_hold, security_release
from knowledge.services.names import document_names, names_store
from knowledge.services.originals import file_replace, is_stored, originals_restore
from knowledge.services.quotas import Quota, quota_hold

DEFAULT_SOURCE = "uploads"
TITLED = "titled"  # in Document.handled: a person gave the title
REGISTER_TRIES = 3  # a find and an insert each; requests for one identity meet rarely, and only keepers' own repeat


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """A file or text that has arrived, with what its sender says about it."""

    name: str  # file name with its ending
    content: bytes | File[bytes]  # a file is read in pieces, never as a whole
    sets: Sequence[KnowledgeSet]
    title: str = ""
    external_id: str = ""
    clearance: int = 0
    floor: int | None = None  # below which the sender wants no document, whatever it says; None: the clearance
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tags: Sequence[str] = ()
    sent_as: str = ""  # path in its source
    review_by: date | None = None  # None: as it was

    @property
    def size_bytes(self) -> int:
        return len(self.content) if isinstance(self.content, bytes) else self.content.size

    @property
    def least_clearance(self) -> int:
        return self.clearance if self.floor is None else self.floor

    @cached_property
    def sha256(self) -> str:
        digest = hashlib.sha256()
        for piece in self.file().chunks():
            digest.update(piece)
        return digest.hexdigest()

    def file(self) -> File[bytes]:
        """The content from its beginning. Not the uploaded file itself, which a storage would move away."""
        if isinstance(self.content, bytes):
            return ContentFile(self.content)
        self.content.seek(0)
        return File(self.content.file)


@dataclass(frozen=True, slots=True)
class Registration:
    """Result of a registration. `version` is to be ingested; None: nothing is.

    Nothing is to be ingested if the asker keeps and could see the same bytes before. Who keeps the source alone, and
    cannot see the document, gets the answer for new bytes: the version is ingested once more, which changes nothing.
    """

    document: Document
    version: DocumentVersion | None
    duplicate: bool  # True only if the asker could see the document before
    merged: bool  # searches may find it elsewhere now: the caller advances the epoch as its last lock


def sets_owned(*, scope: Scope, set_ids: Sequence[int]) -> list[KnowledgeSet]:
    """The sets, if the asker may add to all of them. Raises NotFoundError, NotAllowedError, MixedTenantsError."""
    sets = [set_curated(scope=scope, set_id=set_id) for set_id in dict.fromkeys(set_ids)]
    if len({s.tenant_id for s in sets}) > 1:
        raise MixedTenantsError
    return sets


def clearance_check(*, scope: Scope, clearance: int) -> None:
    """Raises ClearanceTooHighError above the asker's own clearance."""
    if clearance > scope.clearance:
        raise ClearanceTooHighError(clearance=clearance, own=scope.clearance)


def source_ensure(*, tenant_id: int, name: str) -> Source:
    """The source of this name; created if it is new."""
    return Source.objects.get_or_create(tenant_id=tenant_id, name=name or DEFAULT_SOURCE)[0]


def document_register(*, scope: Scope, actor: User | None, arrival: Arrival, source: Source) -> Registration:
    """Find or create the document by its identity, and add a version if these bytes are new.

    Only what the sender keeps is found. A document of others with the same bytes or external id stays as it is and is
    not told: the sender gets a record of their own, which shares its stored file.
    Applies the source's handler and the composition of sets.
    Raises NotAllowedError; SetNotOwnedError for a document in no set, which only administrators would see;
    LeftOutError and SupersededError if the handler refuses the document.
    """
    arrival_check(scope=scope, arrival=arrival, source=source)
    quota = quota_hold(tenant_id=source.tenant_id)
    for tries_left in reversed(range(REGISTER_TRIES)):
        home = home_free(arrival=arrival, source=source)  # before looking: what is registered from now on is a conflict
        document = _find(scope=scope, arrival=arrival, source=source)
        if document is not None:
            break
        try:
            with transaction.atomic():
                return _register_new(actor=actor, arrival=arrival, source=source, quota=quota, home=home)
        except IntegrityError:  # another request registered the same identity in the meantime
            if not tries_left:
                raise
    assert document is not None
    if document.source_id == source.pk:
        document.source = source  # the same row, with what it knows already
    return _register_again(scope=scope, actor=actor, document=document, arrival=arrival, quota=quota)


def version_register(*, scope: Scope, actor: User | None, arrival: Arrival, document_id: int) -> Registration:
    """Add what has arrived to a document that the sender keeps as its next version, whatever its name and id.

    The same bytes as those of the newest version add nothing. Raises NotFoundError, NotAllowedError.
    """
    document = document_get(scope=scope, document_id=document_id)
    if not is_kept(scope=scope, document=document):
        raise NotAllowedError("kept_by_others")
    if not is_open(document.source):  # the next run of the source would bring its own again
        raise NotAllowedError("version_of_source", name=document.source.name)
    if any(s.tenant_id != document.tenant_id for s in arrival.sets):
        raise MixedTenantsError
    quota = quota_hold(tenant_id=document.tenant_id)
    document = Document.objects.select_for_update(of=("self",)).select_related("source").get(pk=document_id)
    if document.deleted is not None:
        raise NotFoundError("document", document=document_id)
    if not document.external_id and _is_taken(document, arrival):
        document.home = -document.pk
    return _register_again(scope=scope, actor=actor, document=document, arrival=arrival, quota=quota)


def _is_taken(document: Document, arrival: Arrival) -> bool:
    """Whether another document with the same home has these bytes: they identify only one document of a home."""
    same = Document.objects.filter(
        tenant_id=document.tenant_id, source=document.source_id, home=document.home, external_id="", deleted=None
    )
    return same.filter(sha256=arrival.sha256).exclude(pk=document.pk).exists()


def arrival_check(*, scope: Scope, arrival: Arrival, source: Source) -> None:
    """Raise SetNotOwnedError or NotAllowedError if the asker may not add to this source, or not without a set."""
    if not arrival.sets and scope.administers == "nothing":
        raise SetNotOwnedError
    is_own = is_open(source) or source.owner_id == scope.user_id
    if not is_own and scope.administers == "nothing":  # sets are composed of it
        raise NotAllowedError("add_to_source", name=source.name)


def is_open(source: Source) -> bool:
    """Whether anybody may send documents to the source; each keeps only their own."""
    return source.owner_id is None and source.kind in (Source.Kind.UPLOAD, Source.Kind.API)


# ── identity ────────────────────────────────────────────────────────────────────────────────────


def _find(*, scope: Scope, arrival: Arrival, source: Source) -> Document | None:
    """The document that this is again, locked; None for a new one.

    External ids belong to the source; among what people send without naming one, to the first of the sets. In sources
    that are open to everybody each finds only what they keep.
    """
    rows = Document.objects.filter(_same_identity(arrival), tenant_id=source.tenant_id, deleted=None)
    if arrival.external_id or not is_open(source):
        rows = rows.filter(source=source)
    if is_open(source):
        rows = rows.filter(_found_by(scope=scope, arrival=arrival, source=source))
    in_sets = documents_in_any([s.pk for s in arrival.sets])
    home = identity_home(arrival=arrival, source=source)
    distance = Case(When(home=home, then=0), When(in_sets, then=1), default=2, output_field=IntegerField())
    return rows.order_by(distance, "pk").select_for_update(of=("self",)).first()


def _same_identity(arrival: Arrival) -> Q:
    return Q(external_id=arrival.external_id) if arrival.external_id else Q(external_id="", sha256=arrival.sha256)


def _found_by(*, scope: Scope, arrival: Arrival, source: Source) -> Q:
    """What a sender finds in an open source. Administrators, who keep everything, merge bytes only with what they own
    or what stands in one of the sets that they name: another owner's document stays that owner's.
    """
    condition = Q(pk__in=documents_kept(scope=scope).order_by().values("pk"))
    if arrival.external_id and source.name == DEFAULT_SOURCE:
        first = [s.pk for s in arrival.sets[:1]]
        return condition & (Q(home__in=first or [0]) | documents_in_any(first))
    if arrival.external_id or scope.administers == "nothing":
        return condition
    owned = documents_kept(scope=replace(scope, administers="nothing")).order_by().values("pk")
    return condition & (Q(pk__in=owned) | Q(sets=None) | documents_in_any([s.pk for s in arrival.sets]))


def identity_home(*, arrival: Arrival, source: Source) -> int:
    """The owner of a new document's identity: a source, a set or a place beside it (`Document.home`)."""
    return arrival.sets[0].pk if is_open(source) and arrival.sets else 0


def home_free(*, arrival: Arrival, source: Source) -> int:
    """The home of a new document, where others may keep one with the same identity: then next to the last of these."""
    home = identity_home(arrival=arrival, source=source)
    same = (
        {"external_id": arrival.external_id} if arrival.external_id else {"external_id": "", "sha256": arrival.sha256}
    )
    documents = Document.objects.filter(tenant_id=source.tenant_id, source=source, deleted=None, **same)
    if not documents.filter(home=home).exists():
        return home
    return -documents.order_by("-pk").values_list("pk", flat=True)[0]


# ── writing ─────────────────────────────────────────────────────────────────────────────────────


def _register_new(*, actor: User | None, arrival: Arrival, source: Source, quota: Quota, home: int) -> Registration:
    quota.check(documents=1, size_bytes=arrival.size_bytes)
    document = document_new(actor=actor, arrival=arrival, source=source, home=home)
    document.save()
    names_store([arrival_names(document, arrival)])
    document.sets.set(arrival.sets)
    version = version_add(document=document, arrival=arrival)
    if source.handler_id:
        handlers_apply(version, None)
        document = version.document
    settled = documents_settle(document_ids=[document.pk]) if is_composed(source) else 0
    return Registration(document, version, duplicate=False, merged=settled > 0)


def document_new(*, actor: User | None, arrival: Arrival, source: Source, home: int) -> Document:
    """The unsaved row of a new document."""
    return Document(
        tenant_id=source.tenant_id,
        source=source,
        external_id=arrival.external_id,
        sha256=arrival.sha256,
        home=home,
        leading_set=arrival.sets[0] if arrival.sets else None,
        title=_title(arrival),
        is_title_given=bool(arrival.title),
        clearance=max(arrival.clearance, source_floor(source)),
        metadata=dict(arrival.metadata),
        tags=sorted(set(arrival.tags)),
        created_by=actor,
        handled={"security": {"sent": clearance}}
        if source.handler_id and (clearance := arrival.least_clearance)
        else {},
    )


def arrival_names(document: Document, arrival: Arrival) -> DocumentNames:
    """The unsaved row of what a document can be asked for by as it has arrived."""
    return document_names(document, file_name=arrival.name, path=arrival.sent_as)


def _register_again(
    *, scope: Scope, actor: User | None, document: Document, arrival: Arrival, quota: Quota
) -> Registration:
    """Register a document that the sender keeps: merge sets, tags and attributes; new or failed bytes make a version.

    A higher clearance is an act of its own, with its own audit event; a lower one changes nothing.
    """
    was_visible = documents_readable(scope=scope).filter(pk=document.pk).exists()
    same_bytes = document.sha256 == arrival.sha256
    document.sets.add(*arrival.sets)
    if arrival.sets and not leads(document):
        document.leading_set = arrival.sets[0]
    by_source = document.handled.get("security", {}).get("wrote") is not None  # then the usual one counts for nothing
    least = max(arrival.least_clearance if by_source else arrival.clearance, source_floor(document.source))
    if least > document.clearance:
        clearance_note(actor=actor, document=document, clearance=least)
        document.clearance = least
    document.tags = sorted({*document.tags, *arrival.tags})
    former = document.metadata
    document.metadata = {**former, **arrival.metadata}
    if not (document.handled.get(TITLED) and document.source.kind != Source.Kind.UPLOAD):
        document.title = arrival.title or document.title
        document.is_title_given = document.is_title_given or bool(arrival.title)
    names_store([arrival_names(document, arrival)])
    document.sha256 = arrival.sha256
    document.save()
    entities_attributes_changed(document, former=former)
    failed = document.state == Document.State.FAILED or document.error_code != ""  # of the newest version
    (security_hold if failed or not same_bytes else security_release)(document)
    arrival_apply(document, sent_clearance=arrival.least_clearance)
    if document.handled.get("sets") or is_composed(document.source):
        memberships_by_hand_record(document_ids=[document.pk], set_ids=[s.pk for s in arrival.sets])
        documents_settle(document_ids=[document.pk])
        document.refresh_from_db(fields=["handled"])
    if failed or not same_bytes:
        quota.check(documents=0, size_bytes=arrival.size_bytes)
        return Registration(document, version_add(document=document, arrival=arrival), duplicate=False, merged=True)
    originals_restore(tenant_id=document.tenant_id, digest=arrival.sha256, content=arrival.file())
    version = None if was_visible else document.versions.order_by("-number").first()
    return Registration(document, version, duplicate=was_visible, merged=True)


def leads(document: Document) -> bool:
    """Whether a set decides what a document is processed with: the one that was named first, while it is in it."""
    return document.leading_set_id is not None and document.sets.filter(pk=document.leading_set_id).exists()


def clearance_note(*, actor: User | None, document: Document, clearance: int) -> None:
    """Record in the audit log that somebody changes the clearance of a document."""
    if actor is not None:
        before = document.clearance
        target = document.title
        audit_record(
            actor=actor,
            action="document.clearance",
            target=target,
            document=document.pk,
            before=before,
            after=clearance,
        )


def is_composed(source: Source) -> bool:
    """Whether any set is composed of the source; cached on the object, which lives as long as a request."""
    prefetch_related_objects([source], "set_sources")
    return bool(source.set_sources.all())


def version_add(*, document: Document, arrival: Arrival) -> DocumentVersion:
    """Create the next version of a document; its original is stored by content."""
    last = document.versions.aggregate(last=Max("number"))["last"] or 0
    files_lock_shared(tenant_id=document.tenant_id)  # the weekly purge must not remove the file before its row exists
    version = version_new(document=document, arrival=arrival, number=last + 1)
    version.save()
    document.state = Document.State.LIVE if document.live_version_id else Document.State.PROCESSING
    document.error_code = document.error_message = ""
    document.error_data = {}
    document.save(update_fields=["state", "error_code", "error_message", "error_data", "updated"])
    return version


def version_new(*, document: Document, arrival: Arrival, number: int = 1) -> DocumentVersion:
    """The unsaved row of a version with its stored original. Call under `files_lock_shared` of the tenant."""
    version = DocumentVersion(
        document=document,
        number=number,
        sha256=arrival.sha256,
        file_name=arrival.name,
        size_bytes=arrival.size_bytes,
        sent_as=arrival.sent_as[:1024],
    )
    _store_original(version, arrival)
    return version


def _store_original(version: DocumentVersion, arrival: Arrival) -> None:
    """Store the bytes unless the same content of this tenant is already stored completely.

    A file of the right size with other bytes is damaged, and is replaced. One of another size, which a killed process
    of an earlier release may have left, keeps its name; then the bytes get another name.
    """
    storage = version.file.storage
    path = version.file.field.generate_filename(version, arrival.name)
    if not storage.exists(path) or storage.size(path) != arrival.size_bytes:
        space_require(arrival.size_bytes)
        path = storage.save(path, arrival.file())
    elif not is_stored(storage, path, digest=arrival.sha256, size_bytes=arrival.size_bytes):
        file_replace(storage, path, arrival.file())
    version.file.name = path


def _title(arrival: Arrival) -> str:
    return (arrival.title or PurePath(arrival.name).stem or arrival.external_id)[:512]
