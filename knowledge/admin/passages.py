"""The passages of a document: pages that show them, and buttons that edit them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from math import ceil
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from PIL import Image

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page
from accounts.scope import Scope
from knowledge import view_models
from knowledge.admin.curation import ids_of, is_curator, run_action
from knowledge.admin.duplicates import DiffRow, side_by_side
from knowledge.file_errors import FileDamagedError, FileMissingError, PicturesBusyError
from knowledge.models import Chunk, ChunkEdit, Document, DocumentVersion
from knowledge.page_picture import POINTS_AN_INCH
from knowledge.rendering import markdown_html
from knowledge.selectors.comparisons import texts_diff
from knowledge.selectors.passages import edits_of, page_of_passage, passages_of, passages_on_page
from knowledge.services.edits import chunk_disable, chunk_questions_set, chunk_replace, edit_undo, text_sha256
from ragcore.errors import CorruptDocumentError, ResourceLimitError

PASSAGES = 20  # at a time, where there are no pages

MAX_PREVIEW = 200_000  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageView:
    """A passage with what its owner can do and undo."""

    chunk: Chunk
    html: SafeString
    original: SafeString  # as it was read, before an owner's edit; empty for what was written about the text
    number: int  # 1-based
    is_disabled: bool
    edit: ChunkEdit | None  # of its text, or that it is not to be found
    questions: ChunkEdit | None
    may_edit: bool
    boxes: tuple[tuple[float, float, float, float], ...]  # on this page: x, y, width, height in points
    pages: tuple[int, ...]  # other pages it is on, if pages can be turned


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalView:
    """The left side. One of: a page picture with its size in points, a picture, the text as it was read."""

    kind: str  # page | picture | text | busy | none
    address: str = ""
    width: float = 0
    height: float = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Both sides of one page of a version."""

    version: DocumentVersion
    original: OriginalView
    passages: tuple[PassageView, ...]
    number: int  # of the page, or of the group of passages
    numbers: int
    has_pages: bool  # False: the numbers count groups of passages
    total: int  # passages of the version
    lost: tuple[ChunkEdit, ...]
    edits: tuple[tuple[ChunkEdit, Sequence[DiffRow]], ...]  # with what changed in the text, by sentence


def spread_of(
    *, scope: Scope, document: Document, version: DocumentVersion, number: int, ordinal: int | None, may_edit: bool
) -> Spread:
    """Page `number`, or the one with the passage `ordinal`."""
    every = passages_of(scope=scope, version_id=version.pk)
    total = every.count()
    edits = tuple(edits_of(scope=scope, document_id=document.pk))
    has_pages = view_models.drawn_from(version) is not None and bool(version.pages)
    if has_pages:
        if ordinal is not None:
            number = page_of_passage(scope=scope, version_id=version.pk, ordinal=ordinal) or number
        numbers = version.pages or 1
        number = min(max(number, 1), numbers)
        chunks: Sequence[Chunk] = passages_on_page(scope=scope, version_id=version.pk, page=number)
    else:
        numbers = max(1, ceil(total / PASSAGES))
        if ordinal is not None:
            number = every.filter(ordinal__lt=ordinal).count() // PASSAGES + 1
        number = min(max(number, 1), numbers)
        chunks = list(Paginator(every, PASSAGES).page(number))
    is_live = version.pk == document.live_version_id
    page = number if has_pages else None
    return Spread(
        version=version,
        original=_original(version, page, person=scope.user_id),
        passages=tuple(_view(chunk, page=page, edits=edits, may_edit=may_edit and is_live) for chunk in chunks),
        number=number,
        numbers=numbers,
        has_pages=has_pages,
        total=total,
        lost=tuple(edit for edit in edits if edit.state == ChunkEdit.State.LOST),
        edits=tuple((edit, _changes(edit)) for edit in edits if edit.state == ChunkEdit.State.APPLIED),
    )


def _changes(edit: ChunkEdit) -> Sequence[DiffRow]:
    return side_by_side(texts_diff(edit.anchor_text, edit.text)) if edit.text else ()


def _original(version: DocumentVersion, page: int | None, *, person: object) -> OriginalView:
    if page is not None:
        return _page(version, page, person=person)
    if version.file and view_models.inline_type(version) in view_models.PICTURES.values():
        address = reverse("knowledge:original", args=[version.document_id])
        return OriginalView(kind="picture", address=f"{address}?version={version.number}")
    return OriginalView(kind="text")


def _page(version: DocumentVersion, page: int, *, person: object) -> OriginalView:
    """The picture is drawn now, so that its size is known and the browser finds it ready."""
    try:
        png = view_models.page_drawn(version, page, person=person)
    except PicturesBusyError:
        return OriginalView(kind="busy")
    except (CorruptDocumentError, ResourceLimitError, FileMissingError, FileDamagedError):
        return OriginalView(kind="none")
    with Image.open(BytesIO(png)) as image:
        scale = image.info.get("dpi", (2 * POINTS_AN_INCH,))[0] / POINTS_AN_INCH  # pixels a point
        width, height = image.size
    return OriginalView(
        kind="page",
        address=reverse("knowledge:version-page", args=[version.pk, page]),
        width=round(width / scale, 1),
        height=round(height / scale, 1),
    )


def _view(chunk: Chunk, *, page: int | None, edits: Iterable[ChunkEdit], may_edit: bool) -> PassageView:
    anchor = text_sha256(chunk.edit.anchor_text if chunk.edit else chunk.text)
    question_edits = [
        e for e in edits if e.kind == ChunkEdit.Kind.QUESTIONS and e.anchor_sha256 == anchor and e.questions
    ]
    html = markdown_html(chunk.text, version_id=chunk.version_id)
    on_pages = {int(box[0]) for box in chunk.boxes}
    return PassageView(
        chunk=chunk,
        html=html,
        original=_as_read(chunk, html),
        number=chunk.ordinal + 1,
        is_disabled=chunk.retired is not None,
        edit=chunk.edit,
        questions=question_edits[0] if question_edits else None,
        may_edit=may_edit and chunk.kind != Chunk.Kind.SECTION,
        boxes=tuple((x0, y0, round(x1 - x0, 1), round(y1 - y0, 1)) for n, x0, y0, x1, y1 in chunk.boxes if n == page),
        pages=tuple(sorted(on_pages - {page})) if page else (),
    )


def _as_read(chunk: Chunk, html: SafeString) -> SafeString:
    """What stands in the original: not an owner's new text, and not the summary of a section."""
    if chunk.kind == Chunk.Kind.SECTION:
        return SafeString("")
    return markdown_html(chunk.edit.anchor_text, version_id=chunk.version_id) if chunk.edit else html


# ── buttons of a passage ──────────────────────────────────────────────────────────────────────────


@admin_page("<int:pk>/passages/<int:chunk_id>/replace/", of=Document, name="knowledge_passage_replace")
def replace_view(request: HttpRequest, pk: int, chunk_id: int) -> HttpResponse:
    text = request.POST.get("text", "")
    message = _("Saved. The new text is searchable now.")
    return _acted(request, pk, lambda who: chunk_replace(chunk_id=chunk_id, text=text, **who), message)


@admin_page("<int:pk>/passages/<int:chunk_id>/questions/", of=Document, name="knowledge_passage_questions")
def questions_view(request: HttpRequest, pk: int, chunk_id: int) -> HttpResponse:
    questions = request.POST.get("questions", "").splitlines()
    message = _("Saved. The passage can now be found by these questions, too.")
    return _acted(request, pk, lambda who: chunk_questions_set(chunk_id=chunk_id, questions=questions, **who), message)


@admin_page("<int:pk>/passages/<int:chunk_id>/disable/", of=Document, name="knowledge_passage_disable")
def disable_view(request: HttpRequest, pk: int, chunk_id: int) -> HttpResponse:
    message = _("The passage is excluded from search.")
    return _acted(request, pk, lambda who: chunk_disable(chunk_id=chunk_id, **who), message)


@admin_page("<int:pk>/edits/<int:edit_id>/undo/", of=Document, name="knowledge_passage_undo")
def undo_view(request: HttpRequest, pk: int, edit_id: int) -> HttpResponse:
    return _acted(request, pk, lambda who: edit_undo(edit_id=edit_id, **who), _("The edit was undone."))


@admin_page("<int:pk>/passages/preview/", of=Document, name="knowledge_passage_preview", allowed=is_curator)
def preview_view(request: HttpRequest, pk: int) -> HttpResponse:
    """The HTML of a text that is being written."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    version = ids_of([request.POST.get("version", "")])
    return HttpResponse(markdown_html(request.POST.get("text", "")[:MAX_PREVIEW], version_id=next(iter(version), None)))


def _acted(request: HttpRequest, pk: int, act: Callable[[dict[str, Any]], object], message: Any) -> HttpResponse:
    """Back to the passage by its place in the document: its id is another one after each edit."""
    who = {"scope": admin_scope(request), "actor": admin_user(request)}
    place = next(iter(ids_of([request.POST.get("ordinal", "")])), 0)
    back = f"{reverse('admin:knowledge_document_change', args=[pk])}?ordinal={place}#passage-{place}"
    return run_action(request, lambda: act(who), done=message, back=back)
