"""What the headers of a Word file's pages hold: a cover's text, a title, the document's number and dates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ragcore.parsing.office.docx_file import WordFile
from ragcore.parsing.office.docx_text import Links, W, paragraph_text, row_cells, table_rows, text_boxes
from ragcore.parsing.office.xml import Element

_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_WORDS = re.compile(r"[^\W\d_]{2,}|[\u3400-\u9fff]")
MAX_TITLE_CHARS = 200


def cover_lines(file: WordFile, body: Sequence[str]) -> list[str]:
    """Texts of frames and text boxes in the first page's header that the body says nowhere, in their order."""
    root = _first_header(file)
    if root is None:
        return []
    body_text = _without_spaces(" ".join(body))
    lines = dict.fromkeys(_frame_texts(root))
    return [line for line in lines if _WORDS.search(line) and _without_spaces(line) not in body_text]


def header_title(file: WordFile) -> str:
    """The longest line of the first page's header; "" where there is none that could be a title."""
    root = _first_header(file)
    if root is None:
        return ""
    lines = [paragraph_text(node, Links()) for node in root.iter(W + "p")]
    fitting = [" ".join(line.split()) for line in lines if _WORDS.search(line) and len(line) <= MAX_TITLE_CHARS]
    return max(fitting, key=len, default="")


def header_rows(file: WordFile) -> Iterator[str | list[str]]:
    """The lines of all headers and footers, and the rows of tables in them as their cells."""
    for kind in ("header", "footer"):
        for root in file.all_related(kind):
            for row in (row for table in root.iter(W + "tbl") for row in table_rows(table)):
                yield [
                    " ".join(paragraph_text(node, Links()) for node in cell.iter(W + "p")) for cell in row_cells(row)
                ]
            for node in root.iter(W + "p"):
                yield from paragraph_text(node, Links()).split("\n")


def _frame_texts(root: Element) -> Iterator[str]:
    for node in root.iter(W + "p"):
        if node.find(f"{W}pPr/{W}framePr") is not None and (text := paragraph_text(node, Links())):
            yield " ".join(text.split())
        for box in text_boxes(node):
            texts = (paragraph_text(inner, Links()) for inner in box.iter(W + "p"))
            if text := " ".join(filter(None, texts)):
                yield " ".join(text.split())


def _first_header(file: WordFile) -> Element | None:
    """The header that the first page shows: its own one where the section wants that, else the usual one."""
    section = next(file.body.iter(W + "sectPr"), None)
    if section is None:
        return None
    kind = "first" if section.find(W + "titlePg") is not None else "default"
    for reference in section.findall(W + "headerReference"):
        if reference.get(W + "type") == kind:
            return file.part_by_id(reference.get(_R + "id") or "")
    return None


def _without_spaces(text: str) -> str:
    return "".join(text.split()).casefold()
