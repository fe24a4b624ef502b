"""One document of a set file: its line, checked, as what publishing takes."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, get_args

import numpy as np

from knowledge.model_registry import tokenizer
from knowledge.models import ChunkEdit
from knowledge.services.reingest import text_sha256
from knowledge.services.representations import MAX_TERM_CHARACTERS, Representation, indexed_text
from knowledge.services.set_files.values import MAX_ID, Values
from ragcore.errors import InvalidOptionsError
from ragcore.options import ChunkingOptions, resolve
from ragcore.ports import FloatArray
from ragcore.representations.derived_texts import without_picture_links
from ragcore.types import Box, ChunkDraft
from ragcore.types.documents import ChunkKind
from ragcore.types.sentence_vectors import SENTENCE_DIMENSIONS, SentenceVectors

DIMENSIONS = 768
SHA256 = re.compile(r"[0-9a-f]{64}")
FILE_NAME = re.compile(r"[^/\\\x00-\x1f]{1,512}")
PICTURE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
WORD = re.compile(r"[a-z_]{1,16}")
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/tiff")
MAX_SUFFIX = 100
MAX_SKETCH = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivingPicture:
    name: str
    media_type: str
    page: int | None
    alt: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivingReaders:
    """Names on the site that wrote the file; None: no restriction."""

    users: tuple[str, ...]
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivingDocument:
    """A document as it came. `vectors`: float32[n, 768] of `representations`, None where they are made here."""

    number: int
    external_id: str
    title: str
    clearance: int
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    fields: Mapping[str, Any]  # further columns of the document
    is_titled: bool
    readers: ArrivingReaders | None
    source_readers: ArrivingReaders | None
    review_by: date | None
    file_name: str
    sha256: str
    size_bytes: int
    sent_as: str
    has_file: bool
    values: Mapping[str, Any]  # columns of the version that publishing writes
    pictures: tuple[ArrivingPicture, ...]
    edits: tuple[ChunkEdit, ...]  # unsaved, without document and author
    drafts: tuple[ChunkDraft, ...]
    disabled: frozenset[int]
    edit_places: Mapping[int, int]  # ordinal → place in `edits` of what the passage shows
    edited: Mapping[int, Any]  # ordinal → when an owner wrote its text
    representations: tuple[Representation, ...]
    vectors: FloatArray | None
    sentences: Mapping[int, tuple[str, SentenceVectors]]  # ordinal → space and vectors


@dataclass(slots=True)
class Blocks:
    """The vectors and sentences of one part, taken from their beginning. Raises SetFileInvalidError."""

    vectors: FloatArray
    sentences: bytes
    vectors_taken: int = 0
    sentences_taken: int = 0

    def take_vectors(self, count: int, values: Values) -> FloatArray:
        rows = self.vectors[self.vectors_taken : self.vectors_taken + count]
        if len(rows) != count:
            values.refuse("entries")
        self.vectors_taken += count
        return rows

    def take_bytes(self, count: Any, values: Values) -> bytes:
        if type(count) is not int or count < 0:
            values.refuse("sentences")
        piece = self.sentences[self.sentences_taken : self.sentences_taken + count]
        if len(piece) != count:
            values.refuse("sentences")
        self.sentences_taken += count
        return piece


def vectors_read(packed: bytes, values: Values) -> FloatArray:
    """float32[n, 768] of a part of vectors."""
    if len(packed) % (2 * DIMENSIONS):
        values.refuse("vectors")
    vectors = np.frombuffer(packed, "<f2").reshape(-1, DIMENSIONS).astype(np.float32)
    if not np.isfinite(vectors).all():
        values.refuse("vectors")
    return vectors


def document_read(values: Values, blocks: Blocks) -> ArrivingDocument:
    """The document of a line. Raises SetFileInvalidError."""
    version = values.below("version")
    file_name = version.text("file_name", 512)
    suffix = file_name.rpartition(".")[2] if "." in file_name else ""
    if not FILE_NAME.fullmatch(file_name) or len(suffix) > MAX_SUFFIX:
        version.refuse("file_name")
    title = values.text("title", 512)
    drafts, edits = _drafts(values), tuple(_edit(row) for row in values.rows("edits"))
    if len({(edit.kind, text_sha256(edit.anchor_text)) for edit in edits}) != len(edits):
        values.refuse("edits.anchor_text")
    ordinals = {draft.ordinal: draft for draft in drafts}
    rows = list(zip(values.rows("chunks"), drafts, strict=True))
    disabled = frozenset(draft.ordinal for row, draft in rows if row.flag("is_disabled"))
    representations = _representations(values, ordinals, disabled, title)
    return ArrivingDocument(
        number=values.number("number", 1, MAX_ID),
        external_id=values.text("external_id", 512),
        title=title,
        clearance=values.number("clearance", 0, 4),
        tags=tuple(values.texts("tags", 64, 1000)),
        metadata=values.mapping("metadata"),
        fields={
            "is_title_given": values.flag("is_title_given"),
            "is_whole": values.flag("is_whole"),
            "chunking": _chunking(values.mapping("chunking")),
            "weight": values.real("weight", 0.5, 2.0),
        },
        is_titled=values.flag("is_titled"),
        readers=_readers(values, "readers"),
        source_readers=_readers(values, "source_readers"),
        review_by=values.day("review_by"),
        file_name=file_name,
        sha256=_sha256(version),
        size_bytes=version.number("size_bytes", 0, MAX_ID),
        sent_as=version.text("sent_as", 1024),
        has_file=version.flag("has_file"),
        values=_version_values(version),
        pictures=tuple(_picture(row) for row in values.rows("pictures")),
        edits=edits,
        drafts=drafts,
        disabled=disabled,
        edit_places={draft.ordinal: place for row, draft in rows if (place := _place(row, len(edits))) is not None},
        edited={draft.ordinal: moment for row, draft in rows if (moment := row.time("edited")) is not None},
        representations=representations,
        vectors=blocks.take_vectors(len(representations), values) if values.flag("has_vectors") else None,
        sentences=dict(_sentences(values, blocks, ordinals)),
    )


def _sha256(values: Values) -> str:
    digest = values.text("sha256", 64)
    if not SHA256.fullmatch(digest):
        values.refuse("sha256")
    return digest


def _readers(values: Values, name: str) -> ArrivingReaders | None:
    if values.of.get(name) is None:
        return None
    readers = values.below(name)
    return ArrivingReaders(users=tuple(readers.texts("users", 150)), groups=tuple(readers.texts("groups", 150)))


def _chunking(options: Mapping[str, Any]) -> dict[str, Any]:
    """Passage sizes of the document's own; those that this site does not know are left out."""
    try:
        resolve(ChunkingOptions, ("document", options))
    except InvalidOptionsError:
        return {}
    return dict(options)


def _version_values(version: Values) -> dict[str, Any]:
    try:
        sketch = base64.b64decode(version.text("sketch", MAX_SKETCH), validate=True)
    except (binascii.Error, ValueError):
        version.refuse("sketch")
    return {
        "markdown": version.text("markdown"),
        "title": version.text("title", 512),
        "pages": version.number_or_none("pages"),
        "pipeline": version.text("pipeline", 64),
        "text_sha256": version.text("text_sha256", 64),
        "report": version.mapping("report"),
        "sketch": sketch or None,
    }


def _picture(row: Values) -> ArrivingPicture:
    name = row.text("name", 128)
    if not PICTURE_NAME.fullmatch(name) or ".." in name:
        row.refuse("name")
    return ArrivingPicture(
        name=name,
        media_type=row.text("media_type", 32, choices=PICTURES),
        page=row.number_or_none("page"),
        alt=row.text("alt", 512),
        sha256=_sha256(row),
    )


def _edit(row: Values) -> ChunkEdit:
    return ChunkEdit(
        kind=row.text("kind", choices=tuple(ChunkEdit.Kind.values)),
        anchor_text=row.text("anchor_text"),
        text=row.text("text"),
        questions=row.texts("questions", 512, 1000),
        state=row.text("state", choices=tuple(ChunkEdit.State.values)),
    )


# ── passages ────────────────────────────────────────────────────────────────────────────────────


def _drafts(values: Values) -> tuple[ChunkDraft, ...]:
    rows = values.rows("chunks")
    drafts = tuple(_draft(row) for row in rows)
    ordinals = {draft.ordinal for draft in drafts}
    if len(ordinals) != len(drafts) or not drafts:
        values.refuse("chunks.ordinal")
    if any(draft.parent is not None and draft.parent not in ordinals for draft in drafts):
        values.refuse("chunks.parent")
    return drafts


def _draft(row: Values) -> ChunkDraft:
    kind: Any = row.text("kind", choices=get_args(ChunkKind))
    return ChunkDraft(
        ordinal=row.number("ordinal"),
        text=row.text("text"),
        tokens=row.number("tokens"),
        kind=kind,
        heading_path=tuple(row.texts("heading_path", 512, 100)),
        parent=row.number_or_none("parent"),
        is_continuation=row.flag("is_continuation"),
        page=row.number_or_none("page"),
        boxes=tuple(_box(box, row) for box in row.lists("boxes", 5)),
    )


def _box(box: Sequence[Any], row: Values) -> Box:
    if type(box[0]) is not int or not all(type(side) in (int, float) for side in box):
        row.refuse("boxes")
    return Box(page=box[0], x0=float(box[1]), y0=float(box[2]), x1=float(box[3]), y1=float(box[4]))


def _place(row: Values, edits: int) -> int | None:
    return row.number_or_none("edit", 0, edits - 1) if edits else None


def _representations(
    values: Values, ordinals: Mapping[int, ChunkDraft], disabled: frozenset[int], title: str
) -> tuple[Representation, ...]:
    """Entries with the words that the tokenizer of this site finds in them."""
    terms_of = tokenizer().terms
    rows = []
    for ordinal, kind, language, text in values.lists("entries", 4):
        is_right = (
            type(ordinal) is int
            and ordinal in ordinals
            and ordinal not in disabled
            and isinstance(kind, str)
            and WORD.fullmatch(kind)
            and isinstance(language, str)
            and 0 < len(language) <= 8
            and (text is None or isinstance(text, str))
        )
        if not is_right:
            values.refuse("entries")
        draft = ordinals[ordinal]
        plain = without_picture_links(draft.text)
        embedded = text if text is not None else indexed_text(title=title, heading_path=draft.heading_path, text=plain)
        terms = tuple(term for term in terms_of(embedded) if len(term) <= MAX_TERM_CHARACTERS)
        rows.append(Representation(ordinal=ordinal, kind=kind, language=language, terms=terms, embedded_text=embedded))
    return tuple(rows)


def _sentences(values: Values, blocks: Blocks, ordinals: Mapping[int, ChunkDraft]) -> Any:
    for ordinal, space, keys, numbers in values.lists("sentences", 4):
        if ordinal not in ordinals or not isinstance(space, str) or len(space) > 64:
            values.refuse("sentences")
        packed = blocks.take_bytes(keys, values), blocks.take_bytes(numbers, values)
        if len(packed[1]) % SENTENCE_DIMENSIONS or len(packed[0]) % 8:
            values.refuse("sentences")
        try:
            yield ordinal, (space, SentenceVectors.unpacked(*packed))
        except ValueError:
            values.refuse("sentences")
