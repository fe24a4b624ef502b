"""The text of Word paragraphs: tracked changes read as accepted, pictures, formulas, footnote marks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ragcore.parsing.office.pictures import PictureShelf

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Parts inside the file by relationship id, as name and bytes, and where its pictures are collected.

    Targets outside the file are left out: a link in the text is its text, and nothing is fetched.
    """

    parts: Mapping[str, tuple[str, bytes]] = field(default_factory=dict)
    shelf: PictureShelf = field(default_factory=PictureShelf)


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
    """The pictures of a drawing or of its old form VML, each with the description of the drawing (D26)."""
    described = next(node.iter(_WP + "docPr"), None)
    for picture in node.iter(_A + "blip", _V + "imagedata"):
        if next(picture.iterancestors(BOX), None) is not next(node.iterancestors(BOX), None):
            continue  # inside a text box, whose own paragraphs show it
        key = picture.get(_R + "embed") or picture.get(_R + "id") or ""
        if key in links.parts:
            alt = described.get("descr") if described is not None else picture.get(_O + "title")
            yield links.shelf.markdown(*links.parts[key], alt=alt or "")


def _formula(node: Element) -> str:
    """Office Math as TeX."""
    from ragcore.parsing.office.docx_math import tex

    source = tex(node).strip()
    return f"${source}$" if source else ""
