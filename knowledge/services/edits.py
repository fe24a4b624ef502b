"""Owners' edits of passages: replace the text, add questions that it answers, or disable it (architecture.md).

An edit takes effect at once: the passage in the live version is retired, which keeps it for citations, and a new one
takes its place. The edit is stored with its anchor, the text as it was cut, and applied again whenever the document is
ingested (`knowledge.services.reingest`).

Slow work, writing representations and embedding them, is done before anything is locked. Then, in one transaction, the
lock of the tenant's statistics comes first: publishing and deleting take it first as well, so its holder knows which
version is live.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.errors import NotAllowedError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.embedder_fit import new_vectors_check
from knowledge.errors import PassageChangedError
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.lexical_statistics import Totals, entries_remove, passages_count, statistics_lock
from knowledge.indexes.sentence_vectors import EmbeddedSentences, PassagePlace, sentences_store
from knowledge.model_registry import counter, embedder
from knowledge.models import Chunk, ChunkEdit
from knowledge.selectors import chunk_get
from knowledge.selectors.options import pipeline_options
from knowledge.selectors.passages import edit_get
from knowledge.services.documents import document_managed
from knowledge.services.entities import entities_reread
from knowledge.services.ingestion.publish import NewEntry, entries_create
from knowledge.services.reingest import text_sha256
from knowledge.services.representations import Representation, document_represent, question_representation
from knowledge.services.sentence_vectors import sentences_embed
from ragcore.cleaning import normalise_text
from ragcore.errors import EmptyDocumentError
from ragcore.options import RepresentationOptions
from ragcore.ports import FloatArray
from ragcore.types import Block, ChunkDraft, ParsedDocument, Passage

MAX_QUESTIONS = 20
Kind = ChunkEdit.Kind


def chunk_replace(*, scope: Scope, actor: User, chunk_id: int, text: str) -> Chunk:
    """Replace the text of a passage; returns the new passage, which the commit makes searchable.

    Raises NotFoundError, NotAllowedError, PassageChangedError if somebody changed it first, EmptyDocumentError.
    """
    chunk = _editable(scope=scope, chunk_id=chunk_id)
    text = normalise_text(text)
    if not text.strip():
        raise EmptyDocumentError("passage")
    fresh = passage_prepare(passage_successor(chunk, text=text), questions=passage_questions(chunk))
    with transaction.atomic():
        totals = passage_lock(chunk, fresh=fresh)
        edit = _edit_store(chunk, actor=actor, kind=Kind.REPLACE, text=text)
        fresh.chunk.edit, fresh.chunk.edited = edit, edit.updated
        audit_record(actor=actor, action="passage.change", target=chunk.version.document.title, chunk=chunk.pk)
        passage_substitute(old=chunk, fresh=fresh, totals=totals)
    return fresh.chunk


def chunk_questions_set(*, scope: Scope, actor: User, chunk_id: int, questions: Sequence[str]) -> Chunk:
    """Set the questions that also find a passage; an empty list removes them. Raises as chunk_replace."""
    chunk = _editable(scope=scope, chunk_id=chunk_id)
    cleaned = dict.fromkeys(q for question in questions if (q := " ".join(question.split())[:512]))
    selected = list(cleaned)[:MAX_QUESTIONS]
    fresh = passage_prepare(passage_successor(chunk, text=chunk.text, edit=chunk.edit), questions=selected)
    with transaction.atomic():
        totals = passage_lock(chunk, fresh=fresh)
        edit = _edit_store(chunk, actor=actor, kind=Kind.QUESTIONS, questions=selected)
        if not selected:
            edit.delete()
        audit_record(actor=actor, action="passage.questions", target=chunk.version.document.title, chunk=chunk.pk)
        passage_substitute(old=chunk, fresh=fresh, totals=totals)
    return fresh.chunk


@transaction.atomic
def chunk_disable(*, scope: Scope, actor: User, chunk_id: int) -> ChunkEdit:
    """Remove a passage from every search. Raises as chunk_replace."""
    chunk = _editable(scope=scope, chunk_id=chunk_id)
    totals = passage_lock(chunk)
    edit = _edit_store(chunk, actor=actor, kind=Kind.DISABLE)
    Chunk.objects.filter(pk=chunk.pk).update(edit=edit)
    audit_record(actor=actor, action="passage.disable", target=chunk.version.document.title, chunk=chunk.pk)
    passage_substitute(old=chunk, fresh=None, totals=totals)
    return edit


def edit_undo(*, scope: Scope, actor: User, edit_id: int) -> Chunk | None:
    """Undo an edit; returns the passage as it is now, or None if the document no longer contains it.

    Raises NotFoundError, NotAllowedError, PassageChangedError if somebody changed it first.
    """
    edit = edit_get(scope=scope, edit_id=edit_id)
    document = document_managed(scope=scope, document_id=edit.document_id)
    chunk = edit_passage(edit)
    fresh = None if chunk is None else _without(chunk, edit)
    with transaction.atomic():
        if chunk is not None:
            totals = passage_lock(chunk, fresh=fresh)
        else:
            statistics_lock(tenant_id=document.tenant_id)
            if edit_passage(edit_get(scope=scope, edit_id=edit_id)) is not None:  # it has come back meanwhile
                raise PassageChangedError
        audit_record(actor=actor, action="passage.undo", target=document.title, edit=edit.pk, kind=edit.kind)
        edit.delete()
        if chunk is not None and fresh is not None:
            passage_substitute(old=chunk, fresh=fresh, totals=totals)
    return None if fresh is None else fresh.chunk


# ── the passage ─────────────────────────────────────────────────────────────────────────────────


def _editable(*, scope: Scope, chunk_id: int) -> Chunk:
    """The passage, if the asker may edit it and it is part of the live version; `passage_lock` checks that again."""
    chunk = chunk_get(scope=scope, chunk_id=chunk_id)
    document = document_managed(scope=scope, document_id=chunk.version.document_id)
    if chunk.retired is not None or chunk.version_id != document.live_version_id:
        raise PassageChangedError
    if chunk.kind == Chunk.Kind.SECTION:
        raise NotAllowedError("outline")
    return chunk


def passage_successor(chunk: Chunk, *, text: str, edit: ChunkEdit | None = None) -> Chunk:
    """An unsaved passage with this text, to replace another one."""
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
        edited=chunk.edited if edit is not None and text == chunk.text else None,
    )


def _anchor(chunk: Chunk) -> str:
    return chunk.edit.anchor_text if chunk.edit is not None else chunk.text


# ── the edit ────────────────────────────────────────────────────────────────────────────────────


def _edit_store(chunk: Chunk, *, actor: User, kind: str, text: str = "", questions: Sequence[str] = ()) -> ChunkEdit:
    """Store the edit, one per kind and anchor; an edited passage keeps the anchor of its first edit."""
    anchor = _anchor(chunk)
    values = {"text": text, "questions": list(questions), "author": actor, "state": ChunkEdit.State.APPLIED}
    return ChunkEdit.objects.update_or_create(
        document_id=chunk.version.document_id,
        kind=kind,
        anchor_sha256=text_sha256(anchor),
        defaults={"anchor_text": anchor, **values},
    )[0]


def passage_questions(chunk: Chunk) -> Sequence[str]:
    """The questions of owners for a passage."""
    rows = ChunkEdit.objects.filter(document_id=chunk.version.document_id, kind=Kind.QUESTIONS)
    edit = rows.filter(anchor_sha256=text_sha256(_anchor(chunk))).first()
    return edit.questions if edit else ()


def passage_is_edited(chunk: Chunk) -> bool:
    """Whether owners have replaced the text of a passage or given it questions."""
    return chunk.edit_id is not None or bool(passage_questions(chunk))


def edit_passage(edit: ChunkEdit) -> Chunk | None:
    """The passage of the live version that an edit replaced, disabled or gave questions."""
    chunks = Chunk.objects.select_related("version__document", "edit")
    chunks_of_version = chunks.filter(version_id=edit.document.live_version_id)
    if edit.kind == Kind.DISABLE:
        return chunks_of_version.filter(edit=edit, retired__isnull=False).order_by("-pk").first()
    for chunk in chunks_of_version.filter(retired=None).order_by("ordinal"):
        if text_sha256(_anchor(chunk)) == edit.anchor_sha256:
            return chunk
    return None


def _without(chunk: Chunk, edit: ChunkEdit) -> PreparedPassage | None:
    """The passage without this edit; None if another passage has replaced a disabled one."""
    if edit.kind == Kind.QUESTIONS:
        return passage_prepare(passage_successor(chunk, text=chunk.text, edit=chunk.edit), questions=())
    if edit.kind == Kind.REPLACE:
        return passage_prepare(passage_successor(chunk, text=edit.anchor_text), questions=passage_questions(chunk))
    if Chunk.objects.filter(version=chunk.version, ordinal=chunk.ordinal, retired=None).exists():
        return None
    same = ChunkEdit.objects.filter(document_id=edit.document_id, anchor_sha256=edit.anchor_sha256)
    replacement = same.filter(kind=Kind.REPLACE).first()
    return passage_prepare(
        passage_successor(chunk, text=chunk.text, edit=replacement), questions=passage_questions(chunk)
    )


# ── single passages of a live version in the index ────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class PreparedPassage:
    """An unsaved passage with its representations; `vectors` are float32[768] each."""

    chunk: Chunk
    representations: Sequence[Representation]
    vectors: Sequence[FloatArray] | FloatArray
    model: str
    sentences: EmbeddedSentences | None  # None: the model gives none, or the background makes them


def passage_prepare(chunk: Chunk, *, questions: Sequence[str]) -> PreparedPassage:
    """Write and embed the representations of a passage. Slow: call outside of transactions."""
    return passage_embed(chunk, _representations(chunk, questions))


def passage_embed(chunk: Chunk, representations: Sequence[Representation]) -> PreparedPassage:
    """Embed the representations of a passage. Slow: call outside of transactions."""
    model = embedder()
    vectors = model.embed_documents([r.embedded_text for r in representations])
    new_vectors_check(model)
    return PreparedPassage(chunk, representations, vectors, model.model, sentences_embed([_passage(chunk)], model)[0])


def _passage(chunk: Chunk) -> Passage:
    version = chunk.version
    return Passage(
        chunk=0,
        document=version.document_id,
        version=version.pk,
        text=chunk.text,
        title=version.document.title,
        heading_path=tuple(chunk.heading_path),
    )


def passage_lock(chunk: Chunk, *, fresh: PreparedPassage | None = None) -> Mapping[str, Totals]:
    """Lock a passage until the end of the transaction; returns the totals for `passage_substitute`.

    Raises PassageChangedError if it is no longer in the live version, or has changed since it was read.
    """
    languages = {r.language for r in fresh.representations} if fresh else set()
    totals = statistics_lock(tenant_id=chunk.version.document.tenant_id, languages=languages)
    as_read = Q(pk=chunk.pk, retired=chunk.retired, edit=chunk.edit_id)
    if not Chunk.objects.filter(as_read, version__live_for__isnull=False, version__live_for__deleted=None).exists():
        raise PassageChangedError
    return totals


def passage_substitute(*, old: Chunk, fresh: PreparedPassage | None, totals: Mapping[str, Totals]) -> None:
    """Retire a passage with its entries; if `fresh` is given, store and index it instead.

    Call under `passage_lock`, last in the transaction: the epoch is the last of all locks.
    """
    tenant_id = old.version.document.tenant_id
    entries_remove(tenant_id=tenant_id, chunk_ids=[old.pk])
    if old.retired is None:
        old.retired = timezone.now()
        old.save(update_fields=["retired"])
    if fresh is not None:
        _store(fresh, old, totals, tenant_id)
        entities_reread(versions=[old.version_id])
    epoch_advance(tenant_id=tenant_id, documents=[old.version.document_id])


def passage_reindex(*, fresh: PreparedPassage, totals: Mapping[str, Totals]) -> None:
    """Replace the entries of a passage that stays as it is; citations of it stay, too.

    Call under `passage_lock`, last in the transaction, as `passage_substitute`.
    """
    version = fresh.chunk.version
    entries_remove(tenant_id=version.document.tenant_id, chunk_ids=[fresh.chunk.pk])
    _index(fresh, totals, version.document.tenant_id)
    epoch_advance(tenant_id=version.document.tenant_id, documents=[version.document_id])


def _store(fresh: PreparedPassage, old: Chunk, totals: Mapping[str, Totals], tenant_id: int) -> None:
    fresh.chunk.save(force_insert=True)
    Chunk.objects.filter(parent=old, retired=None).update(parent=fresh.chunk)
    _index(fresh, totals, tenant_id)


def _index(fresh: PreparedPassage, totals: Mapping[str, Totals], tenant_id: int) -> None:
    chunk = fresh.chunk
    pairs = zip(fresh.representations, fresh.vectors, strict=True)
    entries = [NewEntry(chunk.pk, chunk.version_id, r, vector) for r, vector in pairs]
    entries_create(tenant_id=tenant_id, entries=entries, totals=totals, model=fresh.model)
    if fresh.sentences is not None:
        sentences_store([(PassagePlace(chunk.pk, chunk.version_id, tenant_id), fresh.sentences)])
    passages_count(tenant_id=tenant_id, chunk_ids=[chunk.pk], sign=+1)


def _representations(chunk: Chunk, questions: Sequence[str]) -> list[Representation]:
    """Representations of one passage, written by rules without a model because somebody is waiting."""
    document = chunk.version.document
    options: RepresentationOptions = pipeline_options(documents=[document])[document.pk].representations
    draft = ChunkDraft(
        ordinal=chunk.ordinal,
        text=chunk.text,
        tokens=chunk.tokens,
        kind="whole" if chunk.kind == Chunk.Kind.WHOLE else "body",
        heading_path=tuple(chunk.heading_path),
        page=chunk.page,
    )
    represented = document_represent(
        title=document.title,
        parsed=ParsedDocument(blocks=(Block(kind="paragraph", text=chunk.text),)),
        drafts=[draft],
        options=options,
        model=None,
        alive=lambda: None,
    )
    of_owners = [question_representation(ordinal=chunk.ordinal, title=document.title, text=q) for q in questions]
    return [*represented.representations, *of_owners]
