"""Owners' edits of passages: a new text, questions that it answers, or not to be found at all (architecture.md).

An edit takes effect at once: the passage in the live version is retired, which keeps it for citations, and a new one
takes its place. It is kept with its anchor, the text as it was cut, and done again whenever the document is ingested.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.db import transaction
from django.utils import timezone

from accounts.errors import NotAllowedError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.engines import counter
from knowledge.errors import PassageChangedError
from knowledge.models import Chunk, ChunkEdit
from knowledge.selectors import chunk_get
from knowledge.selectors.edits import edit_get
from knowledge.services.documents import document_managed
from knowledge.services.reindexing import chunk_substitute
from ragcore.cleaning import normalise_text
from ragcore.errors import EmptyDocumentError
from ragcore.types import ChunkDraft

MAX_QUESTIONS = 20
Kind = ChunkEdit.Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Reapplied:
    """Passages of a new version with what owners had changed in the old one. All keys are ordinals of drafts."""

    drafts: tuple[ChunkDraft, ...]
    disabled: frozenset[int] = frozenset()
    questions: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    edit_ids: Mapping[int, int] = field(default_factory=dict)  # of the edit that a passage shows
    applied: tuple[int, ...] = ()  # edit ids
    lost: tuple[int, ...] = ()  # edit ids whose passage is gone
    moved: Mapping[int, tuple[str, str]] = field(default_factory=dict)  # edit id → its new anchor and text
    merged: tuple[int, ...] = ()  # edit ids that became part of another one, because their passages became one


# ── by owners ───────────────────────────────────────────────────────────────────────────────────


@transaction.atomic
def chunk_replace(*, scope: Scope, actor: User, chunk_id: int, text: str) -> Chunk:
    """Give a passage another text; returns the passage that supersedes it, searchable as of the commit.

    Raises NotFoundError, NotAllowedError, PassageChangedError where somebody was faster, EmptyDocumentError.
    """
    chunk = _live_chunk(scope=scope, chunk_id=chunk_id)
    text = normalise_text(text)
    if not text.strip():
        raise EmptyDocumentError("A passage needs a text. To hide it, disable it.")
    edit = _edit_store(chunk, actor=actor, kind=Kind.REPLACE, text=text)
    audit_record(actor=actor, action="passage.change", target=chunk.version.document.title, chunk=chunk.pk)
    return _superseded(chunk, edit=edit, text=text)


@transaction.atomic
def chunk_questions_set(*, scope: Scope, actor: User, chunk_id: int, questions: Sequence[str]) -> Chunk:
    """The questions by which a passage is found besides its text; none takes them away. Raises as chunk_replace."""
    chunk = _live_chunk(scope=scope, chunk_id=chunk_id)
    wanted = list(dict.fromkeys(q for question in questions if (q := " ".join(question.split())[:512])))
    edit = _edit_store(chunk, actor=actor, kind=Kind.QUESTIONS, questions=wanted[:MAX_QUESTIONS])
    audit_record(actor=actor, action="passage.questions", target=chunk.version.document.title, chunk=chunk.pk)
    if not wanted:
        edit.delete()
    return _superseded(chunk, edit=chunk.edit, text=chunk.text)


@transaction.atomic
def chunk_disable(*, scope: Scope, actor: User, chunk_id: int) -> ChunkEdit:
    """Take a passage out of every search. Raises as chunk_replace."""
    chunk = _live_chunk(scope=scope, chunk_id=chunk_id)
    edit = _edit_store(chunk, actor=actor, kind=Kind.DISABLE)
    chunk_substitute(chunk=chunk, fresh=None, questions=())
    Chunk.objects.filter(pk=chunk.pk).update(edit=edit)
    audit_record(actor=actor, action="passage.disable", target=chunk.version.document.title, chunk=chunk.pk)
    return edit


@transaction.atomic
def edit_undo(*, scope: Scope, actor: User, edit_id: int) -> Chunk | None:
    """Take an edit back; returns the passage as it is now, None where its passage is gone from the document.

    Raises NotFoundError, NotAllowedError.
    """
    edit = edit_get(scope=scope, edit_id=edit_id)
    document = document_managed(scope=scope, document_id=edit.document_id)
    chunk = _chunk_of(edit)
    audit_record(actor=actor, action="passage.undo", target=document.title, edit=edit.pk, kind=edit.kind)
    fresh = None if chunk is None else _without(chunk, edit)
    edit.delete()
    return fresh


def _live_chunk(*, scope: Scope, chunk_id: int) -> Chunk:
    """The passage, locked, if it is part of the live version now."""
    found = chunk_get(scope=scope, chunk_id=chunk_id)
    document = document_managed(scope=scope, document_id=found.version.document_id)
    chunk = Chunk.objects.select_for_update(of=("self",)).select_related("version__document", "edit").get(pk=found.pk)
    if chunk.retired is not None or chunk.version_id != document.live_version_id:
        raise PassageChangedError
    if chunk.kind == Chunk.Kind.SECTION:
        raise NotAllowedError("The outline of a section is made from its passages; edit those.")
    return chunk


def _edit_store(chunk: Chunk, *, actor: User, kind: str, text: str = "", questions: Sequence[str] = ()) -> ChunkEdit:
    """One edit a kind and anchor; an edited passage keeps the anchor of its first edit."""
    anchor = _anchor(chunk)
    values = {"text": text, "questions": list(questions), "author": actor, "state": ChunkEdit.State.APPLIED}
    return ChunkEdit.objects.update_or_create(
        document_id=chunk.version.document_id,
        kind=kind,
        anchor_sha256=text_sha256(anchor),
        defaults={"anchor_text": anchor, **values},
    )[0]


def _anchor(chunk: Chunk) -> str:
    return chunk.edit.anchor_text if chunk.edit is not None else chunk.text


def _questions(document_id: int, anchor: str) -> tuple[str, ...]:
    found = ChunkEdit.objects.filter(
        document_id=document_id, kind=Kind.QUESTIONS, anchor_sha256=text_sha256(anchor)
    ).first()
    return tuple(found.questions) if found else ()


def _superseded(chunk: Chunk, *, edit: ChunkEdit | None, text: str) -> Chunk:
    """Retire a passage and put one with this text in its place."""
    fresh = Chunk(
        version=chunk.version,
        ordinal=chunk.ordinal,
        kind=chunk.kind,
        text=text,
        heading_path=chunk.heading_path,
        parent_id=chunk.parent_id,
        is_continuation=chunk.is_continuation,
        page=chunk.page,
        boxes=chunk.boxes,
        tokens=counter().count(text),
        edit=edit,
    )
    questions = _questions(chunk.version.document_id, _anchor(chunk))
    chunk_substitute(chunk=chunk, fresh=fresh, questions=questions)
    return fresh


def _chunk_of(edit: ChunkEdit) -> Chunk | None:
    """The passage of the live version that shows an edit: edited, disabled, or found by further questions."""
    chunks = Chunk.objects.select_for_update(of=("self",)).select_related("version__document", "edit")
    mine = chunks.filter(version_id=edit.document.live_version_id)
    if edit.kind == Kind.DISABLE:
        return mine.filter(edit=edit, retired__isnull=False).order_by("-pk").first()
    for chunk in mine.filter(retired=None).order_by("ordinal"):
        if text_sha256(_anchor(chunk)) == edit.anchor_sha256:
            return chunk
    return None


def _without(chunk: Chunk, edit: ChunkEdit) -> Chunk | None:
    """The passage as it is without this edit."""
    if edit.kind == Kind.DISABLE:
        if Chunk.objects.filter(version=chunk.version, ordinal=chunk.ordinal, retired=None).exists():
            return None
        same = ChunkEdit.objects.filter(document_id=edit.document_id, anchor_sha256=edit.anchor_sha256)
        return _superseded(chunk, edit=same.filter(kind=Kind.REPLACE).first(), text=chunk.text)
    if edit.kind == Kind.QUESTIONS:
        edit.questions = []
        edit.save(update_fields=["questions"])
        return _superseded(chunk, edit=chunk.edit, text=chunk.text)
    return _superseded(chunk, edit=None, text=edit.anchor_text)


# ── by ingestion ────────────────────────────────────────────────────────────────────────────────


def edits_reapply(*, document_id: int, drafts: Sequence[ChunkDraft]) -> Reapplied:
    """Find the passages of a new version that owners had edited, by their anchors.

    A passage is the same if its text is; otherwise a replacement is made inside the one passage that still holds the
    anchor. What is found nowhere is lost, and reported. Changes nothing in the database.
    """
    edits = list(ChunkEdit.objects.filter(document_id=document_id).order_by("pk"))
    if not edits:
        return Reapplied(drafts=tuple(drafts))
    desk = _Reapplying(drafts)
    for edit in edits:
        desk.take(edit)
    return desk.done()


def edits_settle(reapplied: Reapplied) -> None:
    """Write down, within the publishing transaction, what became of the edits of a document."""
    now = timezone.now()
    ChunkEdit.objects.filter(pk__in=reapplied.merged).delete()
    for edit_id, (anchor, text) in reapplied.moved.items():
        ChunkEdit.objects.filter(pk=edit_id).update(anchor_text=anchor, anchor_sha256=text_sha256(anchor), text=text)
    for state, ids in ((ChunkEdit.State.APPLIED, reapplied.applied), (ChunkEdit.State.LOST, reapplied.lost)):
        ChunkEdit.objects.filter(pk__in=ids).exclude(state=state).update(state=state, updated=now)


class _Reapplying:
    """The passages of one version while edits are being found again; anchors are looked up in the texts as cut."""

    def __init__(self, drafts: Sequence[ChunkDraft]) -> None:
        self._cut = {draft.ordinal: draft for draft in drafts if draft.kind != "section"}
        self._squeezed = {ordinal: _squeezed(draft.text) for ordinal, draft in self._cut.items()}
        self._drafts = {draft.ordinal: draft for draft in drafts}
        self._disabled: set[int] = set()
        self._questions: dict[int, tuple[str, ...]] = {}
        self._replaced_by: dict[int, int] = {}  # ordinal → edit id
        self._shown: dict[int, int] = {}
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
        """The ordinal of the passage with this text, and whether it is all of it; None unless there is just one."""
        wanted = _squeezed(anchor)
        same = [ordinal for ordinal, text in self._squeezed.items() if text == wanted]
        if same:
            return same[0], True
        around = [ordinal for ordinal, text in self._squeezed.items() if wanted in text]
        return (around[0], False) if len(around) == 1 else (None, False)

    def _replace(self, edit: ChunkEdit, ordinal: int, *, is_whole: bool) -> None:
        """The new text, or the passage with the new text in place of the anchor, which then is the edit."""
        now = self._drafts[ordinal]
        if not is_whole and now.text.count(edit.anchor_text) != 1:
            self._lost.append(edit.pk)
            return
        text = edit.text if is_whole else now.text.replace(edit.anchor_text, edit.text)
        self._drafts[ordinal] = replace(now, text=text, tokens=counter().count(text))
        first = self._replaced_by.setdefault(ordinal, edit.pk)
        self._shown.setdefault(ordinal, first)
        if first == edit.pk:
            self._applied.append(edit.pk)
        else:
            self._merged.append(edit.pk)
        if first != edit.pk or not is_whole:
            self._moved[first] = (self._cut[ordinal].text, text)

    def done(self) -> Reapplied:
        return Reapplied(
            drafts=tuple(self._drafts.values()),
            disabled=frozenset(self._disabled),
            questions=self._questions,
            edit_ids=self._shown,
            applied=tuple(self._applied),
            lost=tuple(self._lost),
            moved=self._moved,
            merged=tuple(self._merged),
        )


def text_sha256(text: str) -> str:
    """The name of a text in any layout: white space does not count."""
    return hashlib.sha256(_squeezed(text).encode()).hexdigest()


def _squeezed(text: str) -> str:
    return " ".join(text.split())
