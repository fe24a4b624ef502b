"""What stands in the index for a chunk (U6): today its body; summaries and questions join as more rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from knowledge.engines import tokenizer
from knowledge.models import Document
from ragcore.text.scripts import language_of
from ragcore.types import ChunkDraft

MAX_TERM_CHARACTERS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Representation:
    """One index entry to be."""

    ordinal: int  # of its chunk
    kind: str
    language: str
    terms: tuple[str, ...]
    embedded_text: str


def representations_of(document: Document, drafts: Iterable[ChunkDraft]) -> Iterator[Representation]:
    """The body of every chunk, found by its title and headings too.

    The outline of a long section (kind "section") stays out: it repeats sentences of its children, which are
    searchable themselves, and as a hit it would push out the passage that answers.
    """
    for draft in drafts:
        if draft.kind == "section":
            continue
        text = indexed_text(title=document.title, heading_path=draft.heading_path, text=draft.text)
        yield Representation(
            ordinal=draft.ordinal,
            kind="body",
            language=language_of(draft.text),
            terms=tuple(term for term in tokenizer().terms(text) if len(term) <= MAX_TERM_CHARACTERS),
            embedded_text=text,
        )


def indexed_text(*, title: str, heading_path: Iterable[str], text: str) -> str:
    """Title, headings that the text does not begin with, and the text itself."""
    headings = [h for h in heading_path if h != title and h not in text[: len(h) + 8]]
    return "\n".join([title, *headings, text])
