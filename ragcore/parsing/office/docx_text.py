"""Text of Word paragraphs and table cells.

Tracked changes count as accepted. Deleted text, field codes, comments and the readings above Chinese characters are
left out; the state of old form fields, which is no text, is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ragcore.parsing.links import linked
from ragcore.parsing.office.docx_symbols import symbol, symbols
from ragcore.parsing.office.graphics import OfficePictureCollector
from ragcore.parsing.office.omml import M, formula
from ragcore.parsing.office.xml import Element, is_on
from ragcore.parsing.raised import LOWERED, RAISED, levelled_text
from ragcore.parsing.ruby import is_reading_kept
from ragcore.parsing.struck import struck_run, with_struck_marks
from ragcore.parsing.tables import Cell

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_O = "{urn:schemas-microsoft-com:office:office}"
_V = "{urn:schemas-microsoft-com:vml}"
_WP = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"

_GONE = frozenset(  # deleted or moved away, field codes, properties, other people's remarks
    W + name for name in ("del", "moveFrom", "delText", "instrText", "delInstrText", "pPr", "rPr", "commentReference")
)
_CHARACTERS = {W + "tab": "\t", W + "br": "\n", W + "cr": "\n", W + "noBreakHyphen": "-", W + "softHyphen": ""}
BOX = W + "txbxContent"
_PICTURES = frozenset(W + name for name in ("drawing", "pict", "object"))

_MAX_SPAN = 500
MIN_SHIFT = 4  # half-points by which a run stands above or below its line
_LEVELS = {"superscript": RAISED, "subscript": LOWERED}
_BOX_SPACES = re.compile(r"(?<=[☐☒]) {2,}")

Piece = tuple[str, int]  # text and its level


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Parts inside the file by relationship id, as name and bytes, where its pictures are collected, raised styles.

    Nothing outside the file is fetched.
    """

    parts: Mapping[str, tuple[str, bytes]] = field(default_factory=dict)
    collector: OfficePictureCollector = field(default_factory=OfficePictureCollector)
    addresses: Mapping[str, str] = field(default_factory=dict)  # relationship id -> where a link leads outside
    levels: Mapping[str, int] = field(default_factory=dict)  # character style -> RAISED or LOWERED


def paragraph_text(paragraph: Element, links: Links) -> str:
    """The visible text, raised and lowered figures told from the others; text boxes are left to `text_boxes`."""
    text = with_struck_marks(levelled_text(_pieces(paragraph, links, 0))).strip()
    return _BOX_SPACES.sub(" ", text) if max(text, default="") >= "\u2610" else text


def code_line(paragraph: Element, links: Links) -> str | None:
    """A line of code with its indentation, "" for a blank one; None for a paragraph with a picture or a text box."""
    if next(paragraph.iter(BOX, W + "drawing", W + "pict"), None) is not None:
        return None
    return levelled_text(_pieces(paragraph, links, 0)).rstrip().replace("\t", "    ")


def text_boxes(paragraph: Element) -> Iterator[Element]:
    """Contents of text boxes anchored in a paragraph, each once (Word stores a fallback copy)."""
    for box in paragraph.iter(BOX):
        if next(box.iterancestors(_MC + "Fallback"), None) is None and next(box.iterancestors(BOX), None) is None:
            yield box


def _pieces(node: Element, links: Links, level: int) -> Iterator[Piece]:
    readings: list[str] = []  # of the ruby elements that stand directly before
    for child in node:
        tag = child.tag
        if not isinstance(tag, str) or tag in _GONE or tag == BOX:  # comments and entity references have no tag
            continue
        if tag == W + "r":
            if _is_hidden(child):
                continue
            ruby = child.find(W + "ruby")
            if ruby is not None:
                yield from _pieces(child, links, level)
                readings += [_plain(ruby.find(W + "rt"))]
                continue
            yield from _readings(readings)
            yield from _run_pieces(child, links, level)
            continue
        if tag == W + "ruby":
            base = child.find(W + "rubyBase")
            yield from _pieces(base, links, level) if base is not None else ()
        else:
            yield from _piece(child, tag, links, level)
    yield from _readings(readings)


def _piece(child: Element, tag: str, links: Links, level: int) -> Iterator[Piece]:
    if tag == W + "t":
        yield child.text or "", level
    elif tag in _CHARACTERS:
        yield _CHARACTERS[tag], level
    elif tag == W + "sym":
        yield symbol(child.get(W + "char") or "", child.get(W + "font") or ""), level
    elif tag in (W + "footnoteReference", W + "endnoteReference"):
        yield f"[^{_note_prefix(tag)}{child.get(W + 'id')}]", 0
    elif tag == W + "fldChar":
        yield _form_field(child), 0
    elif tag in _PICTURES:
        yield from ((picture, 0) for picture in _pictures(child, links))
    elif tag in (M + "oMath", M + "oMathPara"):
        yield formula(child), 0
    elif tag == W + "hyperlink" and (address := links.addresses.get(child.get(_R + "id") or "")):
        yield linked(levelled_text(_pieces(child, links, level)), address), 0
    elif tag == _MC + "AlternateContent":
        yield from _pieces(child[0] if len(child) else child, links, level)
    else:
        yield from _pieces(child, links, level)


def _run_pieces(run: Element, links: Links, level: int) -> Iterator[Piece]:
    """The pieces of a run on its level; letters of a symbol font as what the font shows."""
    properties = run.find(W + "rPr")
    if properties is None:
        yield from _pieces(run, links, level)
        return
    fonts = properties.find(W + "rFonts")
    font = (fonts.get(W + "ascii") or fonts.get(W + "hAnsi") or "") if fonts is not None else ""
    own_level = _level(properties, links)
    is_struck = any(_is_on(properties.find(W + name)) for name in ("strike", "dstrike"))
    for text, inner in _pieces(run, links, level if own_level is None else own_level):
        letters = symbols(text, font) if font else text
        yield struck_run(letters) if is_struck else letters, inner


def _is_on(mark: Element | None) -> bool:
    """Whether a property that is on or off is there and on."""
    return mark is not None and is_on(mark.get(W + "val"))


def _level(properties: Element, links: Links) -> int | None:
    """Whether a run is raised or lowered, by itself or by its style; None where neither says."""
    mark = properties.find(W + "vertAlign")
    if mark is not None:
        return _LEVELS.get(mark.get(W + "val") or "", 0)
    style = properties.find(W + "rStyle")
    if style is not None and (level := links.levels.get(style.get(W + "val") or "")):
        return level
    position = properties.find(W + "position")
    shift = (position.get(W + "val") or "0") if position is not None else "0"
    try:
        half_points = int(shift.removesuffix("pt"))
    except ValueError:
        return None
    return (RAISED if half_points > 0 else LOWERED) if abs(half_points) >= MIN_SHIFT else None


def character_levels(styles: Element | None) -> dict[str, int]:
    """The character styles that raise or lower their text, by id."""
    levels: dict[str, int] = {}
    for style in styles.findall(W + "style") if styles is not None else ():
        mark = style.find(f"{W}rPr/{W}vertAlign")
        if mark is not None and (level := _LEVELS.get(mark.get(W + "val") or "")):
            levels[style.get(W + "styleId") or ""] = level
    return levels


def _readings(readings: list[str]) -> Iterator[Piece]:
    """What stands above the characters before, in brackets, where it is worth keeping; empties the list."""
    reading = "".join(readings).strip()
    readings.clear()
    if reading and is_reading_kept(reading):
        yield f"（{reading}）", 0


def _plain(node: Element | None) -> str:
    return "".join(text.text or "" for text in node.iter(W + "t")) if node is not None else ""


def _form_field(node: Element) -> str:
    """The state of an old form field, at its beginning: a box that is ticked or not, the chosen entry of a list."""
    data = node.find(W + "ffData")
    if data is None:
        return ""
    if (box := data.find(W + "checkBox")) is not None:
        mark = box.find(W + "checked")
        mark = box.find(W + "default") if mark is None else mark
        return "☒ " if _is_on(mark) else "☐ "
    if (choice := data.find(W + "ddList")) is not None:
        mark = choice.find(W + "result")
        mark = choice.find(W + "default") if mark is None else mark
        entries = [entry.get(W + "val") or "" for entry in choice.findall(W + "listEntry")]
        number = _bounded(mark.get(W + "val")) if mark is not None else 0
        return entries[number] if number < len(entries) else ""
    return ""


def _note_prefix(tag: str) -> str:
    return "e" if tag == W + "endnoteReference" else ""


def _is_hidden(run: Element) -> bool:
    """Whether the author hid the run; such text is a note to programs or left over from a template."""
    return _is_on(run.find(f"{W}rPr/{W}vanish"))


def _pictures(node: Element, links: Links) -> Iterator[str]:
    """The pictures of a drawing or of its old form VML, each with the description of the drawing."""
    described = next(node.iter(_WP + "docPr"), None)
    for picture in node.iter(_A + "blip", _V + "imagedata"):
        if next(picture.iterancestors(BOX), None) is not next(node.iterancestors(BOX), None):
            continue  # inside a text box, whose own paragraphs show it
        key = picture.get(_R + "embed") or picture.get(_R + "id") or ""
        if key in links.parts:
            alt = described.get("descr") if described is not None else picture.get(_O + "title")
            yield links.collector.markdown(*links.parts[key], alt=alt or "")


def table_rows(table: Element) -> list[Element]:
    """The table's own rows, without those of tables inside it and without deleted ones."""
    rows = [row for row in table.iter(W + "tr") if next(row.iterancestors(W + "tbl")) is table]
    return [row for row in rows if row.find(f"{W}trPr/{W}del") is None]


def row_cells(row: Element) -> Iterator[Element]:
    """The row's own cells, without those of tables inside them."""
    for cell in row.iter(W + "tc"):
        if next(cell.iterancestors(W + "tr")) is row:
            yield cell


def table_grid(rows: Sequence[Element], text_of: Callable[[Element], str]) -> list[list[Cell]]:
    """Cells with their spans; Word says "continues" below, the grid wants a count above."""
    grid: list[list[Cell]] = []
    above: dict[int, tuple[int, int]] = {}  # column -> row and index of the cell that may continue there
    for number, row in enumerate(rows):
        column = _skipped(row)
        cells = [Cell(text="")] * column
        for node in row_cells(row):
            width = _width(node)
            if _continues_merge(node) and column in above:
                origin, index = above[column]
                cell = grid[origin][index]
                grid[origin][index] = Cell(text=cell.text, rows=number - origin + 1, columns=cell.columns)
            else:
                above[column] = (number, len(cells))
                cells.append(Cell(text=text_of(node), columns=width))
            column += width
        grid.append(cells)
    return grid


def _skipped(row: Element) -> int:
    child = row.find(f"{W}trPr/{W}gridBefore")
    return _bounded(child.get(W + "val")) if child is not None else 0


def _width(cell: Element) -> int:
    child = cell.find(f"{W}tcPr/{W}gridSpan")
    return max(1, _bounded(child.get(W + "val"))) if child is not None else 1


def _bounded(value: str | None) -> int:
    return min(int(value), _MAX_SPAN) if value and value.isdecimal() else 0


def _continues_merge(cell: Element) -> bool:
    merge = cell.find(f"{W}tcPr/{W}vMerge")
    return merge is not None and merge.get(W + "val") != "restart"
