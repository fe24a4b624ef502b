"""What the source pages show: a document, a chunk among its neighbours, a page picture (B3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings
from django.core.cache.backends.filebased import FileBasedCache
from django.core.paginator import Page, Paginator
from django.db.models import Q
from django.utils.safestring import SafeString

from accounts.errors import NotFoundError
from accounts.scope import Scope
from knowledge import selectors
from knowledge.models import Chunk, Document, DocumentVersion, KnowledgeSet
from knowledge.page_picture import BoxOnPage, page_png
from knowledge.rendering import markdown_html

CHUNKS_A_PAGE = 60
PICTURES_KEPT = 2000  # files of about 100 KB
PICTURE_AGE_SECONDS = 30 * 24 * 3600
PDF = "application/pdf"
INLINE = {".pdf": PDF, ".txt": "text/plain; charset=utf-8"}  # shown by the browser; others are saved


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkView:
    """A chunk as HTML."""

    id: int
    html: SafeString
    heading_path: tuple[str, ...]
    page: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceView:
    """A chunk of any version with what stands around it."""

    document: Document
    version: DocumentVersion
    is_live: bool  # False: the document has changed since the answer
    sets: tuple[str, ...]  # names of those that the asker may read
    chunk: ChunkView
    before: ChunkView | None
    after: ChunkView | None
    pictures: tuple[int, ...]  # pages that can be shown as pictures
    has_original: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentView:
    """A document's live version in reading order."""

    document: Document
    version: DocumentVersion | None
    sets: tuple[str, ...]
    page: Page[Chunk]
    chunks: tuple[ChunkView, ...]


def source_view(*, scope: Scope, chunk_id: int, claim: str = "") -> SourceView:
    """The chunk with the sentences that carry the claim marked. Raises NotFoundError."""
    chunk = selectors.chunk_get(scope=scope, chunk_id=chunk_id)
    version, document = chunk.version, chunk.version.document
    siblings = version.chunks.filter(Q(kind=Chunk.Kind.BODY) | Q(kind=Chunk.Kind.WHOLE))
    before = siblings.filter(ordinal__lt=chunk.ordinal).order_by("-ordinal").first()
    after = siblings.filter(ordinal__gt=chunk.ordinal).order_by("ordinal").first()
    return SourceView(
        document=document,
        version=version,
        is_live=document.live_version_id == version.pk,
        sets=set_names(scope=scope, document=document),
        chunk=_view(chunk, claim=claim),
        before=_view(before) if before else None,
        after=_view(after) if after else None,
        pictures=picture_pages(chunk),
        has_original=bool(version.file),
    )


def document_view(*, scope: Scope, document_id: int, number: int, chunk_id: int | None = None) -> DocumentView:
    """One page of a document's chunks: page `number`, or the one with the chunk. Raises NotFoundError."""
    document = selectors.document_get(scope=scope, document_id=document_id)
    chunks = selectors.chunks_of(scope=scope, document_id=document_id).exclude(kind=Chunk.Kind.SUMMARY)
    wanted = chunks.filter(pk=chunk_id).first() if chunk_id else None
    if wanted:
        number = chunks.filter(ordinal__lt=wanted.ordinal).count() // CHUNKS_A_PAGE + 1
    page = Paginator(chunks, CHUNKS_A_PAGE).get_page(number)
    return DocumentView(
        document=document,
        version=document.live_version,
        sets=set_names(scope=scope, document=document),
        page=page,
        chunks=tuple(_view(chunk) for chunk in page),
    )


def set_names(*, scope: Scope, document: Document) -> tuple[str, ...]:
    """Names of the document's sets that the asker may read or manages."""
    mine = KnowledgeSet.objects.filter(
        Q(pk__in=selectors.sets_readable(scope=scope)) | Q(pk__in=selectors.sets_managed(scope=scope))
    )
    return tuple(mine.filter(documents=document).values_list("name", flat=True))


def version_get(*, scope: Scope, document_id: int, number: int | None) -> DocumentVersion:
    """A version with its original file; None: the live one. Raises NotFoundError."""
    document = selectors.document_get(scope=scope, document_id=document_id)
    found = document.live_version if number is None else document.versions.filter(number=number).first()
    if found is None or not found.file:
        raise NotFoundError("The original of this document is not kept here.", document=document_id)
    return found


def inline_type(version: DocumentVersion) -> str | None:
    """The content type under which a browser may show the original; None: only as a download."""
    return INLINE.get(Path(version.file.name or "").suffix.lower())


def picture_pages(chunk: Chunk) -> tuple[int, ...]:
    """Pages of the chunk that can be drawn: those of a PDF's boxes, or else its first page."""
    if inline_type(chunk.version) != PDF:
        return ()
    pages = sorted({int(box[0]) for box in chunk.boxes}) or ([chunk.page] if chunk.page else [])
    return tuple(pages[:3])


def page_picture(*, scope: Scope, chunk_id: int, page: int | None) -> bytes:
    """PNG of a page of the chunk, its boxes highlighted; kept on disk. Raises NotFoundError, CorruptDocumentError."""
    chunk = selectors.chunk_get(scope=scope, chunk_id=chunk_id)
    pages = picture_pages(chunk)
    if not pages or (page is not None and page not in pages):
        raise NotFoundError("There is no picture of this page.", chunk=chunk_id)
    wanted = page or pages[0]
    key = f"{chunk.version.sha256}:{chunk.pk}:{wanted}"
    kept = _pictures().get(key)
    if kept is None:
        with chunk.version.file.open("rb") as file:
            kept = page_png(file.read(), page=wanted, boxes=_boxes_on(chunk, wanted))
        _pictures().set(key, kept)
    return bytes(kept)


def _boxes_on(chunk: Chunk, page: int) -> list[BoxOnPage]:
    return [(x0, y0, x1, y1) for number, x0, y0, x1, y1 in chunk.boxes if number == page]


@cache
def _pictures() -> FileBasedCache:
    """On disk: pictures are too large for Redis and cheap to lose."""
    limits = {"TIMEOUT": PICTURE_AGE_SECONDS, "OPTIONS": {"MAX_ENTRIES": PICTURES_KEPT}}
    return FileBasedCache(str(settings.DATA_DIR / "pictures"), limits)


def _view(chunk: Chunk, *, claim: str = "") -> ChunkView:
    return ChunkView(
        id=chunk.pk,
        html=markdown_html(chunk.text, claim=claim),
        heading_path=tuple(chunk.heading_path),
        page=chunk.page,
    )
