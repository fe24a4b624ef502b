"""Documents as they travel: what a line says of one, its originals and pictures, and the vectors of its entries."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from django.core.files.storage import default_storage

from accounts.scope import Scope
from knowledge.indexes.set_file_rows import TravellingEntry, entries_of, sentences_of
from knowledge.models import Chunk, ChunkEdit, Document, DocumentPicture, DocumentReview
from knowledge.selectors.readers import readers_of
from knowledge.services.originals import PIECE_BYTES, original_open, stored_open
from knowledge.services.registration import TITLED

DOCUMENT = ("external_id", "title", "is_title_given", "clearance", "tags", "is_whole", "chunking", "metadata", "weight")
VERSION = (
    *("sha256", "file_name", "size_bytes", "title", "markdown", "pages", "pipeline", "report", "text_sha256"),
    "sent_as",
)
CHUNK = ("ordinal", "kind", "text", "heading_path", "is_continuation", "page", "boxes", "tokens")
EDIT = ("kind", "anchor_text", "text", "questions", "state")
Vectors = npt.NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents of one part. `vectors`: float16[n, 768] of all entries that have one; `sentences`: as `lines` say."""

    documents: Sequence[Document]
    lines: Sequence[Mapping[str, Any]]
    vectors: Vectors
    sentences: bytes


def batch_read(documents: Sequence[Document], *, scope: Scope, model: str) -> Batch:
    """What travels of these documents, whose live versions and pictures are loaded; the vectors are of this model."""
    versions = [document.live_version_id for document in documents if document.live_version_id]
    chunks: dict[int, list[Chunk]] = defaultdict(list)
    passages = Chunk.objects.filter(version__in=versions).select_related("edit")
    for chunk in passages.order_by("version_id", "ordinal", "pk"):
        chunks[chunk.version_id].append(chunk)
    edits: dict[int, list[ChunkEdit]] = defaultdict(list)
    for edit in ChunkEdit.objects.filter(document__in=[d.pk for d in documents]).order_by("pk"):
        edits[edit.document_id].append(edit)
    reviews = {row.pk: row.review_by for row in DocumentReview.objects.filter(document__in=[d.pk for d in documents])}
    entries = entries_of(versions=versions, model=model)
    sentences = sentences_of(versions=versions, model=model)
    lines, vectors, packed = [], [], []
    for document in documents:
        version = document.live_version_id or 0
        current = _current(chunks[version])
        ordinals = {chunk.pk: chunk.ordinal for chunk in current}
        indexed = [entry for entry in entries.get(version, ()) if entry.chunk_id in ordinals]
        has_vectors = all(entry.vector is not None for entry in indexed)
        vectors += [entry.vector for entry in indexed if entry.vector is not None] if has_vectors else []
        rows = [row for row in sentences.get(version, ()) if row.chunk_id in ordinals]
        packed += [part for row in rows for part in (row.keys, row.numbers)]
        review = reviews.get(document.pk)
        lines.append(
            {
                **_document(document, scope=scope),
                "review_by": review.isoformat() if review else None,
                "edits": [_edit(edit) for edit in edits[document.pk]],
                "chunks": [_chunk(chunk, ordinals, edits[document.pk]) for chunk in current],
                "entries": [_entry(entry, ordinals) for entry in indexed],
                "has_vectors": has_vectors,
                "sentences": [[ordinals[row.chunk_id], row.space, len(row.keys), len(row.numbers)] for row in rows],
            }
        )
    stacked = np.stack(vectors) if vectors else np.zeros((0, 768), np.float16)
    return Batch(documents, lines, stacked.astype("<f2"), b"".join(packed))


def _current(chunks: Sequence[Chunk]) -> list[Chunk]:
    """The passages as they are now: those that can be found, and those that owners have taken out of searches."""
    current = {chunk.ordinal: chunk for chunk in chunks if chunk.retired is None}
    disabled = (c for c in chunks if c.retired is not None and c.edit and c.edit.kind == ChunkEdit.Kind.DISABLE)
    for chunk in disabled:
        if chunk.ordinal not in current or current[chunk.ordinal].retired is not None:
            current[chunk.ordinal] = chunk
    return [current[ordinal] for ordinal in sorted(current)]


def _document(document: Document, *, scope: Scope) -> dict[str, Any]:
    version = document.live_version
    assert version is not None
    by_keepers, by_source = readers_of(scope=scope, document=document)
    return {
        "number": document.pk,
        **{name: getattr(document, name) for name in DOCUMENT},
        "is_titled": bool(document.handled.get(TITLED)),
        "readers": by_keepers.json() if by_keepers else None,
        "source_readers": by_source.json() if by_source else None,
        "version": {
            **{name: getattr(version, name) for name in VERSION},
            "sketch": base64.b64encode(bytes(version.sketch or b"")).decode(),
            "has_file": bool(version.file),
        },
        "pictures": [_picture(row) for row in version.pictures.all()],
    }


def _picture(row: DocumentPicture) -> dict[str, Any]:
    return {
        "name": row.name,
        "media_type": row.media_type,
        "page": row.page,
        "alt": row.alt,
        "sha256": picture_sha256(row),
    }


def picture_sha256(row: DocumentPicture) -> str:
    """Of its file. Raises FileMissingError."""
    import hashlib

    digest = hashlib.sha256()
    for piece in picture_pieces(row):
        digest.update(piece)
    return digest.hexdigest()


def picture_pieces(row: DocumentPicture) -> Iterator[bytes]:
    """Its file, piece by piece. Raises FileMissingError."""
    with stored_open(row.file) as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def original_pieces(document: Document) -> Iterator[bytes]:
    """The original of its live version, verified. Raises FileMissingError, FileDamagedError."""
    assert document.live_version is not None
    with original_open(document.live_version) as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def _edit(edit: ChunkEdit) -> dict[str, Any]:
    return {name: getattr(edit, name) for name in EDIT}


def _chunk(chunk: Chunk, ordinals: Mapping[int, int], edits: Sequence[ChunkEdit]) -> dict[str, Any]:
    places = {edit.pk: place for place, edit in enumerate(edits)}
    return {
        **{name: getattr(chunk, name) for name in CHUNK},
        "parent": ordinals.get(chunk.parent_id) if chunk.parent_id else None,
        "edit": places.get(chunk.edit_id) if chunk.edit_id else None,
        "edited": chunk.edited.isoformat() if chunk.edited else None,
        "is_disabled": chunk.retired is not None,
    }


def _entry(entry: TravellingEntry, ordinals: Mapping[int, int]) -> list[Any]:
    """Ordinal, representation, language, and the text where it is not the passage's own."""
    return [ordinals[entry.chunk_id], entry.representation, entry.language, entry.text]


def file_exists(name: str) -> bool:
    """Whether the default storage has a file."""
    return bool(name) and default_storage.exists(name)
