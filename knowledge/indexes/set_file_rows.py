"""Entries of versions with their vectors, and vectors of sentences, as a set file has them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from knowledge.indexes.statements import fetch

ENTRIES = """
SELECT e.version_id, e.chunk_id, e.representation, e.language, x.text, halfvec_send(v.vector)
FROM knowledge_indexentry e
LEFT JOIN knowledge_entrytext x ON x.entry_id = e.id
LEFT JOIN knowledge_wholevector v ON v.entry_id = e.id AND v.embedding_model = %(model)s
WHERE e.version_id = ANY(%(versions)s)
ORDER BY e.version_id, e.id
"""
SENTENCES = """
SELECT s.version_id, s.chunk_id, s.space, s.keys, s.numbers FROM knowledge_passagesentences s
WHERE s.version_id = ANY(%(versions)s) AND s.embedding_model = %(model)s
ORDER BY s.version_id, s.chunk_id
"""
REFERENCES = """
SELECT language, reference_length FROM knowledge_lexicalstatistics
WHERE tenant_id = %(tenant)s AND reference_length > 0 ORDER BY language
"""


@dataclass(frozen=True, slots=True)
class TravellingEntry:
    """One entry. `text`: what was embedded, None for the passage's own; `vector`: float16[768], None: of no such
    model.
    """

    chunk_id: int
    representation: str
    language: str
    text: str | None
    vector: npt.NDArray[np.float16] | None


@dataclass(frozen=True, slots=True)
class TravellingSentences:
    """The packed vectors of the sentences of a passage."""

    chunk_id: int
    space: str
    keys: bytes
    numbers: bytes


def entries_of(*, versions: Sequence[int], model: str) -> dict[int, list[TravellingEntry]]:
    """The entries of versions with their vectors by a model, by version, in the order in which they were made."""
    rows: dict[int, list[TravellingEntry]] = defaultdict(list)
    for version, chunk, representation, language, text, packed in fetch(
        ENTRIES, {"versions": list(versions), "model": model}
    ):
        vector = None if packed is None else np.frombuffer(bytes(packed), ">f2", offset=4).astype(np.float16)
        rows[version].append(TravellingEntry(chunk, representation, language, text, vector))
    return rows


def sentences_of(*, versions: Sequence[int], model: str) -> dict[int, list[TravellingSentences]]:
    """The vectors of sentences by a model, by version."""
    rows: dict[int, list[TravellingSentences]] = defaultdict(list)
    for version, chunk, space, keys, numbers in fetch(SENTENCES, {"versions": list(versions), "model": model}):
        rows[version].append(TravellingSentences(chunk, space, bytes(keys), bytes(numbers)))
    return rows


def reference_lengths(*, tenant_id: int) -> dict[str, float]:
    """Average lengths of passages with which the document sides of BM25 are computed, by language."""
    return {str(language): float(length) for language, length in fetch(REFERENCES, {"tenant": tenant_id})}
