"""Documents by what they say, and their passages: those in force for readers, all of them for keepers."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from accounts.errors import NotFoundError
from accounts.scope import Scope
from knowledge.models import Chunk, ChunkEdit, Document, DocumentVersion, IndexEntry
from knowledge.selectors.documents import documents_readable
from knowledge.selectors.keeping import (
    document_openable,
    documents_kept,
    documents_openable,
    is_kept,
)

PAGES_OF_A_PASSAGE = 8  # a passage that begins so many pages earlier is not looked for on a page


def document_list(
    *,
    scope: Scope,
    set_id: int | None = None,
    state: str | None = None,
    q: str | None = None,
    external_id: str | None = None,
) -> QuerySet[Document]:
    """Documents that the asker may see, newest first; `q` is looked for in title, external id and text.

    Nothing is looked for in the texts of documents whose originals are withheld from the asker.
    """
    documents = documents_readable(scope=scope)
    if set_id is not None:
        documents = documents.filter(sets=set_id)
    if state is not None:
        documents = documents.filter(state=state)
    if external_id is not None:
        documents = documents.filter(external_id=external_id)
    if q:
        in_text = Exists(Chunk.objects.filter(version_id=OuterRef("live_version_id"), retired=None, text__icontains=q))
        opened = Q(pk__in=documents_openable(scope=scope).order_by().values("pk"))
        documents = documents.filter(Q(title__icontains=q) | Q(external_id__icontains=q) | (Q(in_text) & opened))
    return documents.order_by("-created", "-id")


def chunks_of(*, scope: Scope, document_id: int) -> QuerySet[Chunk]:
    """The chunks of the live version in reading order. Raises NotFoundError, OriginalsWithheldError."""
    document = document_openable(scope=scope, document_id=document_id)
    return Chunk.objects.filter(version_id=document.live_version_id, retired=None).order_by("ordinal")


def chunk_get(*, scope: Scope, chunk_id: int, is_cited: bool = False) -> Chunk:
    """A passage that the asker may open: one of the live version that is in force, as a keeper any.

    `is_cited`: an answer to the asker cites it; then its text stays readable as long as the document is, also where the
    originals are withheld or the version was replaced. Raises NotFoundError, OriginalsWithheldError.
    """
    rows = Chunk.objects.select_related("version__document", "edit")
    chunk = rows.filter(pk=chunk_id, version__document__in=documents_readable(scope=scope)).first()
    if chunk is None:
        raise NotFoundError("passage", chunk=chunk_id)
    if not is_cited:
        chunk_open_check(scope=scope, chunk=chunk)
    return chunk


def chunks_readable(*, scope: Scope) -> QuerySet[Chunk]:
    """Passages of which the asker may read the text in other people's answers and runs.

    Those that are in force, of documents that may be read; as a keeper of the document any.
    """
    readable = documents_readable(scope=scope).order_by().values("pk")
    documents = documents_kept(scope=scope).order_by().values("pk")
    in_force = Q(version__live_for__isnull=False, retired=None)
    return Chunk.objects.filter(in_force | Q(version__document__in=documents), version__document__in=readable)


def chunk_open_check(*, scope: Scope, chunk: Chunk) -> None:
    """Raise NotFoundError or OriginalsWithheldError if the asker may open neither the passage nor what is around it."""
    document = document_openable(scope=scope, document_id=chunk.version.document_id)
    is_in_force = chunk.retired is None and chunk.version_id == document.live_version_id
    if not is_in_force and not is_kept(scope=scope, document=document):
        raise NotFoundError("passage", chunk=chunk.pk)


def passages_of(*, scope: Scope, version_id: int) -> QuerySet[Chunk]:
    """Passages of a version in reading order: those in force, and for keepers those that were taken out of searches.

    Of other versions than the live one only keepers see any.
    """
    is_keeper = Q(version__document__in=documents_kept(scope=scope).order_by().values("pk"))
    opened = Q(version__document__in=documents_openable(scope=scope).order_by().values("pk"))
    in_force = Q(retired=None) & (is_keeper | (opened & Q(version__live_for__isnull=False)))
    disabled = Q(edit__kind=ChunkEdit.Kind.DISABLE, retired__isnull=False) & is_keeper
    rows = Chunk.objects.filter(in_force | disabled, version=version_id)
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
    """Edits of a document that the asker keeps, newest first; none of others."""
    documents = documents_kept(scope=scope).filter(pk=document_id)
    return ChunkEdit.objects.filter(document__in=documents).select_related("author")


def edit_get(*, scope: Scope, edit_id: int) -> ChunkEdit:
    """An edit of a document that the asker may open. Raises NotFoundError."""
    edit = (
        ChunkEdit.objects.select_related("document")
        .filter(pk=edit_id, document__in=documents_readable(scope=scope))
        .first()
    )
    if edit is None:
        raise NotFoundError("edit", edit=edit_id)
    return edit
