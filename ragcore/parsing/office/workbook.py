"""The cells of an Excel workbook, straight from its parts (ECMA-376 part 1, 18).

Only what a cell shows is read: values, the formats of numbers, and formulas where the file keeps no value. Whatever
else is odd in a file, such as a fill without a pattern or a colour of six digits, cannot keep its text from being read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import cached_property
from io import BytesIO

from lxml import etree
from openpyxl.formula.translate import Translator, TranslatorError
from openpyxl.styles.numbers import BUILTIN_FORMATS, is_date_format, is_timedelta_format
from openpyxl.utils.datetime import CALENDAR_MAC_1904, CALENDAR_WINDOWS_1900, from_excel

from ragcore.errors import CorruptDocumentError
from ragcore.parsing.links import linked
from ragcore.parsing.office.number_formats import GENERAL, display, display_text
from ragcore.parsing.office.xml import Element, Package, is_on, transitional
from ragcore.parsing.raised import LOWERED, RAISED, levelled_text
from ragcore.parsing.struck import struck_run, with_struck_marks

S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_REFERENCE = re.compile(r"\$?([A-Za-z]{1,3})\$?(\d{1,7})")
_LINK = re.compile(
    r"\s*HYPERLINK\(\s*\"(?P<address>[^\"]{1,2000})\"\s*(?:,\s*\"(?P<words>[^\"]{1,1000})\"\s*)?\)\s*", re.IGNORECASE
)
_LEVELS = {"superscript": RAISED, "subscript": LOWERED}
MAX_COLUMN = 16_384
# Formats that have a number and no code in the file, where Excel speaks Chinese (18.8.30)
_YEAR_MONTH_DAY, _YEAR_MONTH, _MONTH_DAY = 'yyyy"年"m"月"d"日"', 'yyyy"年"m"月"', 'm"月"d"日"'
_CHINESE_FORMATS = {
    **dict.fromkeys((27, 36, 50, 52, 57), _YEAR_MONTH),
    **dict.fromkeys((28, 29, 51, 53, 54, 58), _MONTH_DAY),
    31: _YEAR_MONTH_DAY,
    30: "m-d-yy",
    **dict.fromkeys((32, 34, 55), "h:mm"),
    **dict.fromkeys((33, 35, 56), "h:mm:ss"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A sheet's name and part, such as "xl/worksheets/sheet1.xml"."""

    title: str
    part: str


class Workbook:
    """A package that holds a workbook. Raises CorruptDocumentError where it holds none."""

    def __init__(self, package: Package, *, name: str) -> None:
        self._package = package
        self._part = next(iter(package.related("", "officeDocument").values()), "xl/workbook.xml")
        root = package.xml(self._part)
        if root is None or root.tag != S + "workbook" or not package.is_declared:
            raise CorruptDocumentError(name=name, problem="no workbook")
        self._root = root
        self.unvalued = 0  # formulas that were shown because the file keeps no value

    def sheets(self) -> Iterator[Sheet]:
        """The sheets with cells, hidden ones too, in their order."""
        relations = self._package.relations(self._part)
        for node in self._root.iter(S + "sheet"):
            relation = relations.get(node.get(_R + "id") or "")
            if relation is not None and relation.kind == "worksheet" and not relation.is_external:
                yield Sheet(title=node.get("name") or "", part=relation.target)

    def rows(self, sheet: Sheet) -> Iterator[tuple[int, dict[int, str]]]:
        """Row numbers from 1 and the texts by column from 1 of the cells that have one."""
        blob = self._package.blob(sheet.part)
        if blob is None:
            return
        masters: dict[str, tuple[str, str]] = {}  # shared formulas: index -> formula and the cell that has it
        number = 0
        for _, row in _elements(blob, "row"):
            declared = row.get("r") or ""
            number = int(declared) if declared.isdecimal() else number + 1
            cells: dict[int, str] = {}
            column = 0
            for cell in row.iterfind(S + "c"):
                match = _REFERENCE.fullmatch(cell.get("r") or "")
                column = column_number(match[1]) if match else column + 1
                if column <= MAX_COLUMN and (text := self._cell_text(cell, masters)):
                    is_struck = self._is_struck(cell)
                    cells[column] = with_struck_marks(struck_run(text)) if is_struck else text
            row.clear()
            while row.getprevious() is not None:  # rows that were read
                del row.getparent()[0]
            yield number, cells

    # ── cells ───────────────────────────────────────────────────────────────────────────────────

    def _cell_text(self, cell: Element, masters: dict[str, tuple[str, str]]) -> str:
        kind: str = cell.get("t") or "n"
        value: str | None = cell.findtext(S + "v")
        formula = cell.find(S + "f")
        shown_formula = _formula(formula, cell.get("r") or "", masters) if formula is not None else ""
        if kind == "inlineStr":
            inline = cell.find(S + "is")
            return self._text(string_text(inline), cell) if inline is not None else ""
        if (link := _LINK.fullmatch(shown_formula)) is not None:
            return linked(
                self._text(value if value and kind == "str" else link["words"] or link["address"], cell),
                link["address"],
            )
        if not value:
            if not shown_formula or kind == "str" and value is not None:
                return ""
            self.unvalued += 1
            return f"`={shown_formula}`"
        match kind:
            case "s":
                return self._text(self._shared(value), cell)
            case "b":
                return "TRUE" if value.strip() == "1" else "FALSE"
            case "str":
                return self._text(value, cell)
            case "e":
                return value.strip()
            case "d":
                return self._iso_date(value, cell)
        return self._number(value, cell)

    def _text(self, text: str, cell: Element) -> str:
        text = _unescaped(text).strip()
        return display_text(text, self._format(cell)) if text else ""

    def _shared(self, index: str) -> str:
        strings = self._strings
        return strings[int(index)] if index.strip().isdecimal() and int(index) < len(strings) else ""

    def _number(self, value: str, cell: Element) -> str:
        code = self._format(cell)
        try:
            number = float(value)
        except ValueError:
            return value.strip()
        whole = int(value) if value.strip().lstrip("-").isdecimal() else number
        if is_date_format(code):
            try:
                return display(from_excel(number, self._epoch, timedelta=is_timedelta_format(code)), code)
            except (OverflowError, ValueError):
                return display(whole)
        return display(whole, code)

    def _iso_date(self, value: str, cell: Element) -> str:
        """A date as strict files write it: ISO 8601."""
        code = self._format(cell)
        for read in (datetime.fromisoformat, date.fromisoformat, time.fromisoformat):
            try:
                moment = read(value.strip())
            except ValueError:
                continue
            return display(moment.replace(tzinfo=None) if isinstance(moment, datetime | time) else moment, code)
        return value.strip()

    def _format(self, cell: Element) -> str:
        style = cell.get("s") or "0"
        formats = self._formats
        return formats[int(style)] if style.isdecimal() and int(style) < len(formats) else GENERAL

    def _is_struck(self, cell: Element) -> bool:
        style = cell.get("s") or "0"
        return style.isdecimal() and int(style) in self._struck

    # ── parts beside the sheets ─────────────────────────────────────────────────────────────────

    @cached_property
    def _epoch(self) -> datetime:
        properties = self._root.find(S + "workbookPr")
        is_mac = properties is not None and properties.get("date1904") in ("1", "true")
        epoch: datetime = CALENDAR_MAC_1904 if is_mac else CALENDAR_WINDOWS_1900
        return epoch

    @cached_property
    def _strings(self) -> list[str]:
        """The shared strings; empty where the part is missing."""
        blob = self._blob("sharedStrings")
        strings: list[str] = []
        for _, node in _elements(blob, "si") if blob else ():
            strings.append(string_text(node))
            node.clear()
        return strings

    @cached_property
    def _formats(self) -> list[str]:
        """The number format of each cell style."""
        root = self._styles
        if root is None:
            return []
        codes = {node.get("numFmtId"): node.get("formatCode") or GENERAL for node in root.iter(S + "numFmt")}
        styles = root.find(S + "cellXfs")
        numbers = [node.get("numFmtId") or "0" for node in styles] if styles is not None else []
        return [codes.get(number) or _builtin(number) for number in numbers]

    @cached_property
    def _struck(self) -> frozenset[int]:
        """The cell styles whose font is struck through."""
        fonts = self._styles.find(S + "fonts") if self._styles is not None else None
        styles = self._styles.find(S + "cellXfs") if self._styles is not None else None
        if fonts is None or styles is None:
            return frozenset()
        struck = {str(number) for number, font in enumerate(fonts) if is_struck(font)}
        return frozenset(number for number, style in enumerate(styles) if style.get("fontId") in struck)

    @cached_property
    def _styles(self) -> Element | None:
        """The root of the part that says how cells look; None where it is missing or cannot be read."""
        blob = self._blob("styles")
        try:
            return etree.fromstring(transitional(blob), _parser()) if blob else None
        except etree.XMLSyntaxError:
            return None

    def _blob(self, kind: str) -> bytes | None:
        part = next(iter(self._package.related(self._part, kind).values()), "")
        return self._package.blob(part or f"xl/{kind}.xml")


def string_text(node: Element) -> str:
    """A string with or without runs, its raised and lowered figures told apart; readings of Japanese are left out."""
    pieces: list[tuple[str, int]] = []
    for child in node:
        if child.tag == S + "t":
            pieces.append((child.text or "", 0))
        elif child.tag == S + "r":
            mark = child.find(f"{S}rPr/{S}vertAlign")
            level = _LEVELS.get(mark.get("val") or "", 0) if mark is not None else 0
            text = child.findtext(S + "t") or ""
            pieces.append((struck_run(text) if is_struck(child.find(S + "rPr")) else text, level))
    return with_struck_marks(levelled_text(pieces))


def is_struck(font: Element | None) -> bool:
    """Whether the properties of a font strike its letters through."""
    mark = font.find(S + "strike") if font is not None else None
    return mark is not None and is_on(mark.get("val"))


def column_number(letters: str) -> int:
    """1 for "A", 27 for "AA"."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def cell_place(reference: str) -> tuple[int, int] | None:
    """Row and column from 1 of a reference such as "B7"; None for anything else."""
    match = _REFERENCE.fullmatch(reference)
    return (int(match[2]), column_number(match[1])) if match else None


def _formula(node: Element, reference: str, masters: dict[str, tuple[str, str]]) -> str:
    """A formula without its sign of equality; of one that cells share, each has its own references."""
    text, index = (node.text or "").strip(), node.get("si") or ""
    if node.get("t") != "shared":
        return text
    if text:
        masters[index] = (text, reference)
        return text
    if index not in masters:
        return ""
    master, origin = masters[index]
    try:
        return str(Translator(f"={master}", origin=origin).translate_formula(reference)).removeprefix("=")
    except (TranslatorError, ValueError):
        return master


def _elements(blob: bytes, name: str) -> Iterator[tuple[str, Element]]:
    """Elements of a part as they end; a part that breaks off gives those before the break."""
    events: Iterator[tuple[str, Element]] = etree.iterparse(
        BytesIO(transitional(blob)),
        tag=S + name,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    return events


def _parser() -> etree.XMLParser:
    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True)


def _builtin(number: str) -> str:
    key = int(number) if number.isdecimal() else 0
    return _CHINESE_FORMATS.get(key) or BUILTIN_FORMATS.get(key) or GENERAL


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text
