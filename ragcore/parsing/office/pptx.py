"""PowerPoint presentations slide by slide: title, text in reading order, tables, charts, pictures, notes.

Shapes are ordered by recursive cuts along the widest empty stripe. Source: Nagy and Seth, "Hierarchical representation
of optically scanned documents" (1984), known as the X-Y cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from types import MappingProxyType
from typing import Any

from pptx import Presentation
from pptx.enum.shapes import PP_PLACEHOLDER
from pptx.shapes.shapetree import SlideShapeFactory

from ragcore.labels import gettext_noop as _
from ragcore.parsing.number_words import number_text
from ragcore.parsing.office.drawing_text import A, body_text, paragraph_text
from ragcore.parsing.office.graphics import OfficePictureCollector, chart_blocks, diagram_list
from ragcore.parsing.office.mending import mended_package
from ragcore.parsing.office.package import check_package
from ragcore.parsing.office.xml import Element, bounded_int, read_xml
from ragcore.parsing.parser_errors import build_document, coded_errors, require_content
from ragcore.parsing.tables import Cell, table_markdown
from ragcore.text.scripts import language_of
from ragcore.types import Block, ParsedDocument

_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_SHAPES = frozenset(_P + name for name in ("sp", "pic", "grpSp", "graphicFrame", "cxnSp"))
_FURNITURE = (PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.SLIDE_NUMBER, PP_PLACEHOLDER.HEADER)
_BULLETED = (PP_PLACEHOLDER.BODY, PP_PLACEHOLDER.OBJECT, PP_PLACEHOLDER.VERTICAL_BODY, PP_PLACEHOLDER.VERTICAL_OBJECT)
MAX_GROUPS = 20  # groups in groups
MAX_DEPTH = 8
_SCHEMES = {
    "alphaLc": "lowerLetter",
    "alphaUc": "upperLetter",
    "romanLc": "lowerRoman",
    "romanUc": "upperRoman",
    "ea1Chs": "chineseCounting",
    "ea1Cht": "chineseCounting",
    "ea1JpnKor": "japaneseCounting",
    "circleNumDb": "decimalEnclosedCircle",
    "circleNumWdBlack": "decimalEnclosedCircle",
    "circleNumWdWhite": "decimalEnclosedCircle",
}


class PptxParser:
    """Every slide, hidden ones too; the page of a block is the number of its slide."""

    formats = (".pptx",)
    media_types = {"application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx"}
    label = _("PowerPoint")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises what `ragcore.parsing.parse` raises.

        python-pptx reads XML without resolving entities, and follows no external link.
        """
        require_content(content, name=name)
        check_package(content, name=name)
        with coded_errors(name):
            presentation = Presentation(BytesIO(mended_package(content)))
            reader = _SlideReader()
            slides = list(presentation.slides)
            blocks = [block for number, slide in enumerate(slides, 1) for block in reader.slide(slide, number)]
            properties = presentation.core_properties
            metadata = {"author": properties.author, "subject": properties.subject, "keywords": properties.keywords}
            return build_document(
                blocks,
                name=name,
                title=reader.title,
                pages=len(slides),
                metadata={key: value for key, value in metadata.items() if value} | reader.collector.metadata(),
                pictures=reader.collector.pictures(),
            )


class _SlideReader:
    """Reads slides in order; the pictures and the title are its state."""

    def __init__(self) -> None:
        self.collector = OfficePictureCollector()
        self.title = ""

    def slide(self, slide: Any, page: int) -> list[Block]:
        """A heading, the content in reading order, the notes; nothing for a slide without any of them."""
        title = slide.shapes.title
        heading = " ".join(body_text(title._element).split()) if title is not None else ""
        skipped = title._element if heading else None
        content = [block for shape in _ordered(slide.shapes, skipped) for block in self._shape(shape, page, 0)]
        notes = _notes(slide)
        if not (heading or notes or any(block.text.strip() for block in content)):
            return []
        slide_text = " ".join([heading, notes, *(block.text for block in content)])
        is_chinese = language_of(slide_text) == "zh"
        self.title = self.title or heading
        heading = heading or (f"第 {page} 页" if is_chinese else f"Slide {page}")
        blocks = [Block(kind="heading", text=heading, level=1, page=page), *content]
        if notes:
            blocks.append(Block(kind="paragraph", text=f"{'备注：' if is_chinese else 'Notes: '}{notes}", page=page))
        return blocks

    def _shape(self, shape: Any, page: int, depth: int) -> Iterator[Block]:
        element = shape._element
        if element.tag == _P + "grpSp":
            if depth < MAX_GROUPS:
                for inner in _ordered(shape.shapes, None):
                    yield from self._shape(inner, page, depth + 1)
        elif element.tag == _P + "graphicFrame":
            yield from self._frame(shape, page)
        elif not (shape.is_placeholder and shape.placeholder_format.type in _FURNITURE):
            yield from self._picture(shape, page)
            if (body := element.find(_P + "txBody")) is not None:
                addresses = {key: link.target_ref for key, link in shape.part.rels.items() if link.is_external}
                yield from text_blocks(body, page=page, bulleted=_is_bulleted(shape), addresses=addresses)

    def _frame(self, shape: Any, page: int) -> Iterator[Block]:
        """A table, a chart, a diagram, or the picture of an embedded object."""
        if shape.has_table:
            yield Block(kind="table", text=table_markdown(_table_cells(shape._element)), page=page)
        elif shape.has_chart:
            yield from chart_blocks(read_xml(shape.chart_part.blob), page=page)
        elif (diagram := next(shape._element.iter(_DGM + "relIds"), None)) is not None:
            blob = _related(shape, diagram.get(_R + "dm"))
            yield Block(kind="list", text=diagram_list(read_xml(blob)) if blob else "", page=page)
        else:
            yield from self._picture(shape, page)

    def _picture(self, shape: Any, page: int) -> Iterator[Block]:
        """The picture that a shape shows or is filled with; linked pictures stay where they are."""
        alt = next((node.get("descr") or "" for node in shape._element.iter(_P + "cNvPr")), "")
        for blip in shape._element.iter(A + "blip"):
            key = blip.get(_R + "embed")
            if (blob := _related(shape, key)) is not None:
                part = str(shape.part.related_part(key).partname)
                text = self.collector.markdown(part, blob, alt=alt, page=page)
                yield Block(kind="image" if text.startswith("![") else "paragraph", text=text, page=page)


def _ordered(shapes: Any, skipped: Element | None) -> list[Any]:
    """The shapes of a slide or group as a reader takes them; those without a place come last."""
    slide_shapes = [
        SlideShapeFactory(element, shapes) for element in _elements(shapes._spTree) if element is not skipped
    ]
    lying = [shape for shape in slide_shapes if None not in (shape.left, shape.top, shape.width, shape.height)]
    order = reading_order([_place(shape) for shape in lying])
    return order + [shape for shape in slide_shapes if not any(shape is placed for placed in lying)]


def _elements(tree: Element) -> Iterator[Element]:
    """Shapes; where a file offers alternatives, the first that has words or a picture."""
    for node in tree:
        if node.tag in _SHAPES:
            yield node
        elif node.tag == _MC + "AlternateContent":
            for choice in node:
                if any(True for _ in choice.iter(A + "t", A + "blip", _DGM + "relIds", _MATH + "t")):
                    yield from (inner for inner in choice if inner.tag in _SHAPES)
                    break


def _place(shape: Any) -> Placed:
    x, y = int(shape.left), int(shape.top)
    return Placed(shape=shape, x0=x, y0=y, x1=x + int(shape.width), y1=y + int(shape.height))


def _is_bulleted(shape: Any) -> bool:
    """Placeholders for text have bullets unless the slide or its layout turns them off."""
    if not shape.is_placeholder or shape.placeholder_format.type not in _BULLETED:
        return False
    index = shape.placeholder_format.idx
    layout = [holder for holder in shape.part.slide_layout.placeholders if holder.placeholder_format.idx == index]
    for holder in (shape, *layout):
        first = holder._element.find(f"{_P}txBody/{A}lstStyle/{A}lvl1pPr")
        if first is not None and first.find(A + "buNone") is not None:
            return False
    return True


def _table_cells(frame: Element) -> list[list[Cell]]:
    """Cells with their spans; PowerPoint keeps empty ones where another reaches."""
    rows: list[list[Cell]] = []
    for row in frame.iter(A + "tr"):
        cells = [cell for cell in row.findall(A + "tc") if not {"hMerge", "vMerge"} & set(cell.keys())]
        rows.append(
            [
                Cell(text=_table_cell_text(cell), rows=_span(cell, "rowSpan"), columns=_span(cell, "gridSpan"))
                for cell in cells
            ]
        )
    return rows


def _table_cell_text(cell: Element) -> str:
    return " ".join(filter(None, (paragraph_text(paragraph) for paragraph in cell.iter(A + "p"))))


def _span(cell: Element, name: str) -> int:
    return bounded_int(cell.get(name), 1, low=1)


def _related(shape: Any, key: str | None) -> bytes | None:
    """The bytes of a part that the slide holds; None for links and for what is not there."""
    link = shape.part.rels.get(key) if key else None
    return None if link is None or link.is_external else bytes(link.target_part.blob)


def _notes(slide: Any) -> str:
    """The speaker's notes on one line."""
    frame = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    return " ".join(body_text(frame._txBody).split()) if frame is not None else ""


def text_blocks(
    body: Element, *, page: int, bulleted: bool, addresses: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Block]:
    """Paragraphs and lists of a text body. `bulleted`: whether paragraphs are bullets unless they say otherwise.

    `addresses`: where links lead, by relationship id.
    """
    items: list[str] = []
    numbers: dict[int, int] = {}
    for paragraph in body.findall(A + "p"):
        text = paragraph_text(paragraph, addresses)
        if not text:
            continue
        depth = _depth(paragraph)
        mark = _mark(paragraph, depth, numbers, bulleted)
        if mark:
            items.append(f"{'  ' * depth}{mark} {' '.join(text.split())}")
            continue
        yield from _list(items, page)
        numbers.clear()
        yield Block(kind="paragraph", text=text, page=page)
    yield from _list(items, page)


def _list(items: list[str], page: int) -> Iterator[Block]:
    """What has gathered; one bullet alone is a paragraph."""
    if len(items) == 1:
        yield Block(kind="paragraph", text=items[0].lstrip().removeprefix("- "), page=page)
    elif items:
        yield Block(kind="list", text="\n".join(items), page=page)
    items.clear()


def _depth(paragraph: Element) -> int:
    properties = paragraph.find(A + "pPr")
    return bounded_int(properties.get("lvl"), 0, high=MAX_DEPTH) if properties is not None else 0


def _mark(paragraph: Element, depth: int, numbers: dict[int, int], bulleted: bool) -> str:
    """ "-", "3." or "" for a paragraph without a mark; numbers start again below another parent."""
    properties: Any = paragraph.find(A + "pPr")
    for deeper in [other for other in numbers if other > depth]:
        del numbers[deeper]
    if properties is not None:
        if properties.find(A + "buNone") is not None:
            return ""
        if (automatic := properties.find(A + "buAutoNum")) is not None:
            numbers[depth] = numbers.get(depth, bounded_int(automatic.get("startAt"), 1) - 1) + 1
            return _numbered(numbers[depth], automatic.get("type") or "")
        if properties.find(A + "buChar") is not None or properties.find(A + "buBlip") is not None:
            return "-"
    return "-" if bulleted or depth else ""


def _numbered(number: int, kind: str) -> str:
    """A number in a scheme of PowerPoint (ST_TextAutonumberScheme), such as "arabicParenR": 3)."""
    scheme, _, sign = re.sub(r"(?<=[a-z0-9])(Period|ParenBoth|ParenR|Plain|Minus)$", r" \1", kind).partition(" ")
    text = number_text(number, _SCHEMES.get(scheme, "decimal"))
    match sign:
        case "ParenBoth":
            return f"({text})"
        case "ParenR":
            return f"{text})"
        case "Plain":
            return text
        case "Minus":
            return f"{text}-"
    return f"{text}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A shape and where it lies, in the units of its surroundings; the top left corner is 0, 0."""

    shape: Any
    x0: int
    y0: int
    x1: int
    y1: int


def reading_order(shapes: Sequence[Placed]) -> list[Any]:
    """Shapes from the top left to the bottom right, columns kept together where a wide gap divides them."""
    if len(shapes) < 2:
        return [placed.shape for placed in shapes]
    rows, row_gap = _cut(shapes, vertical=True)
    columns, column_gap = _cut(shapes, vertical=False)
    parts = columns if column_gap > row_gap else rows
    if len(parts) < 2:
        return [placed.shape for placed in sorted(shapes, key=lambda placed: (placed.y0, placed.x0))]
    return [shape for part in parts for shape in reading_order(part)]


def _cut(shapes: Sequence[Placed], *, vertical: bool) -> tuple[list[list[Placed]], int]:
    """The shapes in two parts on both sides of the widest empty stripe, and its width; -1 where there is none."""
    ends = [(placed.y0, placed.y1) if vertical else (placed.x0, placed.x1) for placed in shapes]
    order = sorted(range(len(shapes)), key=lambda place: ends[place])
    best, best_gap, reached = 0, -1, ends[order[0]][1]
    for place in range(1, len(order)):
        start, end = ends[order[place]]
        if start - reached > best_gap:
            best, best_gap = place, start - reached
        reached = max(reached, end)
    parts = [order[:best], order[best:]] if best_gap >= 0 else [order]
    return [[shapes[place] for place in part] for part in parts], best_gap
