"""Excel workbooks: each sheet as a heading and its tables, with the values that people see."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from xml.etree.ElementTree import iterparse  # nosec B405 (no entities: the package is checked)

from ragcore.errors import ResourceLimitError
from ragcore.labels import gettext_noop as _
from ragcore.parsing.links import linked
from ragcore.parsing.office.graphics import OfficePictureCollector
from ragcore.parsing.office.package import check_package
from ragcore.parsing.office.sheet_overlays import cell_notes, sheet_overlays
from ragcore.parsing.office.workbook import S, Sheet, Workbook, cell_place, column_number
from ragcore.parsing.office.xml import Package, core_properties, transitional
from ragcore.parsing.parser_errors import build_document, coded_errors, require_content
from ragcore.parsing.sheets import Grid, Merge, grid_blocks, with_note
from ragcore.parsing.titles import is_default_title
from ragcore.types import Block, ParsedDocument

MAX_CELLS = 1_000_000  # with text, of one workbook
MAX_MERGES = 50_000
MAX_LINKS = 20_000
MAX_MERGED_ROWS = 5_000  # of one range; longer ones are formatting

_RANGE = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7}):\$?([A-Z]{1,3})\$?(\d{1,7})")
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


class XlsxParser:
    """Every sheet, hidden ones too; notes stand with their cells. Macros are not looked at."""

    formats = (".xlsx", ".xlsm")
    media_types = {"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx"}
    label = _("Excel")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Formulas show the value that the file keeps, else the formula in code marks; `formulas_without_value` of the
        metadata counts these.

        Raises what `ragcore.parsing.parse` raises.
        """
        require_content(content, name=name)
        check_package(content, name=name)
        with coded_errors(name):
            package = Package(content)
            reader = _WorkbookReader(package, name)
            blocks = list(reader.blocks())
            properties = core_properties(package)
            title = properties.pop("title", "")
            return build_document(
                blocks if any(block.kind != "heading" for block in blocks) else [],
                name=name,
                title="" if is_default_title(title) else title,
                metadata=properties | reader.collector.metadata() | reader.metadata(),
                pictures=reader.collector.pictures(),
            )


@dataclass(frozen=True, slots=True)
class _Marks:
    """What a sheet says of its cells behind their rows."""

    merges: list[Merge]
    links: dict[tuple[int, int], str]  # row and column -> address


class _WorkbookReader:
    """Reads sheets in order; the pictures and the count of cells are its state."""

    def __init__(self, package: Package, name: str) -> None:
        self.package = package
        self.collector = OfficePictureCollector()
        self._workbook = Workbook(package, name=name)
        self._name = name
        self._cells = 0

    def blocks(self) -> Iterator[Block]:
        """The blocks of all sheets."""
        for sheet in self._workbook.sheets():
            yield from self.sheet(sheet)

    def metadata(self) -> dict[str, str]:
        count = self._workbook.unvalued
        return {"formulas_without_value": str(count)} if count else {}

    def sheet(self, sheet: Sheet) -> Iterator[Block]:
        """The sheet's name, its tables and texts, what lies over its cells; nothing for an empty sheet."""
        rows = {number: cells for number, cells in self._rows(sheet) if cells}
        overlays = list(sheet_overlays(self.package, sheet.part, self.collector))
        notes = cell_notes(self.package, sheet.part)
        for (row, column), note in notes.items():
            cells = rows.setdefault(row, {})
            text = cells.get(column, "")
            cells[column] = with_note(text, note)
        if rows or overlays:
            marks = self._marks(sheet.part) if rows else _Marks([], {})
            for (row, column), address in marks.links.items():
                if cell_text := rows.get(row, {}).get(column):
                    rows[row][column] = linked(cell_text, address)
            yield Block(kind="heading", text=" ".join(sheet.title.split()), level=1)
            yield from grid_blocks(Grid(rows=dict(sorted(rows.items())), merges=marks.merges))
            yield from overlays

    def _rows(self, sheet: Sheet) -> Iterator[tuple[int, dict[int, str]]]:
        for number, cells in self._workbook.rows(sheet):
            self._cells += len(cells)
            if self._cells > MAX_CELLS:
                raise ResourceLimitError(name=self._name, limit=f"{MAX_CELLS} cells")
            yield number, cells

    def _marks(self, path: str) -> _Marks:
        """The merged ranges of a sheet, and the addresses that its cells lead to."""
        merges: list[Merge] = []
        links: dict[tuple[int, int], str] = {}
        blob = self.package.blob(path)
        if blob is None or not (b"mergeCell" in blob or b"hyperlink" in blob):
            return _Marks(merges, links)
        addresses = {key: link.target for key, link in self.package.relations(path).items() if link.is_external}
        for _event, node in iterparse(BytesIO(transitional(blob))):  # noqa: S314 (no entities: the package is checked)
            if node.tag == S + "mergeCell" and (merge := _parse_merge(node.get("ref") or "")):
                merges.append(merge)
            elif node.tag == S + "hyperlink":
                place, address = cell_place(node.get("ref") or ""), addresses.get(node.get(_R + "id") or "")
                if place and address and len(links) < MAX_LINKS:
                    links[place] = address
            if len(merges) > MAX_MERGES:
                raise ResourceLimitError(name=self._name, limit=f"{MAX_MERGES} merged ranges")
            if node.tag.endswith("}row"):
                node.clear()
        return _Marks(merges, links)


def _parse_merge(reference: str) -> Merge | None:
    match = _RANGE.fullmatch(reference)
    if match is None or int(match[4]) - int(match[2]) > MAX_MERGED_ROWS:
        return None
    return Merge(top=int(match[2]), left=column_number(match[1]), bottom=int(match[4]), right=column_number(match[3]))
