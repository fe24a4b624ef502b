"""OpenDocument presentations (.odp) slide by slide, like those of PowerPoint (D9)."""

from __future__ import annotations

from collections.abc import Iterator

from ragcore.parsing.office.odf import document_metadata, open_document
from ragcore.parsing.office.odf_text import DRAW, PRESENTATION, TEXT, TextReader
from ragcore.parsing.office.xml import Element
from ragcore.parsing.parser_errors import coded_errors, finished
from ragcore.text.scripts import language_of
from ragcore.types import Block, ParsedDocument

_FURNITURE = frozenset(("header", "footer", "date-time", "page-number", "page"))


class OdpParser:
    """Every slide; the page of a block is the number of its slide."""

    formats = (".odp",)

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises what `ragcore.parsing.parse` raises."""
        with coded_errors(name):
            reader, body = open_document(content, name=name, kind="presentation")
            slides = body.findall(DRAW + "page")
            blocks = [block for number, slide in enumerate(slides, 1) for block in _slide(reader, slide, number)]
            metadata = document_metadata(reader.package)
            return finished(
                blocks,
                name=name,
                title=metadata.pop("title", "") or _first_title(reader, slides),
                pages=len(slides),
                metadata=metadata | reader.shelf.metadata(),
                pictures=reader.shelf.pictures(),
            )


def _slide(reader: TextReader, slide: Element, number: int) -> Iterator[Block]:
    reader.page = number
    title = _title(slide)
    shapes = [one for one in slide if one is not title and one.get(PRESENTATION + "class") not in _FURNITURE]
    content = [block for one in shapes if one.tag != PRESENTATION + "notes" for block in reader.blocks([one])]
    notes = _notes(reader, slide)
    heading = reader.cell_text(title) if title is not None else ""
    is_chinese = language_of(" ".join([heading, notes, *(block.text for block in content)])) == "zh"
    heading = heading or (f"第 {number} 页" if is_chinese else f"Slide {number}")
    yield Block(kind="heading", text=heading, level=1, page=number)
    yield from content
    if notes:
        yield Block(kind="paragraph", text=f"{'备注：' if is_chinese else 'Notes: '}{notes}", page=number)


def _title(slide: Element) -> Element | None:
    return next((one for one in slide if one.get(PRESENTATION + "class") == "title"), None)


def _first_title(reader: TextReader, slides: list[Element]) -> str:
    titles = (reader.cell_text(title) for slide in slides if (title := _title(slide)) is not None)
    return next(filter(None, titles), "")


def _notes(reader: TextReader, slide: Element) -> str:
    """The speaker's notes on one line."""
    frames = [
        one
        for notes in slide.findall(PRESENTATION + "notes")
        for one in notes.iter(DRAW + "frame")
        if one.get(PRESENTATION + "class") == "notes"
    ]
    return " ".join(" ".join(reader.text(part).split()) for one in frames for part in one.iter(TEXT + "p")).strip()
