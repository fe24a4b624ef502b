"""Text of DrawingML: paragraphs of slides, of shapes over a sheet, of text boxes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from ragcore.parsing.links import linked
from ragcore.parsing.office.omml import M
from ragcore.parsing.office.xml import Element
from ragcore.parsing.raised import LOWERED, RAISED, levelled_text
from ragcore.parsing.struck import struck_run, with_struck_marks

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"


def paragraph_text(paragraph: Element, addresses: Mapping[str, str] = MappingProxyType({})) -> str:
    """Runs, fields and formulas of a paragraph, raised and lowered figures told apart; line breaks are kept.

    `addresses`: where links lead, by relationship id.
    """
    return with_struck_marks(levelled_text(_pieces(paragraph, addresses))).strip()


def body_text(body: Element) -> str:
    """The paragraphs of a text body, each on a line."""
    return "\n".join(filter(None, (paragraph_text(paragraph) for paragraph in body.iter(A + "p"))))


def _pieces(paragraph: Element, addresses: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    for node in paragraph.iter(A + "t", A + "br", A + "tab", M + "t"):
        if node.tag == A + "br":
            yield "\n", 0
        elif node.tag == A + "tab":
            yield ("\t" if next(node.iterancestors(A + "tabLst"), None) is None else ""), 0
        elif _is_shown(node):
            text = (node.text or "").replace("\v", "\n")
            address = addresses.get(_link_id(node)) if addresses else None
            text = linked(text, address) if address else text
            properties = _properties(node)
            is_struck = properties is not None and (properties.get("strike") or "noStrike") != "noStrike"
            yield struck_run(text) if is_struck else text, 0 if address else _level(properties)


def _link_id(text: Element) -> str:
    """The relationship that a run leads to; "" for text that is no link."""
    properties = _properties(text)
    link = properties.find(A + "hlinkClick") if properties is not None else None
    return (link.get(_R + "id") or "") if link is not None else ""


def _properties(text: Element) -> Element | None:
    """How the run of a text is set."""
    run = text.getparent()
    return run.find(A + "rPr") if run is not None else None


def _level(properties: Element | None) -> int:
    """Whether a run is raised or lowered, which its baseline says in thousandths of a per cent."""
    shift = (properties.get("baseline") or "0") if properties is not None else "0"
    try:
        share = float(shift.removesuffix("%"))
    except ValueError:
        return 0
    return RAISED if share > 0 else LOWERED if share < 0 else 0


def _is_shown(node: Element) -> bool:
    """False for the copy of a formula that older programs show, and for slide numbers."""
    field = next(node.iterancestors(A + "fld"), None)
    if field is not None and (field.get("type") or "").lower() == "slidenum":
        return False
    return next(node.iterancestors(_FALLBACK), None) is None
