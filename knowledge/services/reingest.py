"""Ingest documents again with the present options, and apply owners' edits again in a new version.

A new version has the same bytes. Edits are found again by the texts they were made on (architecture.md).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, cast

from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.utils import timezone

from accounts.errors import NotAllowedError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.model_registry import counter
from knowledge.models import ChunkEdit, Document, DocumentVersion, IngestJob
from knowledge.selectors import set_owned
from knowledge.selectors.dashboard import documents_rebuildable
from knowledge.services.composition import batches
from knowledge.services.documents import document_managed, items_add, job_hold, job_start, job_work
from ragcore.options import ChunkingOptions, resolve
from ragcore.types import ChunkDraft

BATCH = 500  # documents a transaction
REBUILT_WITH = ("sha256", "file", "file_name", "size_bytes", "sent_as")

EditsSeen = frozenset[tuple[int, datetime]]  # (edit id, when it was last changed) of all edits of a document
Kind = ChunkEdit.Kind


@transaction.atomic
def document_rebuild(*, scope: Scope, actor: User, document_id: int) -> IngestJob:
    """Ingest the bytes of the live version again. Raises NotFoundError, NotAllowedError."""
    document = document_managed(scope=scope, document_id=document_id)
    if document.live_version_id is None:
        raise NotAllowedError("not_live")
    versions = _next_versions([document.pk])
    job = job_start(tenant_id=document.tenant_id, actor=actor, versions=versions, kind=IngestJob.Kind.REBUILD)
    audit_record(actor=actor, action="document.rebuild", target=document.title, document=document.pk)
    return job


@transaction.atomic
def document_recut(*, scope: Scope, actor: User, document_id: int, chunking: Mapping[str, Any]) -> IngestJob:
    """Give a document passage sizes of its own ({}: those of its sets again) and ingest it again with them.

    `chunking`: options of ragcore.options.ChunkingOptions. Raises NotFoundError, NotAllowedError, InvalidOptionsError.
    """
    document = document_managed(scope=scope, document_id=document_id)
    resolve(ChunkingOptions, ("document", chunking))
    audit_record(
        actor=actor,
        action="document.recut",
        target=document.title,
        document=document.pk,
        before=document.chunking,
        after=dict(chunking),
    )
    Document.objects.filter(pk=document.pk).update(chunking=dict(chunking))
    return document_rebuild(scope=scope, actor=actor, document_id=document_id)


def set_rebuild(*, scope: Scope, actor: User, set_id: int) -> IngestJob:
    """Ingest every live document of a set again; each keeps its old passages until the new ones go live.

    Documents that are also in sets of other owners are skipped. They are added to the job in batches, so that nobody
    waits long for their locks. Raises NotFoundError, NotAllowedError, JobOverError if it is cancelled meanwhile.
    """
    knowledge_set = set_owned(scope=scope, set_id=set_id)
    ids = list(documents_rebuildable(scope=scope, set_id=knowledge_set.pk).values_list("pk", flat=True))
    with transaction.atomic():
        job = job_start(tenant_id=knowledge_set.tenant_id, actor=actor, versions=(), kind=IngestJob.Kind.REBUILD)
        audit_record(actor=actor, action="set.rebuild", target=knowledge_set.code, set=knowledge_set.pk, job=job.pk)
    for batch in batches(ids, BATCH):
        with transaction.atomic():
            job_hold(job)
            items_add(job, _next_versions(batch))
            job_work(job, workers=1)
    return job


def version_again(version: DocumentVersion) -> DocumentVersion:
    """A new newest version of its document with the bytes of a former one; the document is locked."""
    last = (
        DocumentVersion.objects.filter(document=version.document_id)
        .order_by("-number")
        .values_list("number", flat=True)
    )
    values = {name: getattr(version, name) for name in REBUILT_WITH}
    return DocumentVersion.objects.create(document_id=version.document_id, number=last[0] + 1, **values)


def _next_versions(document_ids: Sequence[int]) -> list[DocumentVersion]:
    """New versions of the live bytes; none for documents with a newer version that is in progress or failed."""
    rows = Document.objects.select_for_update(of=("self",)).filter(pk__in=document_ids, deleted=None).order_by("pk")
    newest = DocumentVersion.objects.filter(document=OuterRef("pk")).order_by("-number").values("pk")[:1]
    current = rows.filter(live_version=Subquery(newest)).select_related("live_version")
    fresh = []
    for document in current.defer("live_version__markdown", "live_version__sketch"):
        live = cast(DocumentVersion, document.live_version)
        values = {name: getattr(live, name) for name in REBUILT_WITH}
        fresh.append(DocumentVersion(document=document, number=live.number + 1, **values))
    return DocumentVersion.objects.bulk_create(fresh)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReappliedEdits:
    """Passages of a new version with the edits of the old one. All keys are ordinals of drafts."""

    drafts: tuple[ChunkDraft, ...]
    disabled: frozenset[int] = frozenset()
    questions: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    edit_ids: Mapping[int, int] = field(default_factory=dict)  # of the edit that a passage shows
    replaced: Mapping[int, datetime] = field(default_factory=dict)  # when owners wrote the texts of passages
    applied: tuple[int, ...] = ()  # edit ids
    lost: tuple[int, ...] = ()  # edit ids whose passage is gone
    moved: Mapping[int, tuple[str, str]] = field(default_factory=dict)  # edit id → its new anchor and text
    merged: tuple[int, ...] = ()  # edit ids that became part of another one, because their passages became one
    seen: EditsSeen = frozenset()  # the edits that were considered

    @property
    def edited(self) -> frozenset[int]:
        """Passages that owners have changed, disabled or given questions."""
        return frozenset({*self.disabled, *self.questions, *self.edit_ids})


def edits_reapply(*, document_id: int, drafts: Sequence[ChunkDraft]) -> ReappliedEdits:
    """Apply the edits to the passages of a new version, by their anchors. Changes nothing in the database.

    A passage is the same if its text is the same. Otherwise a replacement is made inside the one passage that still
    contains the anchor. Edits whose anchor is not found are lost, and reported.
    """
    edits = list(ChunkEdit.objects.filter(document_id=document_id).order_by("pk"))
    if not edits:
        return ReappliedEdits(drafts=tuple(drafts))
    matcher = _EditMatcher(drafts)
    for edit in edits:
        matcher.take(edit)
    return replace(matcher.done(), seen=frozenset((edit.pk, edit.updated) for edit in edits))


def edits_present(*, document_ids: Iterable[int]) -> Mapping[int, EditsSeen]:
    """The present edits of documents; they differ from `Reapplied.seen` if somebody has edited since."""
    edits_of_document: dict[int, set[tuple[int, datetime]]] = defaultdict(set)
    rows = ChunkEdit.objects.filter(document__in=list(document_ids)).order_by()
    for document_id, pk, updated in rows.values_list("document_id", "pk", "updated"):
        edits_of_document[document_id].add((pk, updated))
    return {document_id: frozenset(edits) for document_id, edits in edits_of_document.items()}


def edits_settle(reapplied: ReappliedEdits) -> None:
    """Store the outcome of the edits of a document, within the publishing transaction."""
    now = timezone.now()
    ChunkEdit.objects.filter(pk__in=reapplied.merged).delete()
    for edit_id, (anchor, text) in reapplied.moved.items():
        ChunkEdit.objects.filter(pk=edit_id).update(anchor_text=anchor, anchor_sha256=text_sha256(anchor), text=text)
    for state, ids in ((ChunkEdit.State.APPLIED, reapplied.applied), (ChunkEdit.State.LOST, reapplied.lost)):
        ChunkEdit.objects.filter(pk__in=ids).exclude(state=state).update(state=state, updated=now)


class _EditMatcher:
    """The passages of one version while edits are applied; anchors are looked up in the texts as cut."""

    def __init__(self, drafts: Sequence[ChunkDraft]) -> None:
        self._cut = {draft.ordinal: draft for draft in drafts if draft.kind != "section"}
        self._squeezed = {ordinal: _squeezed(draft.text) for ordinal, draft in self._cut.items()}
        self._drafts = {draft.ordinal: draft for draft in drafts}
        self._disabled: set[int] = set()
        self._questions: dict[int, tuple[str, ...]] = {}
        self._replaced_by: dict[int, int] = {}  # ordinal → edit id
        self._shown: dict[int, int] = {}
        self._written: dict[int, datetime] = {}
        self._applied: list[int] = []
        self._lost: list[int] = []
        self._moved: dict[int, tuple[str, str]] = {}
        self._merged: list[int] = []

    def take(self, edit: ChunkEdit) -> None:
        ordinal, is_whole = self._place(edit.anchor_text)
        if ordinal is None:
            self._lost.append(edit.pk)
        elif edit.kind == Kind.QUESTIONS:
            self._questions[ordinal] = (*self._questions.get(ordinal, ()), *edit.questions)
            self._applied.append(edit.pk)
        elif edit.kind == Kind.REPLACE:
            self._replace(edit, ordinal, is_whole=is_whole)
        elif is_whole:
            self._disabled.add(ordinal)
            self._shown[ordinal] = edit.pk
            self._applied.append(edit.pk)
        else:  # a passage cannot be disabled in part
            self._lost.append(edit.pk)

    def _place(self, anchor: str) -> tuple[int | None, bool]:
        """The ordinal of the passage with this text, and whether it is all of it; None unless there is exactly one."""
        squeezed_anchor = _squeezed(anchor)
        same = [ordinal for ordinal, text in self._squeezed.items() if text == squeezed_anchor]
        if same:
            return same[0], True
        around = [ordinal for ordinal, text in self._squeezed.items() if squeezed_anchor in text]
        return (around[0], False) if len(around) == 1 else (None, False)

    def _replace(self, edit: ChunkEdit, ordinal: int, *, is_whole: bool) -> None:
        """Replace the whole passage, or the anchor inside of it; then the edit becomes one of the whole passage."""
        now = self._drafts[ordinal]
        if not is_whole and now.text.count(edit.anchor_text) != 1:
            self._lost.append(edit.pk)
            return
        text = edit.text if is_whole else now.text.replace(edit.anchor_text, edit.text)
        self._drafts[ordinal] = replace(now, text=text, tokens=counter().count(text))
        self._written[ordinal] = max(edit.updated, self._written.get(ordinal, edit.updated))
        first = self._replaced_by.setdefault(ordinal, edit.pk)
        self._shown.setdefault(ordinal, first)
        if first == edit.pk:
            self._applied.append(edit.pk)
        else:
            self._merged.append(edit.pk)
        if first != edit.pk or not is_whole:
            self._moved[first] = (self._cut[ordinal].text, text)

    def done(self) -> ReappliedEdits:
        return ReappliedEdits(
            drafts=tuple(self._drafts.values()),
            disabled=frozenset(self._disabled),
            questions=self._questions,
            edit_ids=self._shown,
            replaced=self._written,
            applied=tuple(self._applied),
            lost=tuple(self._lost),
            moved=self._moved,
            merged=tuple(self._merged),
        )


def text_sha256(text: str) -> str:
    """Hash of a text; white space does not count."""
    return hashlib.sha256(_squeezed(text).encode()).hexdigest()


def _squeezed(text: str) -> str:
    return " ".join(text.split())
