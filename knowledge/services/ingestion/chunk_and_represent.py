"""From clean blocks to passages, their representations and their vectors.

Owners' edits of earlier versions are applied again to the new passages.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from knowledge.embedder_fit import new_vectors_check
from knowledge.indexes.sentence_vectors import EmbeddedSentences
from knowledge.model_registry import counter, embedder
from knowledge.models import DocumentVersion, IngestItem
from knowledge.models.index import FINE_DIMENSIONS
from knowledge.services.ingestion.item_state import ItemLease
from knowledge.services.ingestion.parse_and_ocr import ReadDocument
from knowledge.services.model_slots import background_model, embedding_slot
from knowledge.services.reingest import ReappliedEdits, edits_reapply
from knowledge.services.representations import Representation, document_represent, question_representation
from knowledge.services.sentence_vectors import sentences_embed
from knowledge.services.titles import title_by_version
from ragcore.chunking import splitter_for
from ragcore.errors import EmptyDocumentError
from ragcore.ocr.documents import unread_counts
from ragcore.parsing.header_facts import attributes_of
from ragcore.parsing.titles import title_by_content
from ragcore.ports import FloatArray, SentenceEmbedder
from ragcore.representations import Missed
from ragcore.text.near_duplicates import sketch
from ragcore.types import ChunkDraft, Passage

EMBEDDED_TEXTS = 64  # at a time: some seconds on a processor, far below the length of a lease


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedVersion:
    """Everything that publishing needs of one version; nothing is stored yet."""

    item: IngestItem
    drafts: tuple[ChunkDraft, ...]  # also the disabled ones, which have no representation
    representations: tuple[Representation, ...]
    edits: ReappliedEdits
    missed: Mapping[int, Missed]  # what the model is to be asked for again, by ordinal
    title: str  # of the document, once this version is live
    attributes: Mapping[str, str]  # of the document, which the headers of its pages give
    values: Mapping[str, Any]  # of the version's row
    sentences: Mapping[int, EmbeddedSentences] = field(default_factory=dict)  # by ordinal, of those that have any


def item_represent(read: ReadDocument, lease: ItemLease) -> PreparedVersion:
    """Chunk a document and write the representations of its passages.

    Raises EmptyDocumentError if there is no text, LeaseLostError.
    """
    drafts = splitter_for(read.options.chunking, counter()).split(read.document)
    if not drafts:
        raise EmptyDocumentError
    edits = _edits(read.item.version, drafts)
    title = title_by_version(read.item.version, read.document)
    represented = document_represent(
        title=title,
        parsed=read.document,
        drafts=[draft for draft in edits.drafts if draft.ordinal not in edits.disabled],
        options=read.options.representations,
        model=background_model(),
        alive=lease.alive,
    )
    disabled = [draft for draft in edits.drafts if draft.ordinal in edits.disabled]
    representations = (*represented.representations, *_questions(title, edits))
    return PreparedVersion(
        item=read.item,
        drafts=tuple(sorted([*represented.drafts, *disabled], key=lambda draft: draft.ordinal)),
        representations=representations,
        edits=edits,
        missed={ordinal: kinds for ordinal, kinds in represented.missed.items() if ordinal not in edits.edited},
        title=title,
        attributes=attributes_of(read.document.metadata),
        values={**_values(read), "report": _report(read, edits, drafts, representations, represented.counts)},
    )


def _edits(version: DocumentVersion, drafts: Sequence[ChunkDraft]) -> ReappliedEdits:
    """Owners' edits of earlier versions, applied to the new passages; a first version has none."""
    if version.number == 1:
        return ReappliedEdits(drafts=tuple(drafts))
    return edits_reapply(document_id=version.document_id, drafts=drafts)


def _questions(title: str, edits: ReappliedEdits) -> list[Representation]:
    """Representations of owners' questions for passages."""
    return [
        question_representation(ordinal=ordinal, title=title, text=question)
        for ordinal, questions in edits.questions.items()
        if ordinal not in edits.disabled
        for question in questions
    ]


def _values(read: ReadDocument) -> dict[str, Any]:
    text = read.document.markdown()
    return {
        "markdown": text,
        "title": title_by_content(read.document, name=read.item.version.file_name)[:512],
        "pages": read.document.pages,
        "pipeline": read.options.sha256,
        "pipeline_sets": list(read.options.sets),
        "text_sha256": hashlib.sha256(" ".join(text.split()).casefold().encode()).hexdigest(),
        "sketch": sketch(text).tobytes(),
    }


def _report(
    read: ReadDocument,
    edits: ReappliedEdits,
    drafts: Sequence[ChunkDraft],
    representations: Sequence[Representation],
    counts: Mapping[str, int],
) -> dict[str, Any]:
    """Counts by name for the page of the document."""
    return {
        "passages": len(drafts),
        "entries": dict(Counter(representation.kind for representation in representations)),
        "representations": dict(counts),
        "edits": {"applied": len(edits.applied), "lost": len(edits.lost), "disabled": len(edits.disabled)},
        "pages_recognised": read.stored.pages_recognised,
        "attributes": attributes_of(read.document.metadata),
        "pictures": len(read.document.pictures),
        "pictures_unread": unread_counts(read.document),
    }


# ── vectors ───────────────────────────────────────────────────────────────────────────────────────


def texts_embed(prepared: Sequence[PreparedVersion], lease: ItemLease) -> FloatArray:
    """float32[n, 768] for all representations of a batch, in order.

    Texts of similar length are sent together, because models pad the shorter ones; equal texts are sent once.
    Raises ModelUnavailableError, EmbedderRefusedError, LeaseLostError, ValueError for numbers that are not finite.
    """
    texts = [r.embedded_text for version in prepared for r in version.representations]
    unique = sorted(set(texts), key=len)
    rows: dict[str, FloatArray] = {}
    for start in range(0, len(unique), EMBEDDED_TEXTS):
        group = unique[start : start + EMBEDDED_TEXTS]
        with embedding_slot(alive=lease.alive):
            model = embedder()
            rows.update(zip(group, model.embed_documents(group), strict=True))
        new_vectors_check(model)
        if len(rows) < len(unique):  # the end of the stage is stored with the next one
            lease.progress(len(rows), len(unique))
    vectors = np.stack([rows[text] for text in texts]) if texts else np.zeros((0, FINE_DIMENSIONS), np.float32)
    if not np.isfinite(vectors).all():
        raise ValueError("the embedder returned numbers that are not finite")
    return vectors


def with_sentences(prepared: Sequence[PreparedVersion], lease: ItemLease) -> list[PreparedVersion]:
    """The versions with the vectors of their passages' sentences, as far as the embedder gives them and nothing fails.

    Raises LeaseLostError.
    """
    model = embedder()
    if not isinstance(model, SentenceEmbedder):
        return list(prepared)
    passages = [
        (at, ordinal, passage) for at, version in enumerate(prepared) for ordinal, passage in _passages(version)
    ]
    sentences: list[dict[int, EmbeddedSentences]] = [{} for _ in prepared]
    for start in range(0, len(passages), EMBEDDED_TEXTS):
        group = passages[start : start + EMBEDDED_TEXTS]
        with embedding_slot(alive=lease.alive):
            embedded = sentences_embed([triple[2] for triple in group], model, alive=lambda _done: lease.alive())
        for (at, ordinal, _passage), vectors in zip(group, embedded, strict=True):
            if vectors is not None:
                sentences[at][ordinal] = vectors
        if start + len(group) < len(passages):
            lease.progress(start + len(group), len(passages))
    return [replace(version, sentences=of_version) for version, of_version in zip(prepared, sentences, strict=True)]


def _passages(prepared: PreparedVersion) -> list[tuple[int, Passage]]:
    """What can be found of a version, by ordinal."""
    indexed = {representation.ordinal for representation in prepared.representations}
    return [
        (
            draft.ordinal,
            Passage(
                chunk=0,
                document=0,
                version=0,
                text=draft.text,
                title=prepared.title,
                heading_path=tuple(heading[:512] for heading in draft.heading_path),
            ),
        )
        for draft in prepared.drafts
        if draft.ordinal in indexed
    ]
