"""Charts of office files as tables: the categories and values that the file caches for its picture (D9)."""

from __future__ import annotations

from collections.abc import Iterator

from ragcore.parsing.office.number_formats import GENERAL, display
from ragcore.parsing.office.xml import Element, whole
from ragcore.parsing.tables import Cell, table_markdown
from ragcore.types import Block

_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
MAX_POINTS = 5_000


def chart_blocks(root: Element, *, page: int | None = None) -> Iterator[Block]:
    """The title of a chart as a paragraph and its data as a table: a row per category, a column per series."""
    title = root.find(f"{_C}chart/{_C}title")
    if title is not None and (text := "".join(node.text or "" for node in title.iter(_A + "t")).strip()):
        yield Block(kind="paragraph", text=text, page=page)
    if table := table_markdown([[Cell(text=text) for text in row] for row in _rows(root)]):
        yield Block(kind="table", text=table, page=page)


def _rows(root: Element) -> list[list[str]]:
    series = list(root.iter(_C + "ser"))
    names = [_name(one, number) for number, one in enumerate(series, 1)]
    columns = [_points(one, "val") or _points(one, "yVal") for one in series]
    labels: dict[int, str] = {}
    for one in series:
        labels = labels or _points(one, "cat") or _points(one, "xVal")
    places = sorted(set(labels).union(*columns)) if columns else []
    rows = [[labels.get(place, str(place + 1)), *(column.get(place, "") for column in columns)] for place in places]
    return [["", *names], *rows] if rows else []


def _name(series: Element, number: int) -> str:
    text = " ".join(node.text or "" for node in series.iterfind(f"{_C}tx//{_C}v"))
    return text.strip() or str(number)


def _points(series: Element, kind: str) -> dict[int, str]:
    """Cached points by their index, numbers in their format; levels of categories are joined, the outer one first."""
    source = series.find(_C + kind)
    if source is None:
        return {}
    code = source.findtext(f".//{_C}formatCode") or GENERAL
    found: dict[int, str] = {}
    for point in list(source.iter(_C + "pt"))[:MAX_POINTS]:
        place, text = whole(point.get("idx"), 0), (point.findtext(_C + "v") or "").strip()
        shown = _shown(text, code) if source.find(f".//{_C}numCache") is not None else text
        found[place] = f"{shown} / {found[place]}" if place in found else shown
    return found


def _shown(text: str, code: str) -> str:
    try:
        return display(float(text), code)
    except ValueError:
        return text
