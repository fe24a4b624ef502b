"""Pictures, charts and diagrams of office files, shared by Word, Excel, PowerPoint and OpenDocument."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from ragcore.parsing.office.number_formats import GENERAL, display
from ragcore.parsing.office.xml import Element, bounded_int
from ragcore.parsing.tables import Cell, table_markdown
from ragcore.types import Block, Picture

MAX_PICTURE_BYTES = 20 * 1024 * 1024
MAX_PICTURES_BYTES = 40 * 1024 * 1024  # of one document: they cross to the parent in Base64, several copies at once
MAX_NAME_CHARS = 64

_SIGNATURES = (  # what the bytes are counts, not what the part is called
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png", ".png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg", ".jpg"),
    (re.compile(rb"GIF8[79]a"), "image/gif", ".gif"),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "image/webp", ".webp"),
    (re.compile(rb"BM.{4}\0\0\0\0", re.DOTALL), "image/bmp", ".bmp"),
    (re.compile(rb"II\*\0|MM\0\*"), "image/tiff", ".tif"),
)
_NO_ALT = re.compile(
    r"(?:[A-Za-z]:\\|https?://|/)\S+|\S+\.(?:png|jpe?g|gif|bmp|tiff?|webp|emf|wmf)|[A-Za-z0-9_-]{24,}"
    r"|(?:picture|image|graphic|图片|图像)\s*\d*",
    re.IGNORECASE,
)
_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
MAX_POINTS = 5_000
_DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
MAX_DEPTH = 20


class OfficePictureCollector:
    """Collects the pictures of one document, each part once."""

    def __init__(self) -> None:
        self._by_part: dict[str, Picture] = {}
        self._taken: set[str] = set()
        self._bytes = 0
        self.left_out = 0  # pictures beyond MAX_PICTURES_BYTES

    def markdown(self, part: str, content: bytes, *, alt: str = "", page: int | None = None) -> str:
        """`![alt](picture:NAME)`; only the description for formats that no browser shows, such as EMF and WMF."""
        words = clean_alt(alt)
        picture = self._by_part.get(part) or self._added(part, content, words, page)
        return f"![{words}](picture:{picture.name})" if picture is not None else words

    def pictures(self) -> tuple[Picture, ...]:
        return tuple(self._by_part.values())

    def metadata(self) -> dict[str, str]:
        """What the document's metadata should say about pictures: how many were too large to keep."""
        return {"pictures_left_out": str(self.left_out)} if self.left_out else {}

    def _added(self, part: str, content: bytes, alt: str, page: int | None) -> Picture | None:
        kind = next(((media, ending) for sign, media, ending in _SIGNATURES if sign.match(content)), None)
        if kind is None:
            return None
        if len(content) > MAX_PICTURE_BYTES or self._bytes + len(content) > MAX_PICTURES_BYTES:
            self.left_out += 1
            return None
        self._bytes += len(content)
        picture = Picture(name=self._name(part, kind[1]), media_type=kind[0], content=content, page=page, alt=alt)
        self._by_part[part] = picture
        return picture

    def _name(self, part: str, ending: str) -> str:
        """The part's own name in ASCII with the ending of what it really is, numbered where it is taken."""
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", PurePosixPath(part).stem).strip("-")[:MAX_NAME_CHARS] or "picture"
        name, number = f"{stem}{ending}", 1
        while name in self._taken:
            number += 1
            name = f"{stem}-{number}{ending}"
        self._taken.add(name)
        return name


def clean_alt(text: str) -> str:
    """A description on one line that cannot end the Markdown around it; file names and numbers describe nothing."""
    words = " ".join(text.split()).replace("[", "(").replace("]", ")")
    return "" if _NO_ALT.fullmatch(words) else words


def chart_blocks(root: Element, *, page: int | None = None) -> Iterator[Block]:
    """The title of a chart as a paragraph and its data as a table: a row per category, a column per series."""
    title = root.find(f"{_C}chart/{_C}title")
    if title is not None and (text := "".join(node.text or "" for node in title.iter(_A + "t")).strip()):
        yield Block(kind="paragraph", text=text, page=page)
    if table := table_markdown([[Cell(text=text) for text in row] for row in _chart_rows(root)]):
        yield Block(kind="table", text=table, page=page)


def _chart_rows(root: Element) -> list[list[str]]:
    series = list(root.iter(_C + "ser"))
    names = [_series_name(item, number) for number, item in enumerate(series, 1)]
    columns = [_points(item, "val") or _points(item, "yVal") for item in series]
    labels: dict[int, str] = {}
    for item in series:
        labels = labels or _points(item, "cat") or _points(item, "xVal")
    places = sorted(set(labels).union(*columns)) if columns else []
    rows = [[labels.get(place, str(place + 1)), *(column.get(place, "") for column in columns)] for place in places]
    return [["", *names], *rows] if rows else []


def _series_name(series: Element, number: int) -> str:
    text = " ".join(node.text or "" for node in series.iterfind(f"{_C}tx//{_C}v"))
    return text.strip() or str(number)


def _points(series: Element, kind: str) -> dict[int, str]:
    """Cached points by their index, numbers in their format; levels of categories are joined, the outer one first."""
    source = series.find(_C + kind)
    if source is None:
        return {}
    code = source.findtext(f".//{_C}formatCode") or GENERAL
    points: dict[int, str] = {}
    for point in list(source.iter(_C + "pt"))[:MAX_POINTS]:
        place, text = bounded_int(point.get("idx"), 0), (point.findtext(_C + "v") or "").strip()
        formatted = _formatted(text, code) if source.find(f".//{_C}numCache") is not None else text
        points[place] = f"{formatted} / {points[place]}" if place in points else formatted
    return points


def _formatted(text: str, code: str) -> str:
    try:
        return display(float(text), code)
    except ValueError:
        return text


def diagram_list(root: Element) -> str:
    """Markdown list of a diagram's data part; "" when it has no text."""
    texts = {point.get("modelId"): _point_text(point) for point in root.iter(_DGM + "pt")}
    children: dict[str | None, list[tuple[int, str | None]]] = {}
    for link in root.iter(_DGM + "cxn"):
        if link.get("type", "parOf") == "parOf":
            place = bounded_int(link.get("srcOrd"), 0)
            children.setdefault(link.get("srcId"), []).append((place, link.get("destId")))
    tops = [p.get("modelId") for p in root.iter(_DGM + "pt") if p.get("type") == "doc"] or list(texts)[:1]
    lines: list[str] = []
    for top in tops:
        _append_items(top, -1, texts, children, lines)
    return "\n".join(lines)


def _append_items(
    node: str | None,
    depth: int,
    texts: dict[str | None, str],
    children: dict[str | None, list[tuple[int, str | None]]],
    lines: list[str],
) -> None:
    """Depth first in the declared order; `children` is emptied on the way, so that circles end."""
    if text := texts.get(node, ""):
        depth = max(depth, 0)
        lines.append(f"{'  ' * depth}- {text}")
    for _, child in sorted(children.pop(node, []), key=lambda item: item[0]):
        if depth < MAX_DEPTH:
            _append_items(child, depth + 1, texts, children, lines)


def _point_text(point: Element) -> str:
    words = ("".join(run.text or "" for run in part.iter(_A + "t")) for part in point.iter(_A + "p"))
    return " ".join(filter(None, (word.strip() for word in words)))
