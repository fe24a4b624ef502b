"""The passages of a version as owners see them: with disabled ones, page by page, and with their edits."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from accounts.errors import NotFoundError
from accounts.scope import Scope
from knowledge.models import Chunk, ChunkEdit, DocumentVersion, IndexEntry
from knowledge.selectors.documents import documents_readable

PAGES_OF_A_PASSAGE = 8  # a passage that begins so many pages earlier is not looked for on a page


def passages_of(*, scope: Scope, version_id: int) -> QuerySet[Chunk]:
    """Passages of a version in reading order: those in force, and those that an owner took out of every search."""
    readable = documents_readable(scope=scope).order_by().values("pk")
    disabled = Q(edit__kind=ChunkEdit.Kind.DISABLE, retired__isnull=False)
    rows = Chunk.objects.filter(Q(retired=None) | disabled, version=version_id, version__document__in=readable)
    return rows.select_related("edit__author").order_by("ordinal", "pk")


def passages_on_page(*, scope: Scope, version_id: int, page: int) -> list[Chunk]:
    """Passages that stand, in part, on a page (1-based)."""
    near = Q(page__range=(page - PAGES_OF_A_PASSAGE, page)) | Q(kind=Chunk.Kind.WHOLE)
    rows = passages_of(scope=scope, version_id=version_id).filter(near)
    return [chunk for chunk in rows if chunk.page == page or any(int(box[0]) == page for box in chunk.boxes)]


def page_of_passage(*, scope: Scope, version_id: int, ordinal: int) -> int | None:
    """The page on which a passage begins; None where there is no such passage or it has no page."""
    rows = passages_of(scope=scope, version_id=version_id).filter(ordinal=ordinal)
    return rows.values_list("page", flat=True).first()


@dataclass(frozen=True, slots=True)
class EntryCount:
    """How many entries of one kind a version has in the index."""

    representation: str
    embedding_model: str
    number: int


def entries_counted(*, scope: Scope, version: DocumentVersion) -> list[EntryCount]:
    """Entries of a version in the index, by kind and model."""
    readable = documents_readable(scope=scope).order_by().values("pk")
    rows = IndexEntry.objects.filter(version=version, version__document__in=readable).order_by()
    counted = rows.values_list("representation", "embedding_model").annotate(number=Count("pk"))
    return [EntryCount(*row) for row in counted.order_by("representation", "embedding_model")]


# ── edits ─────────────────────────────────────────────────────────────────────────────────────────


def edits_of(*, scope: Scope, document_id: int) -> QuerySet[ChunkEdit]:
    """Edits of a document that the asker may open, newest first; none of others."""
    readable = documents_readable(scope=scope).filter(pk=document_id)
    return ChunkEdit.objects.filter(document__in=readable).select_related("author")


def edit_get(*, scope: Scope, edit_id: int) -> ChunkEdit:
    """An edit of a document that the asker may open. Raises NotFoundError."""
    found = (
        ChunkEdit.objects.select_related("document")
        .filter(pk=edit_id, document__in=documents_readable(scope=scope))
        .first()
    )
    if found is None:
        raise NotFoundError("edit", edit=edit_id)
    return found
