"""Text of Word paragraphs, formulas (OMML to TeX) and table cells.

Tracked changes count as accepted. Deleted text, field codes and comments are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragcore.parsing.office.graphics import OfficePictureCollector
from ragcore.parsing.tables import Cell

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
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

Element = Any  # lxml elements carry no useful static type
_SUMS = {"∑": r"\sum", "∏": r"\prod", "∫": r"\int", "∬": r"\iint", "⋃": r"\bigcup", "⋂": r"\bigcap", "": r"\int"}
_MAX_SPAN = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Parts inside the file by relationship id, as name and bytes, and where its pictures are collected.

    Targets outside the file are left out: a link in the text is its text, and nothing is fetched.
    """

    parts: Mapping[str, tuple[str, bytes]] = field(default_factory=dict)
    collector: OfficePictureCollector = field(default_factory=OfficePictureCollector)


def paragraph_text(paragraph: Element, links: Links) -> str:
    """The visible text; text boxes are left to `text_boxes`."""
    return "".join(_pieces(paragraph, links)).strip()


def text_boxes(paragraph: Element) -> Iterator[Element]:
    """Contents of text boxes anchored in a paragraph, each once (Word stores a fallback copy)."""
    for box in paragraph.iter(BOX):
        if next(box.iterancestors(_MC + "Fallback"), None) is None and next(box.iterancestors(BOX), None) is None:
            yield box


def _pieces(node: Element, links: Links) -> Iterator[str]:
    for child in node:
        tag = child.tag
        if not isinstance(tag, str) or tag in _GONE or tag == BOX:  # comments and entity references have no tag
            continue
        if tag == W + "r" and _is_hidden(child):
            continue
        if tag == W + "t":
            yield child.text or ""
        elif tag in _CHARACTERS:
            yield _CHARACTERS[tag]
        elif tag == W + "sym":
            yield _symbol(child)
        elif tag in (W + "footnoteReference", W + "endnoteReference"):
            yield f"[^{_note_prefix(tag)}{child.get(W + 'id')}]"
        elif tag in _PICTURES:
            yield from _pictures(child, links)
        elif tag in (M + "oMath", M + "oMathPara"):
            yield _formula(child)
        elif tag == _MC + "AlternateContent":
            yield from _pieces(child[0] if len(child) else child, links)
        else:
            yield from _pieces(child, links)


def _note_prefix(tag: str) -> str:
    return "e" if tag == W + "endnoteReference" else ""


def _symbol(node: Element) -> str:
    """A character of a symbol font; its private code is mapped to text when the document is cleaned."""
    code = node.get(W + "char") or ""
    try:
        return chr(int(code, 16))
    except (ValueError, OverflowError):
        return ""


def _is_hidden(run: Element) -> bool:
    """Whether the author hid the run; such text is a note to programs or left over from a template."""
    mark = run.find(f"{W}rPr/{W}vanish")
    return mark is not None and mark.get(W + "val", "1") not in ("0", "false", "off")


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


def _formula(node: Element) -> str:
    """Office Math as TeX."""

    source = tex(node).strip()
    return f"${source}$" if source else ""


def tex(node: Element) -> str:
    """TeX of a formula or a part of one."""
    return "".join(_element_tex(child) for child in node if isinstance(child.tag, str))


def _element_tex(node: Element) -> str:
    match node.tag.removeprefix(M):
        case "t":
            return node.text or ""
        case "f":
            return rf"\frac{{{_child_tex(node, 'num')}}}{{{_child_tex(node, 'den')}}}"
        case "sSup":
            return f"{_child_tex(node, 'e')}^{{{_child_tex(node, 'sup')}}}"
        case "sSub":
            return f"{_child_tex(node, 'e')}_{{{_child_tex(node, 'sub')}}}"
        case "sSubSup":
            return f"{_child_tex(node, 'e')}_{{{_child_tex(node, 'sub')}}}^{{{_child_tex(node, 'sup')}}}"
        case "rad":
            degree = _child_tex(node, "deg")
            return rf"\sqrt{f'[{degree}]' if degree else ''}{{{_child_tex(node, 'e')}}}"
        case "nary":
            sign = _SUMS.get(_property(node, "naryPr", "chr"), _property(node, "naryPr", "chr"))
            return f"{sign}_{{{_child_tex(node, 'sub')}}}^{{{_child_tex(node, 'sup')}}} {_child_tex(node, 'e')}"
        case "d":
            opening = _property(node, "dPr", "begChr") or "("
            closing = _property(node, "dPr", "endChr") or ")"
            return f"{opening}{', '.join(tex(part) for part in node.findall(M + 'e'))}{closing}"
        case "m":  # matrix
            rows = [" & ".join(tex(cell) for cell in row.findall(M + "e")) for row in node.findall(M + "mr")]
            return r"\begin{matrix}" + r" \\ ".join(rows) + r"\end{matrix}"
        case tag if tag.endswith("Pr"):
            return ""
    return tex(node)


def _child_tex(node: Element, name: str) -> str:
    child = node.find(M + name)
    return tex(child) if child is not None else ""


def _property(node: Element, group: str, name: str) -> str:
    child = node.find(f"{M}{group}/{M}{name}")
    return (child.get(M + "val") or "") if child is not None else ""


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
