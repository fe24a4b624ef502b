"""Text that only a picture holds: scanned pages, picture files, pictures inside documents (D9)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from ragcore.errors import EmptyDocumentError, ResourceLimitError
from ragcore.options import ParsingOptions
from ragcore.parsing.pixels import RenderedPage, decode_contained, render_in_batches
from ragcore.parsing.recognition_layout import ReadPage, read_blocks
from ragcore.parsing.recognition_turns import read_upright
from ragcore.ports import TextRecogniser
from ragcore.types import Block, ParsedDocument, Picture

Progress = Callable[[int, int], None]  # done, total: pages and pictures

MIN_PIXELS = 48  # the shorter side of a picture that may hold text
MIN_SCORE = 0.6  # of a line in a picture; photographs yield noise below
_SHOWN = re.compile(r"\(picture:([A-Za-z0-9._-]+)\)")


def recognised(
    document: ParsedDocument,
    content: bytes,
    *,
    name: str,
    recogniser: TextRecogniser,
    options: ParsingOptions,
    progress: Progress,
) -> ParsedDocument:
    """The document with the text of its unread pages and of its pictures, in reading order.

    Text of a page stands among the other pages, text of a picture right behind the block that shows it. Pages that
    could not be read stay in `unread_pages`. `progress` is called after each page and picture.
    Raises EmptyDocumentError when no text was found at all, RecognitionUnavailableError, and what rendering raises.
    """
    is_picture = _is_picture_file(document)
    wanted = options.recognise_pages if is_picture else options.recognise_pictures
    pictures = _pictures_to_read(document, options) if wanted else []
    pages = document.unread_pages if options.recognise_pages else ()
    reader = _Reader(recogniser, progress, total=len(pages) + len(pictures))
    if pages:
        document = reader.with_pages(document, content, name)
    if pictures:
        document = reader.with_pictures(document, pictures, are_pages=is_picture)
    if not any(block.text.strip() for block in document.blocks if block.kind != "image"):
        raise EmptyDocumentError(name=name, needs_ocr=bool(document.unread_pages), pages=document.pages)
    return document


def _is_picture_file(document: ParsedDocument) -> bool:
    return bool(document.pictures) and all(block.kind == "image" for block in document.blocks)


def _pictures_to_read(document: ParsedDocument, options: ParsingOptions) -> list[Picture]:
    """The first pictures that a block shows."""
    shown = {name for block in document.blocks if block.kind == "image" for name in _SHOWN.findall(block.text)}
    return [picture for picture in document.pictures if picture.name in shown][: options.max_pictures]


@dataclass(slots=True)
class _Reader:
    """Counts what is done."""

    recogniser: TextRecogniser
    progress: Progress
    total: int
    done: int = field(default=0)

    def with_pages(self, document: ParsedDocument, content: bytes, name: str) -> ParsedDocument:
        """The text of the unread pages replaces what stood there, such as a stamp."""
        frames = render_in_batches(content, name=name, pages=document.unread_pages)
        read = [page for frame in frames if (page := self._read(frame)) is not None]
        layout = read_blocks(read)
        seen = {page.number for page in read}
        found = {block.page for block in layout.blocks}
        kept = [block for block in document.blocks if block.page not in found]
        return replace(
            document,
            blocks=tuple(sorted([*kept, *layout.blocks], key=lambda block: block.page or 0)),
            title=document.title or layout.heading,
            unread_pages=tuple(page for page in document.unread_pages if page not in seen),
        )

    def with_pictures(
        self, document: ParsedDocument, pictures: Sequence[Picture], *, are_pages: bool
    ) -> ParsedDocument:
        """The text of each picture behind every block that shows it; the frames of a picture file are its pages."""
        texts: dict[str, list[Block]] = {}  # by digest: the same bytes are read once
        digests = {picture.name: sha256(picture.content).hexdigest() for picture in pictures}
        pages, title = document.pages, document.title
        for picture in pictures:
            if digests[picture.name] not in texts:
                frames = decode_contained([picture.content])[0] or ()
                read = [page for frame in frames if _is_large(frame) and (page := self._read(frame, MIN_SCORE))]
                layout = read_blocks(read, are_pages=len(read) > 1)
                is_document = are_pages and len(document.blocks) == 1
                texts[digests[picture.name]] = list(layout.blocks if is_document else _as_text(layout.blocks, picture))
                if is_document:
                    pages, title = len(frames), title or layout.heading
            self._step()
        blocks = _behind(document.blocks, {name: texts[digest] for name, digest in digests.items()})
        return replace(document, blocks=tuple(blocks), pages=pages, title=title)

    def _read(self, frame: RenderedPage, min_score: float | None = None) -> ReadPage | None:
        """A page with its lines; None if reading it took too long. Counts pages, not the frames of pictures."""
        try:
            page = read_upright(self.recogniser, frame)
        except ResourceLimitError:
            page = None
        if min_score is None:
            self._step()
        elif page is not None:
            page = replace(page, lines=tuple(line for line in page.lines if line.score >= min_score))
        return page

    def _step(self) -> None:
        self.done += 1
        self.progress(self.done, self.total)


def _is_large(frame: RenderedPage) -> bool:
    return min(frame.pixels.width, frame.pixels.height) >= MIN_PIXELS


def _as_text(blocks: Iterable[Block], picture: Picture) -> Iterator[Block]:
    """Tables, and one paragraph for what stands between them: the words of a chart are no headings or lists."""
    lines: list[str] = []
    for block in blocks:
        if block.kind == "table":
            if lines:
                yield Block(kind="paragraph", text="\n".join(lines), page=picture.page)
                lines = []
            yield Block(kind="table", text=block.text, page=picture.page)
        else:
            lines.append(block.text)
    if lines:
        yield Block(kind="paragraph", text="\n".join(lines), page=picture.page)


def _behind(blocks: Iterable[Block], texts: dict[str, list[Block]]) -> Iterator[Block]:
    for block in blocks:
        yield block
        if block.kind == "image":
            for name in _SHOWN.findall(block.text):
                yield from (replace(text, page=text.page or block.page) for text in texts.get(name, []))
