"""Office Math (OMML) to TeX: fractions, scripts, roots, sums and brackets; anything else as its characters."""

from __future__ import annotations

from ragcore.parsing.office.docx_text import Element, M

_SUMS = {"∑": r"\sum", "∏": r"\prod", "∫": r"\int", "∬": r"\iint", "⋃": r"\bigcup", "⋂": r"\bigcap", "": r"\int"}


def tex(node: Element) -> str:
    """TeX of a formula or a part of one."""
    return "".join(_one(child) for child in node if isinstance(child.tag, str))


def _one(node: Element) -> str:
    match node.tag.removeprefix(M):
        case "t":
            return node.text or ""
        case "f":
            return rf"\frac{{{_part(node, 'num')}}}{{{_part(node, 'den')}}}"
        case "sSup":
            return f"{_part(node, 'e')}^{{{_part(node, 'sup')}}}"
        case "sSub":
            return f"{_part(node, 'e')}_{{{_part(node, 'sub')}}}"
        case "sSubSup":
            return f"{_part(node, 'e')}_{{{_part(node, 'sub')}}}^{{{_part(node, 'sup')}}}"
        case "rad":
            degree = _part(node, "deg")
            return rf"\sqrt{f'[{degree}]' if degree else ''}{{{_part(node, 'e')}}}"
        case "nary":
            sign = _SUMS.get(_property(node, "naryPr", "chr"), _property(node, "naryPr", "chr"))
            return f"{sign}_{{{_part(node, 'sub')}}}^{{{_part(node, 'sup')}}} {_part(node, 'e')}"
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


def _part(node: Element, name: str) -> str:
    found = node.find(M + name)
    return tex(found) if found is not None else ""


def _property(node: Element, group: str, name: str) -> str:
    found = node.find(f"{M}{group}/{M}{name}")
    return (found.get(M + "val") or "") if found is not None else ""
