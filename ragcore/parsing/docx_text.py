"""The text of Word paragraphs: tracked changes read as accepted, pictures, formulas, footnote marks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_WP = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"

_GONE = frozenset(  # deleted or moved away, field codes, properties, other people's remarks
    W + name
    for name in ("del", "moveFrom", "delText", "instrText", "delInstrText", "pPr", "rPr", "commentReference", "pict")
)
_CHARACTERS = {W + "tab": "\t", W + "br": "\n", W + "cr": "\n", W + "noBreakHyphen": "-", W + "softHyphen": ""}
BOX = W + "txbxContent"

Element = Any  # lxml elements carry no useful static type


@dataclass(frozen=True, slots=True)
class Links:
    """Targets of relationships by id; a link in the text is its text, a picture is the part that holds it."""

    targets: Mapping[str, str] = field(default_factory=dict)


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
        if tag == W + "t":
            yield child.text or ""
        elif tag in _CHARACTERS:
            yield _CHARACTERS[tag]
        elif tag == W + "sym":
            yield _symbol(child)
        elif tag in (W + "footnoteReference", W + "endnoteReference"):
            yield f"[^{_note_prefix(tag)}{child.get(W + 'id')}]"
        elif tag == W + "drawing":
            yield _picture(child, links)
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


def _picture(node: Element, links: Links) -> str:
    """A picture as an `embedded:` link to its part; whoever serves documents resolves it (D26)."""
    blip = next(node.iter(_A + "blip"), None)
    target = links.targets.get(blip.get(_R + "embed") or "", "") if blip is not None else ""
    if not target:
        return ""
    described = next(node.iter(_WP + "docPr"), None)
    alt = (described.get("descr") or "") if described is not None else ""
    return f"![{' '.join(alt.split()).replace('[', '(').replace(']', ')')}](embedded:{target})"


def _formula(node: Element) -> str:
    """Office Math as TeX."""
    from ragcore.parsing.docx_math import tex

    source = tex(node).strip()
    return f"${source}$" if source else ""
