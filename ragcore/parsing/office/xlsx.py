"""Excel workbooks: each sheet as a heading and its tables, with the values that people see."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from xml.etree.ElementTree import iterparse  # nosec B405 (no entities: the package is checked)

from openpyxl import load_workbook

from ragcore.errors import ResourceLimitError
from ragcore.parsing.office.graphics import OfficePictureCollector
from ragcore.parsing.office.number_formats import display
from ragcore.parsing.office.package import check_package
from ragcore.parsing.office.xml import Package
from ragcore.parsing.parser_errors import build_document, coded_errors, require_content
from ragcore.parsing.sheets import Grid, Merge, grid_blocks
from ragcore.parsing.titles import is_default_title
from ragcore.types import Block, ParsedDocument

MAX_CELLS = 1_000_000  # with text, of one workbook
MAX_MERGES = 50_000
MAX_MERGED_ROWS = 5_000  # of one range; longer ones are formatting

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_STRICT = "{http://purl.oclc.org/ooxml/spreadsheetml/main}"
_RANGE = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7}):\$?([A-Z]{1,3})\$?(\d{1,7})")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_XDR = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_RELATIONSHIP = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"


class XlsxParser:
    """Every sheet, hidden ones too. Formulas count with the values that the file keeps; macros are not looked at."""

    formats = (".xlsx", ".xlsm")
    media_types = {"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx"}

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises what `ragcore.parsing.parse` raises."""
        require_content(content, name=name)
        check_package(content, name=name)
        with coded_errors(name):
            workbook = load_workbook(BytesIO(content), read_only=True, data_only=True, keep_links=False)
            reader = _WorkbookReader(Package(content), name)
            blocks = [block for sheet in workbook.worksheets for block in reader.sheet(sheet)]
            properties = workbook.properties
            metadata = {"author": properties.creator, "subject": properties.subject, "keywords": properties.keywords}
            return build_document(
                blocks if any(block.kind != "heading" for block in blocks) else [],
                name=name,
                title="" if is_default_title(properties.title or "") else properties.title,
                metadata={key: value for key, value in metadata.items() if value} | reader.collector.metadata(),
                pictures=reader.collector.pictures(),
            )


class _WorkbookReader:
    """Reads sheets in order; the pictures and the count of cells are its state."""

    def __init__(self, package: Package, name: str) -> None:
        self.package = package
        self.collector = OfficePictureCollector()
        self._name = name
        self._cells = 0

    def sheet(self, sheet: Any) -> Iterator[Block]:
        """The sheet's name, its tables and texts, its pictures; nothing for an empty sheet."""
        path = sheet._worksheet_path.lstrip("/")  # openpyxl says nowhere else which part a sheet is
        rows = {number: cells for number, cells in self._rows(sheet) if cells}
        pictures = list(sheet_pictures(self.package, path, self.collector))
        if rows or pictures:
            yield Block(kind="heading", text=" ".join(sheet.title.split()), level=1)
            yield from grid_blocks(Grid(rows=rows, merges=self._merges(path) if rows else []))
            yield from pictures

    def _rows(self, sheet: Any) -> Iterator[tuple[int, dict[int, str]]]:
        """Row numbers and the texts by column of the cells that have one."""
        sheet.reset_dimensions()  # what the file declares is often wrong
        for number, row in enumerate(sheet.iter_rows(), 1):
            cells = {cell.column: text for cell in row if cell.value is not None and (text := _cell_text(cell))}
            self._cells += len(cells)
            if self._cells > MAX_CELLS:
                raise ResourceLimitError(name=self._name, limit=f"{MAX_CELLS} cells")
            yield number, cells

    def _merges(self, path: str) -> list[Merge]:
        """The merged ranges of a sheet, which openpyxl leaves out when it streams."""
        merges: list[Merge] = []
        blob = self.package.blob(path)
        if blob is None or b"mergeCell" not in blob:
            return merges
        for _, node in iterparse(BytesIO(blob)):  # noqa: S314 (no entities: the package is checked)
            if node.tag in (_MAIN + "mergeCell", _STRICT + "mergeCell") and (
                merge := _parse_merge(node.get("ref") or "")
            ):
                merges.append(merge)
            if len(merges) > MAX_MERGES:
                raise ResourceLimitError(name=self._name, limit=f"{MAX_MERGES} merged ranges")
            if node.tag.endswith("}row"):
                node.clear()
        return merges


def _cell_text(cell: Any) -> str:
    value = cell.value
    if isinstance(value, str):
        return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), value).strip() if "_x" in value else value.strip()
    return display(value, cell.number_format or "General")


def _parse_merge(reference: str) -> Merge | None:
    match = _RANGE.fullmatch(reference)
    if match is None or int(match[4]) - int(match[2]) > MAX_MERGED_ROWS:
        return None
    return Merge(top=int(match[2]), left=_column_number(match[1]), bottom=int(match[4]), right=_column_number(match[3]))


def _column_number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def sheet_pictures(package: Package, sheet: str, collector: OfficePictureCollector) -> Iterator[Block]:
    """Image blocks of a sheet's drawing, in its order. `sheet` is the part, such as "xl/worksheets/sheet1.xml"."""
    for drawing in _related_parts(package, sheet, "/drawing").values():
        root = package.xml(drawing)
        pictures = _related_parts(package, drawing, "/image")
        for picture in root.iter(_XDR + "pic") if root is not None else ():
            blip = next(picture.iter(_A + "blip"), None)
            part = pictures.get(blip.get(_R + "embed") or "") if blip is not None else None
            blob = package.blob(part) if part else None
            alt = next((node.get("descr") or "" for node in picture.iter(_XDR + "cNvPr")), "")
            if part and blob and (text := collector.markdown(part, blob, alt=alt)):
                yield Block(kind="image" if text.startswith("![") else "paragraph", text=text)


def _related_parts(package: Package, part: str, kind: str) -> dict[str, str]:
    """Parts that a part refers to, by relationship id; links out of the package are left alone."""
    folder, name = posixpath.split(part)
    root = package.xml(f"{folder}/_rels/{name}.rels")
    return {
        link.get("Id") or "": posixpath.normpath(posixpath.join("/", folder, link.get("Target") or "")).lstrip("/")
        for link in (root.iter(_RELATIONSHIP) if root is not None else ())
        if (link.get("Type") or "").endswith(kind) and link.get("TargetMode") != "External"
    }
