"""Representations to rows of the index, under the lock of the tenant's statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knowledge.indexes.bm25 import document_side
from knowledge.indexes.copy import EntryRow, entries_copy
from knowledge.indexes.statistics import Totals, effective_length, reference_length_set, term_ids
from knowledge.services.representations import Representation
from ragcore.ports import FloatArray


@dataclass(frozen=True, slots=True)
class NewEntry:
    """A representation of a stored chunk with its vector, float32[768]."""

    chunk_id: int
    version_id: int
    representation: Representation
    vector: FloatArray


def entries_create(*, tenant_id: int, entries: Sequence[NewEntry], totals: Mapping[str, Totals], model: str) -> None:
    """Copy entries into the unindexed tail; `totals` are what `statistics_lock` returned for their languages.

    Frequencies and totals are counted by whoever makes the entries live.
    """
    for language, total in totals.items():
        mine = [entry for entry in entries if entry.representation.language == language]
        if not mine:
            continue
        reference = total.reference_length or _mean_length(mine)
        if not total.reference_length:
            reference_length_set(tenant_id=tenant_id, language=language, reference=reference)
        texts = {term for entry in mine for term in entry.representation.terms}
        ids = term_ids(tenant_id=tenant_id, language=language, texts=texts)
        entries_copy([_row(tenant_id, entry, ids, reference, model) for entry in mine])


def _mean_length(entries: Sequence[NewEntry]) -> float:
    """Terms of a passage on average, by its longest entry, as the statistics count them."""
    longest: dict[int, int] = {}
    for entry in entries:
        longest[entry.chunk_id] = max(longest.get(entry.chunk_id, 0), len(entry.representation.terms))
    return sum(longest.values()) / len(longest)


def _row(tenant_id: int, entry: NewEntry, ids: Mapping[str, int], reference: float, model: str) -> EntryRow:
    representation = entry.representation
    frequencies = Counter(ids[term] for term in representation.terms)
    length = effective_length(representation.kind, len(representation.terms), reference)
    return EntryRow(
        chunk_id=entry.chunk_id,
        version_id=entry.version_id,
        tenant_id=tenant_id,
        representation=representation.kind,
        language=representation.language,
        length=len(representation.terms),
        vector=entry.vector,
        weights=document_side(frequencies, length=length, average_length=reference),
        embedding_model=model,
    )
