"""Owners' edits of passages: a new text, questions that it answers, or not to be found at all (architecture.md).

An edit takes effect at once: the passage in the live version is retired, which keeps it for citations, and a new one
takes its place. It is kept with its anchor, the text as it was cut, and done again whenever the document is ingested
(`knowledge.services.reapplying`).
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from accounts.errors import NotAllowedError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.engines import counter
from knowledge.errors import PassageChangedError
from knowledge.indexes.statistics import statistics_lock
from knowledge.models import Chunk, ChunkEdit
from knowledge.selectors import chunk_get
from knowledge.selectors.edits import edit_get
from knowledge.services.documents import document_managed
from knowledge.services.reapplying import text_sha256
from knowledge.services.reindexing import PreparedPassage, passage_lock, passage_prepare, passage_substitute
from ragcore.cleaning import normalise_text
from ragcore.errors import EmptyDocumentError

MAX_QUESTIONS = 20
Kind = ChunkEdit.Kind


def chunk_replace(*, scope: Scope, actor: User, chunk_id: int, text: str) -> Chunk:
    """Give a passage another text; returns the passage that supersedes it, searchable as of the commit.

    Raises NotFoundError, NotAllowedError, PassageChangedError where somebody was faster, EmptyDocumentError.
    """
    chunk = _editable(scope=scope, chunk_id=chunk_id)
    text = normalise_text(text)
    if not text.strip():
        raise EmptyDocumentError("A passage needs a text. To hide it, disable it.")
    fresh = passage_prepare(_successor(chunk, text=text), questions=_questions(chunk))
    with transaction.atomic():
        totals = passage_lock(chunk, fresh=fresh)
        fresh.chunk.edit = _edit_store(chunk, actor=actor, kind=Kind.REPLACE, text=text)
        audit_record(actor=actor, action="passage.change", target=chunk.version.document.title, chunk=chunk.pk)
        passage_substitute(old=chunk, fresh=fresh, totals=totals)
    return fresh.chunk


def chunk_questions_set(*, scope: Scope, actor: User, chunk_id: int, questions: Sequence[str]) -> Chunk:
    """The questions by which a passage is found besides its text; none takes them away. Raises as chunk_replace."""
    chunk = _editable(scope=scope, chunk_id=chunk_id)
    given = dict.fromkeys(q for question in questions if (q := " ".join(question.split())[:512]))
    wanted = list(given)[:MAX_QUESTIONS]
    fresh = passage_prepare(_successor(chunk, text=chunk.text, edit=chunk.edit), questions=wanted)
    with transaction.atomic():
        totals = passage_lock(chunk, fresh=fresh)
        edit = _edit_store(chunk, actor=actor, kind=Kind.QUESTIONS, questions=wanted)
        if not wanted:
            edit.delete()
        audit_record(actor=actor, action="passage.questions", target=chunk.version.document.title, chunk=chunk.pk)
        passage_substitute(old=chunk, fresh=fresh, totals=totals)
    return fresh.chunk


@transaction.atomic
def chunk_disable(*, scope: Scope, actor: User, chunk_id: int) -> ChunkEdit:
    """Take a passage out of every search. Raises as chunk_replace."""
    chunk = _editable(scope=scope, chunk_id=chunk_id)
    totals = passage_lock(chunk)
    edit = _edit_store(chunk, actor=actor, kind=Kind.DISABLE)
    Chunk.objects.filter(pk=chunk.pk).update(edit=edit)
    audit_record(actor=actor, action="passage.disable", target=chunk.version.document.title, chunk=chunk.pk)
    passage_substitute(old=chunk, fresh=None, totals=totals)
    return edit


def edit_undo(*, scope: Scope, actor: User, edit_id: int) -> Chunk | None:
    """Take an edit back; returns the passage as it is now, None where its passage is gone from the document.

    Raises NotFoundError, NotAllowedError, PassageChangedError where somebody was faster.
    """
    edit = edit_get(scope=scope, edit_id=edit_id)
    document = document_managed(scope=scope, document_id=edit.document_id)
    chunk = _chunk_of(edit)
    fresh = None if chunk is None else _without(chunk, edit)
    with transaction.atomic():
        if chunk is not None:
            totals = passage_lock(chunk, fresh=fresh)
        else:
            statistics_lock(tenant_id=document.tenant_id)
            if _chunk_of(edit_get(scope=scope, edit_id=edit_id)) is not None:  # it has come back meanwhile
                raise PassageChangedError
        audit_record(actor=actor, action="passage.undo", target=document.title, edit=edit.pk, kind=edit.kind)
        edit.delete()
        if chunk is not None and fresh is not None:
            passage_substitute(old=chunk, fresh=fresh, totals=totals)
    return None if fresh is None else fresh.chunk


# ── the passage ─────────────────────────────────────────────────────────────────────────────────


def _editable(*, scope: Scope, chunk_id: int) -> Chunk:
    """The passage, if the asker may edit it and it is part of the live version; `passage_lock` asks that again."""
    chunk = chunk_get(scope=scope, chunk_id=chunk_id)
    document = document_managed(scope=scope, document_id=chunk.version.document_id)
    if chunk.retired is not None or chunk.version_id != document.live_version_id:
        raise PassageChangedError
    if chunk.kind == Chunk.Kind.SECTION:
        raise NotAllowedError("The outline of a section is made from its passages; edit those.")
    return chunk


def _successor(chunk: Chunk, *, text: str, edit: ChunkEdit | None = None) -> Chunk:
    """A passage with this text for the place of another one; not stored."""
    return Chunk(
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


def _anchor(chunk: Chunk) -> str:
    return chunk.edit.anchor_text if chunk.edit is not None else chunk.text


# ── the edit ────────────────────────────────────────────────────────────────────────────────────


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


def _questions(chunk: Chunk) -> Sequence[str]:
    """What owners say that a passage answers."""
    rows = ChunkEdit.objects.filter(document_id=chunk.version.document_id, kind=Kind.QUESTIONS)
    found = rows.filter(anchor_sha256=text_sha256(_anchor(chunk))).first()
    return found.questions if found else ()


def _chunk_of(edit: ChunkEdit) -> Chunk | None:
    """The passage of the live version that shows an edit: edited, disabled, or found by further questions."""
    chunks = Chunk.objects.select_related("version__document", "edit")
    mine = chunks.filter(version_id=edit.document.live_version_id)
    if edit.kind == Kind.DISABLE:
        return mine.filter(edit=edit, retired__isnull=False).order_by("-pk").first()
    for chunk in mine.filter(retired=None).order_by("ordinal"):
        if text_sha256(_anchor(chunk)) == edit.anchor_sha256:
            return chunk
    return None


def _without(chunk: Chunk, edit: ChunkEdit) -> PreparedPassage | None:
    """The passage as it is without this edit; None where another one has taken the place of a disabled one."""
    if edit.kind == Kind.QUESTIONS:
        return passage_prepare(_successor(chunk, text=chunk.text, edit=chunk.edit), questions=())
    if edit.kind == Kind.REPLACE:
        return passage_prepare(_successor(chunk, text=edit.anchor_text), questions=_questions(chunk))
    if Chunk.objects.filter(version=chunk.version, ordinal=chunk.ordinal, retired=None).exists():
        return None
    same = ChunkEdit.objects.filter(document_id=edit.document_id, anchor_sha256=edit.anchor_sha256)
    shown = same.filter(kind=Kind.REPLACE).first()
    return passage_prepare(_successor(chunk, text=chunk.text, edit=shown), questions=_questions(chunk))
