"""SmartArt of office files as a nested list: the nodes of its data model and which belongs to which (D9)."""

from __future__ import annotations

from ragcore.parsing.office.xml import Element, whole

_DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
MAX_DEPTH = 20


def diagram_list(root: Element) -> str:
    """Markdown list of a diagram's data part; "" when it has no text."""
    texts = {point.get("modelId"): _text(point) for point in root.iter(_DGM + "pt")}
    children: dict[str | None, list[tuple[int, str | None]]] = {}
    for link in root.iter(_DGM + "cxn"):
        if link.get("type", "parOf") == "parOf":
            place = whole(link.get("srcOrd"), 0)
            children.setdefault(link.get("srcId"), []).append((place, link.get("destId")))
    tops = [p.get("modelId") for p in root.iter(_DGM + "pt") if p.get("type") == "doc"] or list(texts)[:1]
    lines: list[str] = []
    for top in tops:
        _walk(top, -1, texts, children, lines)
    return "\n".join(lines)


def _walk(
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
            _walk(child, depth + 1, texts, children, lines)


def _text(point: Element) -> str:
    words = ("".join(run.text or "" for run in part.iter(_A + "t")) for part in point.iter(_A + "p"))
    return " ".join(filter(None, (one.strip() for one in words)))
