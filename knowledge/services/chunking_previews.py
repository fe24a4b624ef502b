"""Preview other chunking options on a sample of a set's documents; nothing is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from accounts.scope import Scope
from knowledge.model_registry import counter
from knowledge.models import Document, DocumentVersion
from knowledge.selectors import documents_readable, set_owned
from knowledge.selectors.options import site_options
from ragcore.chunking import splitter_for
from ragcore.errors import RagError
from ragcore.options import ChunkingOptions, resolve
from ragcore.parsing.markdown import MarkdownParser
from ragcore.types import ChunkDraft, ParsedDocument

SAMPLE = 5
MAX_CHARACTERS = 400_000  # longer documents would make the owner wait
EXAMPLES = 4  # passages shown of each document, from its beginning


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkedDocument:
    """The chunks of one document with one set of options."""

    passages: int
    mean_tokens: int
    longest_tokens: int
    examples: tuple[ChunkDraft, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPreview:
    document: Document
    before: ChunkedDocument
    after: ChunkedDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkingPreview:
    """Present and new chunking of the sample. `documents_total` would be rebuilt if the new options were chosen."""

    before: ChunkingOptions
    after: ChunkingOptions
    documents: tuple[DocumentPreview, ...]
    documents_total: int

    @property
    def passages_before(self) -> int:
        return sum(preview.before.passages for preview in self.documents)

    @property
    def passages_after(self) -> int:
        return sum(preview.after.passages for preview in self.documents)


def chunking_preview(
    *, scope: Scope, set_id: int, chunking: Mapping[str, Any], sample: int = SAMPLE
) -> ChunkingPreview:
    """Chunk a sample of a set's documents with the present and with other options.

    The sample is spread evenly over the set by age.
    Raises NotFoundError, NotAllowedError, InvalidOptionsError.
    """
    knowledge_set = set_owned(scope=scope, set_id=set_id)
    site = ("site", site_options(tenant_id=knowledge_set.tenant_id).get("chunking", {}))
    of_set = (f"set {knowledge_set.code}", knowledge_set.options.get("chunking", {}))
    before = resolve(ChunkingOptions, site, of_set).value
    after = resolve(ChunkingOptions, site, of_set, ("preview", chunking)).value
    rows = documents_readable(scope=scope).filter(sets=knowledge_set, live_version__isnull=False).order_by("pk")
    ids = list(rows.values_list("pk", flat=True))
    chosen = rows.filter(pk__in=_spread(ids, sample)).select_related("live_version")
    previews = [_preview(document, before, after) for document in chosen]
    return ChunkingPreview(
        before=before, after=after, documents=tuple(filter(None, previews)), documents_total=len(ids)
    )


def _spread(ids: Sequence[int], sample: int) -> list[int]:
    step = max(1, len(ids) // max(sample, 1))
    return list(ids[::step][:sample])


def _preview(document: Document, before: ChunkingOptions, after: ChunkingOptions) -> DocumentPreview | None:
    parsed = _blocks(document.live_version)
    if parsed is None:
        return None
    return DocumentPreview(document=document, before=_cut(parsed, before), after=_cut(parsed, after))


def _blocks(version: DocumentVersion | None) -> ParsedDocument | None:
    """The text of a version as blocks; None if there is none or it is too long."""
    if version is None or not 0 < len(version.markdown) <= MAX_CHARACTERS:
        return None
    try:
        return MarkdownParser().parse(version.markdown.encode(), name="preview.md")
    except RagError:
        return None


def _cut(parsed: ParsedDocument, options: ChunkingOptions) -> ChunkedDocument:
    drafts = [draft for draft in splitter_for(options, counter()).split(parsed) if draft.kind != "section"]
    sizes = [draft.tokens for draft in drafts] or [0]
    return ChunkedDocument(
        passages=len(drafts),
        mean_tokens=round(mean(sizes)),
        longest_tokens=max(sizes),
        examples=tuple(drafts[:EXAMPLES]),
    )
