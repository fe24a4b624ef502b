"""Plain text and logs: paragraphs between blank lines, headings and tables told by how they are set."""

from __future__ import annotations

import re

from ragcore.labels import gettext_noop as _
from ragcore.parsing.charset import decode
from ragcore.parsing.parser_errors import build_document, coded_errors, require_content
from ragcore.parsing.plain_layout import Part, plain_parts
from ragcore.types import Block, ParsedDocument

_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")


class TextParser:
    """One block per paragraph; lines inside a paragraph stay as they are. A log has paragraphs only."""

    formats = (".txt", ".log")
    media_types = {"text/plain": ".txt"}
    label = _("plain text")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises EmptyDocumentError, or CorruptDocumentError for binary content."""
        require_content(content, name=name)
        with coded_errors(name):
            text = decode(content).replace("\r\n", "\n").replace("\r", "\n")
            paragraphs = (part.strip("\n").rstrip() for part in _BLANK_LINES.split(text))
            parts = list(paragraphs) if name.lower().endswith(".log") else plain_parts([p for p in paragraphs if p])
            return build_document((_block(part) for part in parts), name=name)


def _block(part: Part | str) -> Block:
    if isinstance(part, str):
        return Block(kind="paragraph", text=part)
    if part.level:
        return Block(kind="heading", text=part.text, level=part.level)
    return Block(kind="table" if part.is_table else "paragraph", text=part.text)
