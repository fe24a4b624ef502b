"""What lies over the cells of a sheet: pictures, text boxes, and notes at cells."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

from ragcore.parsing.office.drawing_text import A, body_text
from ragcore.parsing.office.graphics import OfficePictureCollector, chart_blocks
from ragcore.parsing.office.workbook import S, cell_place, string_text
from ragcore.parsing.office.xml import Element, Package
from ragcore.types import Block

_XDR = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_THREADED = "{http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments}"
MAX_NOTES = 20_000


def sheet_overlays(package: Package, sheet: str, collector: OfficePictureCollector) -> Iterator[Block]:
    """Pictures, charts and text boxes of a sheet's drawing, in its order. `sheet`: "xl/worksheets/sheet1.xml"."""
    for drawing in package.related(sheet, "drawing").values():
        root = _optional(package, drawing)
        if root is None:
            continue
        pictures, charts = package.related(drawing, "image"), package.related(drawing, "chart")
        for node in root.iter(_XDR + "pic", _XDR + "sp", _C + "chart"):
            if next(node.iterancestors(_MC + "Fallback"), None) is not None:
                continue
            if node.tag == _XDR + "pic":
                yield from _picture(node, package, pictures, collector)
            elif node.tag == _XDR + "sp":
                body = node.find(_XDR + "txBody")
                if body is not None and (text := body_text(body)):
                    yield Block(kind="paragraph", text=text)
            elif (chart := _optional(package, charts.get(node.get(_R + "id") or "", ""))) is not None:
                yield from chart_blocks(chart)


def _picture(
    node: Element, package: Package, pictures: dict[str, str], collector: OfficePictureCollector
) -> Iterator[Block]:
    blip = next(node.iter(A + "blip"), None)
    part = pictures.get(blip.get(_R + "embed") or "") if blip is not None else None
    blob = package.blob(part) if part else None
    alt = next((name.get("descr") or "" for name in node.iter(_XDR + "cNvPr")), "")
    if part and blob and (text := collector.markdown(part, blob, alt=alt)):
        yield Block(kind="image" if text.startswith("![") else "paragraph", text=text)


def cell_notes(package: Package, sheet: str) -> dict[tuple[int, int], str]:
    """The notes at the cells of a sheet by row and column from 1, each on one line; a thread is one note."""
    notes: dict[tuple[int, int], str] = {}
    for part in package.related(sheet, "comments").values():
        root = _optional(package, part)
        authors = [node.text or "" for node in root.iter(S + "author")] if root is not None else []
        for node in root.iter(S + "comment") if root is not None else ():
            place, text = cell_place(node.get("ref") or ""), node.find(S + "text")
            if place and text is not None and (words := _without_author(string_text(text), authors)):
                notes[place] = words
    threads: dict[tuple[int, int], list[str]] = {}
    for part in package.related(sheet, "threadedComment").values():
        root = _optional(package, part)
        for node in root.iter(_THREADED + "threadedComment") if root is not None else ():
            place, text = cell_place(node.get("ref") or ""), " ".join((node.findtext(_THREADED + "text") or "").split())
            if place and text:
                threads.setdefault(place, []).append(text)
    notes |= {place: "; ".join(texts) for place, texts in threads.items()}  # older programs see a copy with an excuse
    return dict(list(notes.items())[:MAX_NOTES])


def _without_author(text: str, authors: list[str]) -> str:
    """A note on one line, without the name that Excel puts in front."""
    words = text.strip()
    for author in authors:
        if author and (match := re.match(rf"{re.escape(author)}\s*[:：]\s*", words)):
            words = words[match.end() :]
            break
    return " ".join(words.split())


def _optional(package: Package, part: str) -> Element | None:
    """The root of a part; None where it is missing or no XML."""
    try:
        return package.xml(part) if part else None
    except etree.XMLSyntaxError:
        return None
