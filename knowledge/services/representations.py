"""Index entries of a chunk: its body, and texts that a reader might search for instead."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from knowledge.model_registry import counter, tokenizer
from knowledge.models import RepresentationRetry
from ragcore.options import RepresentationOptions
from ragcore.ports import ChatModel
from ragcore.representations import GIVE_UP_AFTER, EntryKind, Failure, Missed, represent
from ragcore.representations.derived_texts import without_picture_links
from ragcore.text.scripts import language_of
from ragcore.text.source_code import is_source, searchable_source
from ragcore.types import ChunkDraft, ParsedDocument

MAX_TERM_CHARACTERS = 128
FAILURES: tuple[Failure, ...] = ("unavailable", "interrupted", "invalid", "refused", "rejected")
CONCURRENCY = 4  # chunks that a model writes about at a time, for one document

FIRST_PAUSE = timedelta(minutes=1)  # a model that has just failed is left alone


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
    """Chunks to store, their entries, counts of how they were written, and what the model did not write, by ordinal
    (ragcore.representations.RepresentationResult).
    """

    drafts: tuple[ChunkDraft, ...]
    representations: tuple[Representation, ...]
    counts: Mapping[str, int]
    missed: Mapping[int, Missed]


def document_represent(
    *,
    title: str,
    parsed: ParsedDocument,
    drafts: Sequence[ChunkDraft],
    options: RepresentationOptions,
    model: ChatModel | None,
    concurrency: int = CONCURRENCY,
    silences: int = GIVE_UP_AFTER,
    ordinals: Collection[int] | None = None,
    alive: Callable[[], None],
) -> DocumentRepresentations:
    """Write all representations of the chunks of one document, or of those with the given ordinals.

    A document without a title uses the one in its file. `alive` is called every few seconds while a model writes.
    Where a model fails, rules replace it and the failure is counted; nothing is raised. After `silences` requests
    without an answer it is not asked any more.
    """
    result = represent(
        drafts,
        options=options,
        model=model,
        tokenizer=tokenizer(),
        counter=counter(),
        concurrency=concurrency,
        silences=silences,
        ordinals=ordinals,
        alive=alive,
    )
    by_ordinal = {draft.ordinal: draft for draft in result.drafts}
    name = title or parsed.title
    entries = (_entry(name, by_ordinal[entry.ordinal], entry.kind, entry.text) for entry in result.entries)
    return DocumentRepresentations(
        drafts=result.drafts, representations=tuple(entries), counts=result.counts, missed=result.missed
    )


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
    """Title, headings with which the text does not begin, and the text itself; source code as it is searched."""
    if is_source(text):
        path = tuple(heading_path)
        return "\n".join([title, *path, searchable_source(text, symbols=path)])
    headings = [h for h in heading_path if h != title and h not in text[: len(h) + 8]]
    return "\n".join([title, *headings, text])


# ── what the model did not write ────────────────────────────────────────────────────────────────


def retry_of(chunk_id: int, version_id: int, missed: Missed) -> RepresentationRetry:
    """The unsaved record that the model is to be asked again about a passage."""
    reason = main_failure(missed)
    return RepresentationRetry(
        chunk_id=chunk_id,
        version_id=version_id,
        lacks_summary="summary" in missed,
        lacks_questions="question" in missed,
        reason=reason,
        attempts=int(reason != RepresentationRetry.Reason.UNAVAILABLE),
        not_before=timezone.now() + FIRST_PAUSE,
    )


def main_failure(missed: Missed) -> Failure:
    """Why: of several reasons the one that passes most easily."""
    return min(missed.values(), key=FAILURES.index)
