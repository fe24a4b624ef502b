"""Pictures that lie on a worksheet (D26)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from ragcore.parsing.office.pictures import PictureShelf
from ragcore.parsing.office.xml import Package
from ragcore.types import Block

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_XDR = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_RELATIONSHIP = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"


def sheet_pictures(package: Package, sheet: str, shelf: PictureShelf) -> Iterator[Block]:
    """Image blocks of a sheet's drawing, in its order. `sheet` is the part, such as "xl/worksheets/sheet1.xml"."""
    for drawing in _targets(package, sheet, "/drawing").values():
        root = package.xml(drawing)
        pictures = _targets(package, drawing, "/image")
        for picture in root.iter(_XDR + "pic") if root is not None else ():
            blip = next(picture.iter(_A + "blip"), None)
            part = pictures.get(blip.get(_R + "embed") or "") if blip is not None else None
            blob = package.blob(part) if part else None
            alt = next((node.get("descr") or "" for node in picture.iter(_XDR + "cNvPr")), "")
            if part and blob and (text := shelf.markdown(part, blob, alt=alt)):
                yield Block(kind="image" if text.startswith("![") else "paragraph", text=text)


def _targets(package: Package, part: str, kind: str) -> dict[str, str]:
    """Parts that a part refers to, by relationship id; links out of the package are left alone."""
    folder, name = posixpath.split(part)
    root = package.xml(f"{folder}/_rels/{name}.rels")
    return {
        link.get("Id") or "": posixpath.normpath(posixpath.join("/", folder, link.get("Target") or "")).lstrip("/")
        for link in (root.iter(_RELATIONSHIP) if root is not None else ())
        if (link.get("Type") or "").endswith(kind) and link.get("TargetMode") != "External"
    }
