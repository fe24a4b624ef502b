"""Documents that are not split, such as cases and questions with their answers (D10)."""

from __future__ import annotations

from dataclasses import dataclass

from ragcore.ports import TokenCounter
from ragcore.types import ChunkDraft, ParsedDocument


@dataclass(frozen=True, slots=True)
class WholeDocumentSplitter:
    """One chunk of kind "whole", however long; it is indexed through several windows."""

    counter: TokenCounter

    def split(self, document: ParsedDocument) -> list[ChunkDraft]:
        """No chunk for a document without text."""
        text = document.markdown().strip()
        if not text:
            return []
        page = next((block.page for block in document.blocks if block.page is not None), None)
        boxes = tuple(block.box for block in document.blocks if block.box is not None)
        tokens = self.counter.count(text)
        return [ChunkDraft(ordinal=0, text=text, tokens=tokens, kind="whole", page=page, boxes=boxes)]
