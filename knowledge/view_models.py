"""What the source pages show: a document, a chunk among its neighbours, a page picture."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from django.core.paginator import Page, Paginator
from django.db.models import Q
from django.db.models.fields.files import FieldFile
from django.utils.safestring import SafeString

from accounts.errors import NotFoundError
from accounts.scope import Scope
from knowledge import selectors
from knowledge.drawn_pages import page_cached
from knowledge.models import (
    Chunk,
    Document,
    DocumentPicture,
    DocumentReview,
    DocumentVersion,
    KnowledgeSet,
    name_in_language,
)
from knowledge.page_picture import BoxOnPage
from knowledge.rendering import markdown_html, marked_places, sentence_texts
from knowledge.selectors.comparisons import DiffLine, texts_diff
from knowledge.selectors.keeping import OriginalsWithheldError
from knowledge.selectors.relations import RelationsOf, relations_of
from knowledge.selectors.reviews import review_of
from knowledge.selectors.waiting import Wait, wait_of
from knowledge.types import LINK_OF_LINES
from ragcore.text.markdown import plain_text
from ragcore.text.source_code import source_lines

CHUNKS_A_PAGE = 60
MAX_SENTENCES = 2000  # of a passage
LINKS = ("link", "url")  # attributes that hold the address of a document at its source
PDF = "application/pdf"
PICTURES = {  # what a browser shows and cannot run
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".bmp": "image/bmp",
}
_WEB = re.compile(r"https?://[^\s]+\Z", re.IGNORECASE)
INLINE = {".pdf": PDF, ".txt": "text/plain; charset=utf-8", **PICTURES}  # shown by the browser; others are saved


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkView:
    """A chunk as HTML."""

    id: int
    html: SafeString
    heading_path: tuple[str, ...]
    page: int | None
    edited: datetime | None = None  # when an owner wrote its text


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
    marks: tuple[int, ...]  # numbers of the marked sentences, for `page_picture`
    has_original: bool
    place: str  # its address at its source; "" where that has none, or the text around the passage is withheld
    review: DocumentReview | None  # by when it is to be reviewed, and when it last was
    relations: RelationsOf  # to other documents
    original_wording: tuple[
        DiffLine, ...
    ]  # what an owner changed in it; () where nothing, or it is not kept or withheld
    withheld: str  # "": nothing; set: of this set only cited passages are shown; version: of this version


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentView:
    """A document's live version in reading order."""

    document: Document
    version: DocumentVersion | None
    sets: tuple[str, ...]
    page: Page[Chunk]
    is_curated: bool  # whether the asker may change it on the desk
    review: DocumentReview | None
    relations: RelationsOf
    chunks: tuple[ChunkView, ...]
    wait: Wait | None  # of a document that nothing can be shown of yet

    @property
    def place(self) -> str:
        """As `place_of`."""
        return place_of(self.document)


def source_view(*, scope: Scope, chunk_id: int, claim: str = "", is_cited: bool = False) -> SourceView:
    """The chunk with the sentences that carry the claim marked.

    `is_cited`: an answer to the asker cites it. Then it is shown also where nothing around it may be opened.
    Raises NotFoundError, OriginalsWithheldError.
    """
    chunk = selectors.chunk_get(scope=scope, chunk_id=chunk_id, is_cited=is_cited)
    version, document = chunk.version, chunk.version.document
    withheld = _withheld(scope, chunk)
    before, after = (None, None) if withheld else _neighbours(chunk)
    return SourceView(
        document=document,
        version=version,
        is_live=document.live_version_id == version.pk,
        sets=set_names(scope=scope, document=document),
        chunk=_view(chunk, claim=claim, with_pictures=not withheld),
        before=_view(before) if before else None,
        after=_view(after) if after else None,
        pictures=() if withheld else picture_pages(chunk),
        marks=marked_places(chunk.text, claim),
        original_wording=() if withheld else _changes(chunk),
        has_original=bool(version.file) and not withheld,
        place="" if withheld else place_of(document, passage=chunk.text),
        review=review_of(scope=scope, document=document),
        relations=relations_of(scope=scope, document_ids=[document.pk]).get(document.pk, RelationsOf()),
        withheld=withheld,
    )


def place_of(document: Document, *, passage: str = "") -> str:
    """The web address of a document at its source, as the source or the field map says it; "" where nobody does.

    That of a passage of source code names its lines, where the source says how.
    """
    addresses = (*(document.metadata.get(name) for name in LINKS), document.external_id)
    place = next((text for text in addresses if isinstance(text, str) and _WEB.match(text)), "")
    lines, of_lines = source_lines(passage), document.metadata.get(LINK_OF_LINES)
    if not place or not lines or not isinstance(of_lines, str):
        return place
    numbers = of_lines.replace("{first}", str(lines[0].first)).replace("{last}", str(lines[-1].last))
    return f"{place}#{numbers}" if _WEB.match(f"{place}#{numbers}") else place


def _withheld(scope: Scope, chunk: Chunk) -> str:
    """Why nothing but the passage itself may be shown; "" where the asker may open what is around it."""
    try:
        selectors.chunk_open_check(scope=scope, chunk=chunk)
    except OriginalsWithheldError:
        return "set"
    except NotFoundError:
        return "version"
    return ""


def _changes(chunk: Chunk) -> tuple[DiffLine, ...]:
    """The original text of an edited passage against its own, sentence by sentence."""
    before = chunk.text_before_edit
    lines = texts_diff(before, chunk.text) if before else ()
    return tuple(replace(line, text=plain_text(line.text.lstrip("# "))) for line in lines)


def _neighbours(chunk: Chunk) -> tuple[Chunk | None, Chunk | None]:
    """The passages before and after one, in force in its version."""
    siblings = chunk.version.chunks.filter(kind__in=(Chunk.Kind.BODY, Chunk.Kind.WHOLE), retired=None)
    before = siblings.filter(ordinal__lt=chunk.ordinal).order_by("-ordinal").first()
    return before, siblings.filter(ordinal__gt=chunk.ordinal).order_by("ordinal").first()


def document_view(*, scope: Scope, document_id: int, number: int, chunk_id: int | None = None) -> DocumentView:
    """One page of a document's chunks: page `number`, or the one with the chunk.

    Raises NotFoundError, OriginalsWithheldError.
    """
    document = selectors.document_openable(scope=scope, document_id=document_id)
    chunks = selectors.chunks_of(scope=scope, document_id=document_id).exclude(kind=Chunk.Kind.SUMMARY)
    chunk = chunks.filter(pk=chunk_id).first() if chunk_id else None
    if chunk:
        number = chunks.filter(ordinal__lt=chunk.ordinal).count() // CHUNKS_A_PAGE + 1
    page = Paginator(chunks, CHUNKS_A_PAGE).get_page(number)
    return DocumentView(
        document=document,
        version=document.live_version,
        sets=set_names(scope=scope, document=document),
        page=page,
        is_curated=selectors.sets_curated(scope=scope).filter(documents=document).exists(),
        chunks=tuple(_view(chunk) for chunk in page),
        review=review_of(scope=scope, document=document),
        relations=relations_of(scope=scope, document_ids=[document.pk]).get(document.pk, RelationsOf()),
        wait=wait_of(document) if document.live_version_id is None else None,
    )


def set_names(*, scope: Scope, document: Document) -> tuple[str, ...]:
    """Names of the document's sets that the asker may read or manages."""
    sets = KnowledgeSet.objects.filter(
        Q(pk__in=selectors.sets_readable(scope=scope)) | Q(pk__in=selectors.sets_curated(scope=scope))
    )
    return tuple(sets.filter(documents=document).values_list(name_in_language(), flat=True))


def version_get(*, scope: Scope, document_id: int, number: int | None) -> DocumentVersion:
    """A version with its original file; None: the live one. Raises NotFoundError, OriginalsWithheldError."""
    document = selectors.document_openable(scope=scope, document_id=document_id)
    version = document.live_version if number is None else document.versions.filter(number=number).first()
    if version is None or not version.file:
        raise NotFoundError("original", document=document_id)
    return selectors.version_openable(scope=scope, version=version)


def rendition_get(*, scope: Scope, document_id: int, number: int | None) -> DocumentVersion:
    """A version of which a PDF was made. Raises NotFoundError."""
    version = version_get(scope=scope, document_id=document_id, number=number)
    if not version.rendition:
        raise NotFoundError("pdf", document=document_id)
    return version


def inline_type(version: DocumentVersion) -> str | None:
    """The content type under which a browser may show the original; None: only as a download."""
    return INLINE.get(Path(version.file.name or "").suffix.lower())


def picture_get(*, scope: Scope, version_id: int, name: str) -> DocumentPicture:
    """A picture inside a version that the asker may open. Raises NotFoundError, OriginalsWithheldError."""
    readable = selectors.documents_readable(scope=scope)
    rows = DocumentPicture.objects.select_related("version")
    picture = rows.filter(version=version_id, name=name, version__document__in=readable).first()
    if picture is None or picture.media_type not in PICTURES.values():
        raise NotFoundError("picture", version=version_id)
    selectors.version_openable(scope=scope, version=picture.version)
    return picture


# ── pages of PDFs, and of the PDFs that were made of slides and texts ───────────────────────────


def drawn_from(version: DocumentVersion) -> FieldFile | None:
    """The PDF whose pages stand for those of the version; None: it has no pages that could be drawn."""
    if version.rendition:
        return version.rendition
    return version.file if inline_type(version) == PDF and version.file else None


def picture_pages(chunk: Chunk) -> tuple[int, ...]:
    """Pages of the chunk that can be drawn: those of its boxes, or else its first page."""
    if drawn_from(chunk.version) is None:
        return ()
    pages = sorted({int(box[0]) for box in chunk.boxes}) or ([chunk.page] if chunk.page else [])
    return tuple(pages[:3])


def page_picture(
    *, scope: Scope, chunk_id: int, page: int | None, marks: Sequence[int] = (), is_clip: bool = False
) -> bytes:
    """PNG of a page of the chunk, its boxes highlighted, and the words of its sentences `marks`; kept on disk.

    `is_clip`: only the part of the page around what is highlighted. Raises NotFoundError and what `page_cached` raises.
    """
    chunk = selectors.chunk_get(scope=scope, chunk_id=chunk_id)
    pages = picture_pages(chunk)
    if not pages or (page is not None and page not in pages):
        raise NotFoundError("page_picture", chunk=chunk_id)
    page_number = page or pages[0]
    words = sentence_texts(chunk.text, frozenset(marks)) if marks else []
    if chunk.edited is not None:  # the page shows the original: only sentences that stand there, too, are marked
        original = frozenset(sentence_texts(before, range(MAX_SENTENCES))) if (before := chunk.text_before_edit) else ()
        words = [text for text in words if text in original]
    boxes = _boxes_on(chunk, page_number)
    return page_drawn(chunk.version, page_number, person=scope.user_id, boxes=boxes, words=words, is_clip=is_clip)


def page_of_version(*, scope: Scope, version_id: int, page: int) -> bytes:
    """PNG of a page without highlights. Raises NotFoundError and what `page_cached` raises."""
    readable = selectors.documents_readable(scope=scope)
    version = DocumentVersion.objects.filter(pk=version_id, document__in=readable).first()
    if version is None or drawn_from(version) is None:
        raise NotFoundError("page_picture", version=version_id)
    return page_drawn(selectors.version_openable(scope=scope, version=version), page, person=scope.user_id)


def page_drawn(
    version: DocumentVersion,
    page: int,
    *,
    person: object,
    boxes: Sequence[BoxOnPage] = (),
    words: Sequence[str] = (),
    is_clip: bool = False,
) -> bytes:
    """PNG of a page (1-based) of a version that the asker may open; kept on disk. See `page_cached` for its errors."""
    source = drawn_from(version)
    if source is None:
        raise NotFoundError("page_picture", version=version.pk)
    return page_cached(source, version, page, person=person, boxes=boxes, words=words, is_clip=is_clip)


def _boxes_on(chunk: Chunk, page: int) -> list[BoxOnPage]:
    return [(x0, y0, x1, y1) for number, x0, y0, x1, y1 in chunk.boxes if number == page]


def _view(chunk: Chunk, *, claim: str = "", with_pictures: bool = True) -> ChunkView:
    return ChunkView(
        id=chunk.pk,
        html=markdown_html(chunk.text, claim=claim, version_id=chunk.version_id if with_pictures else None),
        heading_path=tuple(chunk.heading_path),
        page=chunk.page,
        edited=chunk.edited,
    )
