"""Index entries of a chunk (U6): its body, and texts that a reader might search for instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from knowledge.model_registry import counter, tokenizer
from ragcore.options import RepresentationOptions
from ragcore.ports import ChatModel
from ragcore.representations import EntryKind, represent
from ragcore.representations.derived_texts import without_picture_links
from ragcore.text.scripts import language_of
from ragcore.types import ChunkDraft, ParsedDocument

MAX_TERM_CHARACTERS = 128
CONCURRENCY = 4  # chunks that a model writes about at a time, for one document


@dataclass(frozen=True, slots=True, kw_only=True)
class Representation:
    """The text of one future index entry."""

    ordinal: int  # of its chunk
    kind: str
    language: str
    terms: tuple[str, ...]
    embedded_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRepresentations:
    """Chunks to store, their entries, and counts of how they were written (ragcore.representations.Representing)."""

    drafts: tuple[ChunkDraft, ...]
    representations: tuple[Representation, ...]
    counts: Mapping[str, int]


def document_represent(
    *,
    title: str,
    parsed: ParsedDocument,
    drafts: Sequence[ChunkDraft],
    options: RepresentationOptions,
    model: ChatModel | None,
    alive: Callable[[], None],
) -> DocumentRepresentations:
    """Write all representations of the chunks of one document.

    A document without a title uses the one in its file. `alive` is called every few seconds while a model writes.
    Where a model fails, rules replace it and the failure is counted; nothing is raised.
    """
    made = represent(
        drafts,
        options=options,
        model=model,
        tokenizer=tokenizer(),
        counter=counter(),
        concurrency=CONCURRENCY,
        alive=alive,
    )
    by_ordinal = {draft.ordinal: draft for draft in made.drafts}
    name = title or parsed.title
    entries = (_entry(name, by_ordinal[entry.ordinal], entry.kind, entry.text) for entry in made.entries)
    return DocumentRepresentations(drafts=made.drafts, representations=tuple(entries), counts=made.counts)


def _entry(title: str, draft: ChunkDraft, kind: EntryKind, text: str) -> Representation:
    """The entry, with title and headings, except for a question, which should read like one. Links of pictures go."""
    text = without_picture_links(text)
    indexed = text if kind == "question" else indexed_text(title=title, heading_path=draft.heading_path, text=text)
    return Representation(
        ordinal=draft.ordinal,
        kind=kind,
        language=language_of(text),
        terms=tuple(term for term in tokenizer().terms(indexed) if len(term) <= MAX_TERM_CHARACTERS),
        embedded_text=indexed,
    )


def question_representation(*, ordinal: int, title: str, text: str) -> Representation:
    """The entry of an owner's question for a passage, without title and headings."""
    return _entry(title, ChunkDraft(ordinal=ordinal, text=text, tokens=0), "question", text)


def indexed_text(*, title: str, heading_path: Iterable[str], text: str) -> str:
    """Title, headings with which the text does not begin, and the text itself."""
    headings = [h for h in heading_path if h != title and h not in text[: len(h) + 8]]
    return "\n".join([title, *headings, text])
