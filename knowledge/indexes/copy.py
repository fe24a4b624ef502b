"""Binary COPY into the index table: vectors go from numpy to Postgres without a text form.

Formats: PostgreSQL manual "COPY, Binary Format"; send/receive functions of tsvector and of pgvector's types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from struct import pack

import numpy as np
from django.db import connection

from knowledge.indexes.lexical import TERM_SPACE
from knowledge.indexes.rotations import coarse_vectors, rotation_for_new
from knowledge.indexes.statements import fetch
from knowledge.indexes.vector_cells import cells_for_new
from ragcore.ports import FloatArray

HEADER = b"PGCOPY\n\xff\r\n\0" + pack(">ii", 0, 0)
TRAILER = pack(">h", -1)
ENTRY_COLUMNS = (
    "id, chunk_id, version_id, tenant_id, representation, language, length, "
    "coarse, lexemes, bm25, embedding_model, merged, rotation"
)
SET_VECTOR_COLUMNS = "entry_id, chunk_id, version_id, tenant_id, representation, embedding_model, vector"
VECTOR_COLUMNS = f"{SET_VECTOR_COLUMNS}, cell"

NEW_IDS = "SELECT nextval(pg_get_serial_sequence(%(table)s, 'id')) FROM generate_series(1, %(count)s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRow:
    """One row to insert. `vector` is float32[768], `weights` the document side of BM25 by term id.

    `text`: what was embedded; "" for the passage's own text, which is stored with the passage.
    """

    chunk_id: int
    version_id: int
    tenant_id: int
    representation: str
    language: str
    length: int
    vector: FloatArray
    weights: Mapping[int, float]
    embedding_model: str
    text: str = ""


def entries_copy(rows: Sequence[EntryRow]) -> None:
    """Insert rows into the tail outside of the HNSW index, within the caller's transaction.

    Their coarse vectors get the rotation that new entries of the tenant and model have.
    """
    if not rows:
        return
    ids = _new_ids("knowledge_indexentry", len(rows))
    entries = (
        _entry(number, row, coarse, rotation)
        for number, row, (coarse, rotation) in zip(ids, rows, _rotated(rows), strict=True)
    )
    _copy(f"knowledge_indexentry ({ENTRY_COLUMNS})", entries)
    texts = ((pack(">q", number), row.text.encode()) for number, row in zip(ids, rows, strict=True) if row.text)
    _copy("knowledge_entrytext (entry_id, text)", texts)
    whole_vectors_copy(list(zip(ids, rows, strict=True)))


def whole_vectors_copy(rows: Sequence[tuple[int, EntryRow]]) -> None:
    """Insert the whole vectors of entries with these ids."""
    for tenant, model in {(row.tenant_id, row.embedding_model) for _number, row in rows}:
        mine = [one for one in rows if (one[1].tenant_id, one[1].embedding_model) == (tenant, model)]
        vectors = np.stack([row.vector for _, row in mine])
        cells = cells_for_new(vectors, tenant_id=tenant, name=model)
        fields = (
            (*_place(entry, row), model.encode(), _halfvec(row.vector), pack(">i", cell))
            for (entry, row), cell in zip(mine, cells.tolist(), strict=True)
        )
        _copy(f"knowledge_wholevector ({VECTOR_COLUMNS})", fields)


@dataclass(frozen=True, slots=True)
class EntryPlace:
    """Where an entry belongs: what the tables of vectors repeat of it."""

    entry_id: int
    chunk_id: int
    version_id: int
    tenant_id: int
    representation: str


def set_vectors_copy(rows: Sequence[EntryPlace], *, model: str, vectors: Sequence[FloatArray]) -> None:
    """Insert float32[768] of each of these entries by the model of a knowledge set."""
    fields = (
        (*_place(row.entry_id, row), model.encode(), _halfvec(vector))
        for row, vector in zip(rows, vectors, strict=True)
    )
    _copy(f"knowledge_setvector ({SET_VECTOR_COLUMNS})", fields)


def vectors_copy(table: str, column: str, *, ids: Sequence[int], vectors: FloatArray) -> None:
    """Insert ids and their vectors into a table of two columns."""
    rows = ((pack(">q", number), _halfvec(vector)) for number, vector in zip(ids, vectors, strict=True))
    _copy(f"{table} (id, {column})", rows)


def _copy(target: str, rows: Iterable[Sequence[bytes]]) -> None:
    """Insert rows of fields in their binary form into a table; `target` names it with its columns."""
    with (
        connection.cursor() as cursor,
        cursor.cursor.copy(f"COPY {target} FROM STDIN WITH (FORMAT BINARY)") as copy,  # psycopg's cursor
    ):
        copy.write(HEADER)
        for row in rows:
            copy.write(_joined(row))
        copy.write(TRAILER)


def _rotated(rows: Sequence[EntryRow]) -> list[tuple[FloatArray, int]]:
    """The coarse vector of each row, float32[384], and the number of its rotation.

    Of the whole vector as it is stored, in 16 bits: an entry that is copied or rotated anew gets the same one.
    """
    found: dict[int, tuple[FloatArray, int]] = {}
    for tenant, model in {(row.tenant_id, row.embedding_model) for row in rows}:
        mine = [at for at, row in enumerate(rows) if (row.tenant_id, row.embedding_model) == (tenant, model)]
        rotation = rotation_for_new(tenant_id=tenant, model=model)
        stored = np.stack([rows[at].vector for at in mine]).astype(np.float16).astype(np.float32)
        vectors = coarse_vectors(stored, rotation=rotation, model=model)
        found.update((at, (vector, rotation)) for at, vector in zip(mine, vectors, strict=True))
    return [found[at] for at in range(len(rows))]


def _entry(number: int, row: EntryRow, coarse: FloatArray, rotation: int) -> Sequence[bytes]:
    return (
        *_place(number, row),
        row.language.encode(),
        pack(">i", row.length),
        _halfvec(coarse),
        _tsvector(row.weights),
        _sparsevec(row.weights),
        row.embedding_model.encode(),
        b"\0",
        pack(">i", rotation),
    )


def _place(number: int, row: EntryRow | EntryPlace) -> Sequence[bytes]:
    """What both tables begin with: id of the entry, chunk, version, tenant and representation."""
    ids = (number, row.chunk_id, row.version_id, row.tenant_id)
    return (*(pack(">q", one) for one in ids), row.representation.encode())


def _joined(fields: Sequence[bytes]) -> bytes:
    return pack(">h", len(fields)) + b"".join(pack(">i", len(field)) + field for field in fields)


def _halfvec(vector: FloatArray) -> bytes:
    return pack(">hh", len(vector), 0) + vector.astype(">f2").tobytes()


def _sparsevec(weights: Mapping[int, float]) -> bytes:
    indices = sorted(weights)
    values = np.array([weights[i] for i in indices], dtype=">f4")
    # the binary form counts dimensions from 0, the text form from 1
    return (
        pack(">iii", TERM_SPACE, len(indices), 0)
        + (np.array(indices, dtype=">i4") - 1).astype(">i4").tobytes()
        + values.tobytes()
    )


def _tsvector(weights: Mapping[int, float]) -> bytes:
    lexemes = sorted(str(i).encode() for i in weights)
    return pack(">i", len(lexemes)) + b"".join(lexeme + b"\0" + pack(">h", 0) for lexeme in lexemes)


# ── ids ───────────────────────────────────────────────────────────────────────────────────────────


def chunk_ids(count: int) -> list[int]:
    """New chunk ids, ascending; taken before the rows are written, so that rows can refer to each other."""
    return _new_ids("knowledge_chunk", count)


def _new_ids(table: str, count: int) -> list[int]:
    return sorted(row[0] for row in fetch(NEW_IDS, {"table": table, "count": count}))
