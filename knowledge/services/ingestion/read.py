"""From an original to chunks and the texts that represent them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from knowledge.engines import counter, embedder
from knowledge.errors import WorkerLostError
from knowledge.models import DocumentVersion, IngestItem
from knowledge.services.ingestion.outcomes import MAX_ATTEMPTS
from knowledge.services.representations import Representation, representations_of
from ragcore.chunking import HeadingTreeSplitter
from ragcore.cleaning import clean
from ragcore.errors import EmptyDocumentError
from ragcore.options import ChunkingOptions, options_sha256, resolve
from ragcore.parsing import parse
from ragcore.parsing.sandbox import ParseLimits, needs_containment, parse_contained
from ragcore.ports import FloatArray
from ragcore.types import ChunkDraft, ParsedDocument

LIMITS = ParseLimits()
EMBEDDED_TEXTS = 128  # at a time: some seconds on a processor, far below the length of a lease


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """All that publishing needs, nothing of it stored yet except the parsed text on the version."""

    item: IngestItem
    drafts: tuple[ChunkDraft, ...]
    representations: tuple[Representation, ...]


def item_prepare(item: IngestItem) -> Prepared:
    """Read, clean and cut one original. Safe to repeat: it only replaces the parsed text of its version."""
    if item.attempt > MAX_ATTEMPTS:
        raise WorkerLostError
    version = item.version
    options = _options(version)
    parsed = clean(_parse(version))
    drafts = tuple(HeadingTreeSplitter(options, counter()).split(parsed))
    if not drafts:
        raise EmptyDocumentError
    _remember(version, parsed, options)
    return Prepared(item=item, drafts=drafts, representations=tuple(representations_of(version.document, drafts)))


def _options(version: DocumentVersion) -> ChunkingOptions:
    """The first set that configures chunking decides; D14 gives every set its own pipeline later."""
    layers = [
        (f"set {s.code}", s.options["chunking"])
        for s in version.document.sets.order_by("pk")
        if s.options.get("chunking")
    ]
    return resolve(ChunkingOptions, *layers[:1]).value


def _parse(version: DocumentVersion) -> ParsedDocument:
    with version.file.open("rb") as file:
        content = file.read()
    if needs_containment(version.file_name, len(content)):
        return parse_contained(content, name=version.file_name, limits=LIMITS)
    return parse(content, name=version.file_name)


def _remember(version: DocumentVersion, parsed: ParsedDocument, options: ChunkingOptions) -> None:
    version.markdown = parsed.markdown()
    version.title = parsed.title[:512]
    version.pages = parsed.pages
    version.pipeline = options_sha256(options)
    version.save(update_fields=["markdown", "title", "pages", "pipeline"])


def texts_embed(prepared: list[Prepared], *, alive: Callable[[], None]) -> FloatArray:
    """float32[n, 768] for all representations of a batch, in order; `alive` is called on the way."""
    texts = [r.embedded_text for one in prepared for r in one.representations]
    parts = []
    for start in range(0, max(len(texts), 1), EMBEDDED_TEXTS):
        parts.append(embedder().embed_documents(texts[start : start + EMBEDDED_TEXTS]))
        alive()
    vectors = np.concatenate(parts)
    if not np.isfinite(vectors).all():
        raise ValueError("the embedder returned numbers that are not finite")
    return vectors
