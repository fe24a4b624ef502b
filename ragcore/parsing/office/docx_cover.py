"""What only the header of a Word document's first page says: the title in a frame, the name in a letterhead (D24).

Headers are repeated furniture and are left out, but some templates keep the title of the document there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from docx.oxml.parser import parse_xml

from ragcore.parsing.office.docx_text import Element, Links, W, paragraph_text, text_boxes

_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_WORDS = re.compile(r"[^\W\d_]{2,}|[\u3400-\u9fff]")
MAX_TITLE_CHARS = 200


def cover_lines(document: Any, body: Sequence[str]) -> list[str]:
    """Texts of frames and text boxes in the first page's header that the body says nowhere, in their order."""
    root = _first_header(document)
    if root is None:
        return []
    said = _squeezed(" ".join(body))
    lines = dict.fromkeys(_framed(root))
    return [line for line in lines if _WORDS.search(line) and _squeezed(line) not in said]


def header_title(document: Any) -> str:
    """The longest line of the first page's header; "" where there is none that could be a title."""
    root = _first_header(document)
    if root is None:
        return ""
    lines = [paragraph_text(node, Links()) for node in root.iter(W + "p")]
    fitting = [" ".join(line.split()) for line in lines if _WORDS.search(line) and len(line) <= MAX_TITLE_CHARS]
    return max(fitting, key=len, default="")


def _framed(root: Element) -> Iterator[str]:
    for node in root.iter(W + "p"):
        if node.find(f"{W}pPr/{W}framePr") is not None and (text := paragraph_text(node, Links())):
            yield " ".join(text.split())
        for box in text_boxes(node):
            texts = (paragraph_text(inner, Links()) for inner in box.iter(W + "p"))
            if text := " ".join(filter(None, texts)):
                yield " ".join(text.split())


def _first_header(document: Any) -> Element | None:
    """The header that the first page shows: its own one where the section wants that, else the usual one."""
    section = next(document.element.body.iter(W + "sectPr"), None)
    if section is None:
        return None
    kind = "first" if section.find(W + "titlePg") is not None else "default"
    for reference in section.findall(W + "headerReference"):
        link = document.part.rels.get(reference.get(_R + "id") or "")
        if reference.get(W + "type") == kind and link is not None and not link.is_external:
            return parse_xml(link.target_part.blob)
    return None


def _squeezed(text: str) -> str:
    return "".join(text.split()).casefold()
