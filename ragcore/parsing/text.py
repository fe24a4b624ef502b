"""Plain text and logs: paragraphs between blank lines (D9)."""

from __future__ import annotations

import re

from ragcore.parsing.charset import decode
from ragcore.parsing.parser_errors import build_document, coded_errors, require_content
from ragcore.types import Block, ParsedDocument

_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")


class TextParser:
    """One block per paragraph; lines inside a paragraph stay as they are."""

    formats = (".txt", ".log")
    media_types = {"text/plain": ".txt"}

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises EmptyDocumentError, or CorruptDocumentError for binary content."""
        require_content(content, name=name)
        with coded_errors(name):
            text = decode(content).replace("\r\n", "\n").replace("\r", "\n")
            paragraphs = (part.strip("\n").rstrip() for part in _BLANK_LINES.split(text))
            return build_document((Block(kind="paragraph", text=part) for part in paragraphs), name=name)
