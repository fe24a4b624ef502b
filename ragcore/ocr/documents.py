"""Text recognition (OCR) for documents: scanned pages, picture files, pictures inside documents."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Literal, get_args

from ragcore.errors import EmptyDocumentError, ResourceLimitError
from ragcore.ocr.layout import RecognisedPage, read_blocks, read_upright
from ragcore.options import ParsingOptions
from ragcore.parsing.image.pixels import PICTURES_A_BATCH, RenderedPage, decode_in_sandbox, render_in_batches
from ragcore.parsing.pdf.blocks import Layout
from ragcore.ports import TextRecogniser
from ragcore.types import Block, ParsedDocument, Picture

Progress = Callable[[int, int], None]  # done, total: pages and pictures
Frames = tuple[RenderedPage, ...]  # of a picture; most have one

MIN_PIXELS = 48  # the shorter side of a picture that may hold text
MIN_SCORE = 0.6  # of a line in a picture; photographs yield noise below
PICTURES_SECONDS = 60.0  # for the pictures of a document that has text of its own; some forty charts
_PICTURE = re.compile(r"!\[[^\[\]\n]{0,1000}\]\(picture:([A-Za-z0-9._-]+)\)")
_TABLE_SIGNS = re.compile(r"\|(?:\s*:?-{3,}:?\s*\|)*")
_SHOWN = re.compile(r"\(picture:([A-Za-z0-9._-]+)\)")
# left_out: over the limit of pictures, or not kept; time: the time was over; damaged: it cannot be decoded
Reason = Literal["left_out", "time", "damaged"]
_PREFIX = "pictures_unread_"


def recognise_document(
    document: ParsedDocument,
    content: bytes,
    *,
    name: str,
    recogniser: TextRecogniser,
    options: ParsingOptions,
    progress: Progress,
) -> ParsedDocument:
    """The document with the text of its unread pages and of its pictures, in reading order.

    Text of a page stands among the other pages, text of a picture right behind the block that shows it, or in the cell
    of a table that does. Pages that could not be read stay in `unread_pages`. `progress` is called after each page and
    picture.
    Pictures that were not read are counted in the metadata, see `unread_metadata`.
    Raises EmptyDocumentError when no text was found at all, RecognitionUnavailableError, and what rendering raises.
    """
    is_picture = _is_picture_file(document)
    is_enabled = options.recognise_pages if is_picture else options.recognise_pictures
    picture_names = _names_shown(document) if is_enabled else set()
    pictures = [picture for picture in document.pictures if picture.name in picture_names][: options.max_pictures]
    pages = document.unread_pages if options.recognise_pages else ()
    reader = _DocumentRecogniser(recogniser, progress, total=len(pages) + len(pictures))
    reader.unread["left_out"] = len(picture_names) - len(pictures)
    if pages:
        document = reader.with_pages(document, content, name)
    if pictures:
        document = reader.with_pictures(document, pictures, are_pages=is_picture)
    if not any(block.text.strip() for block in document.blocks if block.kind != "image"):
        raise EmptyDocumentError(name=name, needs_ocr=bool(document.unread_pages), pages=document.pages)
    return replace(document, metadata={**document.metadata, **unread_metadata(reader.unread)})


def _is_picture_file(document: ParsedDocument) -> bool:
    return bool(document.pictures) and all(block.kind == "image" for block in document.blocks)


def _names_shown(document: ParsedDocument) -> set[str]:
    """Names of the pictures that stand alone, within paragraphs and in cells; what a program quotes is no picture."""
    return {name for block in document.blocks if block.kind != "code" for name in _SHOWN.findall(block.text)}


@dataclass(slots=True)
class _DocumentRecogniser:
    """Counts what is done."""

    recogniser: TextRecogniser
    progress: Progress
    total: int
    count: int = 0
    unread: Counter[Reason] = field(default_factory=Counter)  # pictures

    def with_pages(self, document: ParsedDocument, content: bytes, name: str) -> ParsedDocument:
        """The text of the unread pages replaces what stood there, such as a stamp."""
        frames = render_in_batches(content, name=name, pages=document.unread_pages)
        read = [page for frame in frames if (page := self._read(frame)) is not None]
        layout = read_blocks(read)
        read_numbers = {page.number for page in read}
        pages = {block.page for block in layout.blocks}
        other_blocks = [block for block in document.blocks if block.page not in pages]
        return replace(
            document,
            blocks=tuple(sorted([*other_blocks, *layout.blocks], key=lambda block: block.page or 0)),
            title=document.title or layout.heading,
            unread_pages=tuple(page for page in document.unread_pages if page not in read_numbers),
        )

    def with_pictures(
        self, document: ParsedDocument, pictures: Sequence[Picture], *, are_pages: bool
    ) -> ParsedDocument:
        """The text of each picture behind every block that shows it; the frames of a picture file are its pages."""
        texts: dict[str, list[Block]] = {}  # by digest: the same bytes are read once
        digests = {picture.name: sha256(picture.content).hexdigest() for picture in pictures}
        pages, title = document.pages, document.title
        decoded = _decode_in_batches(list({digests[p.name]: p.content for p in pictures}.values()))
        end = math.inf if are_pages else time.monotonic() + PICTURES_SECONDS
        for picture in pictures:
            digest = digests[picture.name]
            if digest not in texts and time.monotonic() >= end:
                self.unread["time"] += 1
            elif digest not in texts:
                frames, layout = self._picture(next(decoded))
                is_document = are_pages and len(document.blocks) == 1
                texts[digest] = list(layout.blocks if is_document else _text_and_tables(layout.blocks, picture))
                if is_document:
                    pages, title = frames, title or layout.heading
            self._step()
        blocks = _insert_texts(document.blocks, {name: texts.get(digest, []) for name, digest in digests.items()})
        return replace(document, blocks=tuple(blocks), pages=pages, title=title)

    def _picture(self, frames: Frames | None) -> tuple[int, Layout]:
        """How many frames a picture has, and what stands in them."""
        if frames is None:
            self.unread["damaged"] += 1
            return 0, read_blocks([])
        large = [frame for frame in frames if _may_hold_text(frame)]
        read = [page for frame in large if (page := self._read(frame, MIN_SCORE))]
        self.unread["time"] += len(read) < len(large)
        return len(frames), read_blocks(read, are_pages=len(read) > 1)

    def _read(self, frame: RenderedPage, min_score: float | None = None) -> RecognisedPage | None:
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
        self.count += 1
        self.progress(self.count, self.total)


def _decode_in_batches(contents: Sequence[bytes]) -> Iterator[Frames | None]:
    """Pixels of each picture; some at a time, as starting the process takes longer than decoding one."""
    for start in range(0, len(contents), PICTURES_A_BATCH):
        yield from decode_in_sandbox(contents[start : start + PICTURES_A_BATCH])


def _may_hold_text(frame: RenderedPage) -> bool:
    return min(frame.pixels.width, frame.pixels.height) >= MIN_PIXELS


def _text_and_tables(blocks: Iterable[Block], picture: Picture) -> Iterator[Block]:
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


def _insert_texts(blocks: Iterable[Block], texts: dict[str, list[Block]]) -> Iterator[Block]:
    for block in blocks:
        if block.kind == "table":
            yield replace(block, text=_PICTURE.sub(lambda match: _with_words(match, texts), block.text))
            continue
        yield block
        if block.kind != "code":
            for name in _SHOWN.findall(block.text):
                yield from (replace(text, page=text.page or block.page) for text in texts.get(name, []))


def _with_words(match: re.Match[str], texts: Mapping[str, list[Block]]) -> str:
    """A picture in a cell, followed by its text on one line."""
    words = " ".join(" ".join(_TABLE_SIGNS.sub(" ", block.text).split()) for block in texts.get(match[1], []))
    return f"{match[0]} {words}" if words else match[0]


def unread_metadata(counts: Mapping[Reason, int]) -> dict[str, str]:
    """Entries for the metadata; reasons that did not occur are left out."""
    return {f"{_PREFIX}{reason}": str(count) for reason, count in counts.items() if count}


def unread_counts(document: ParsedDocument) -> dict[str, int]:
    """How many pictures of a document are unread, by reason. A file may write there, too: numbers only."""
    counts = (
        (name.removeprefix(_PREFIX), value) for name, value in document.metadata.items() if name.startswith(_PREFIX)
    )
    return {reason: int(value) for reason, value in counts if reason in get_args(Reason) and value.isdecimal()}
