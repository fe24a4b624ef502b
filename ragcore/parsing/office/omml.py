"""Formulas of office documents: Office Math (OMML) to TeX."""

from __future__ import annotations

from ragcore.parsing.office.xml import Element

M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_SUMS = {"∑": r"\sum", "∏": r"\prod", "∫": r"\int", "∬": r"\iint", "⋃": r"\bigcup", "⋂": r"\bigcap", "": r"\int"}


def formula(node: Element) -> str:
    """Office Math as TeX between dollar signs; "" where it is empty."""
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
