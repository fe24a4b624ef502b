"""`python -m bench.scale.memory`: what an index takes, for one, ten and a hundred million entries (docs/scaling.md).

Computed from the formats of the engines; nothing here was measured at these sizes. The test builds a small
HNSW index in PostgreSQL and compares its size with the formula.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import floor

COARSE, FINE = 384, 768  # dimensions
TERMS = 100  # different terms of a passage: about 130 words, or 200 characters of Chinese with their bigrams
M = 32
MILLIONS = (1, 10, 100)
GB = 1e9

PAGE = 8192 - 24 - 8  # bytes of a page of PostgreSQL, less its header and what pgvector keeps at its end
ROW_HEADER = 24 + 4  # of a tuple, and its pointer
NUMBERS = 80  # ids, language, model, length of an entry
KEY = 20  # of a number in a B-tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One line of the table. `bytes_each`: of one entry."""

    name: str
    where: str
    bytes_each: float
    formula: str


def aligned(size: float) -> int:
    """To 8 bytes, as PostgreSQL does."""
    return -(-int(size) // 8) * 8


def halfvec(dimensions: int) -> int:
    """pgvector: a header of 8 bytes and 2 for each dimension."""
    return 8 + 2 * dimensions


def sparsevec(terms: int) -> int:
    """pgvector: a header of 16 bytes, 4 for each index and 4 for each value."""
    return 16 + 8 * terms


def pgvector_hnsw(dimensions: int, m: int) -> float:
    """An element (72 bytes and the vector) and its neighbours (4 bytes and 6 for each of 2m, and m a level above).

    Both stand on one page where they fit; what is left of a page stays empty. An element is on 1 / (m − 1) levels
    above the lowest, on average. Source: hnsw.h of pgvector 0.8 (HnswElementTupleData, HnswNeighborTupleData).
    """
    element = aligned(72 + halfvec(dimensions)) + 4
    neighbours = aligned(4 + 6 * m * (2 + 1 / (m - 1))) + 4
    return PAGE / floor(PAGE / (element + neighbours)) * 8192 / PAGE


def in_pages(row: int) -> float:
    """Bytes of the table for each row where only whole rows fit a page."""
    return 8192 / floor((8192 - 24) / aligned(row))


def toasted(size: int) -> float:
    """A value outside of its row: chunks of at most 1996 bytes, each a row of 12 bytes more."""
    chunks = -(-size // 1996)
    return size + chunks * (ROW_HEADER + 12 + 4)


def milvus_hnsw(dimensions: int, m: int) -> float:
    """hnswlib: float16 vector, 2m links of 4 bytes and their count, a label, and m links a level above."""
    return 2 * dimensions + (2 * m * 4 + 4) + 8 + (m * 4 + 4) / (m - 1)


def ivf_sq8(dimensions: int) -> float:
    """One byte for each dimension, an id; the centres are less than 1 %."""
    return dimensions + 8


def diskann_memory(dimensions: int) -> float:
    """Compressed vectors (12.5 %) and cached nodes (10 %) of the float32 ones, the defaults of Milvus."""
    return (0.125 + 0.10) * 4 * dimensions


def diskann_disk(dimensions: int) -> float:
    """float32 vector and 56 neighbours of 4 bytes, in sectors."""
    return 4 * dimensions + 4 + 56 * 4


PARTS = (
    Part(
        name="PostgreSQL: entries with 384-d vectors",
        where="disk, hot part in memory",
        bytes_each=ROW_HEADER + NUMBERS + halfvec(COARSE),
        formula="row 108 + halfvec (8 + 2·384)",
    ),
    Part(
        name="PostgreSQL: 768-d vectors in a table of their own",
        where="disk, in memory up to about 100,000 entries",
        bytes_each=in_pages(ROW_HEADER + NUMBERS + halfvec(FINE)) + 3 * KEY,
        formula="four rows a page (108 + 8 + 2·768 each) + 20 in each of three B-trees",
    ),
    Part(
        name="PostgreSQL: words and BM25 weights beside the entries",
        where="disk",
        bytes_each=toasted(sparsevec(TERMS)) + toasted(4 + 12 * TERMS),
        formula="sparsevec (16 + 8·terms) + tsvector (4 + 12·terms) + 44 a piece",
    ),
    Part(
        name="PostgreSQL: GIN of the words",
        where="disk, hot part in memory",
        bytes_each=3 * TERMS,
        formula="about 3 bytes for each term of an entry",
    ),
    Part(
        name="pgvector: HNSW m=32 of 384-d",
        where="memory",
        bytes_each=pgvector_hnsw(COARSE, M),
        formula="pages of (72 + 8 + 2·384) + (4 + 6·32·(2 + 1/31))",
    ),
    Part(
        name="pgvector: HNSW m=32 of 768-d (not used here)",
        where="memory",
        bytes_each=pgvector_hnsw(FINE, M),
        formula="the same with 768",
    ),
    Part(
        name="Milvus: HNSW M=32 of 384-d",
        where="memory",
        bytes_each=milvus_hnsw(COARSE, M),
        formula="2·384 + 2·32·4 + 4 + 8 + (32·4 + 4)/31",
    ),
    Part(
        name="Milvus: IVF_SQ8 of 384-d, instead",
        where="memory",
        bytes_each=ivf_sq8(COARSE),
        formula="384 + 8",
    ),
    Part(
        name="Milvus: DiskANN of 384-d, instead",
        where="memory",
        bytes_each=diskann_memory(COARSE),
        formula="(0.125 + 0.10)·4·384",
    ),
    Part(
        name="Milvus: DiskANN of 384-d, instead",
        where="SSD",
        bytes_each=diskann_disk(COARSE),
        formula="4·384 + 4 + 56·4",
    ),
    Part(
        name="Milvus: inverted sparse of the BM25 weights",
        where="memory",
        bytes_each=8 * TERMS,
        formula="8·terms",
    ),
    Part(
        name="Milvus: 768-d vectors (FLAT, mapped)",
        where="SSD",
        bytes_each=2 * FINE,
        formula="2·768",
    ),
    Part(
        name="Milvus: ids, rights, sets, tags",
        where="memory",
        bytes_each=8 * 8 + 8 * 6 + 32,
        formula="8 numbers + 6 in lists + two short texts",
    ),
)


def table(parts: tuple[Part, ...] = PARTS, *, show: Callable[[float], str] | None = None) -> str:
    """A Markdown table: GB of each part for so many million entries."""
    show = show or (lambda size: f"{size:.1f}" if size < 100 else f"{size:.0f}")
    head = ["What", "Where", "Bytes an entry", *(f"{n} M" for n in MILLIONS), "Formula"]
    rows = [
        [p.name, p.where, f"{p.bytes_each:.0f}", *(show(p.bytes_each * n * 1e6 / GB) for n in MILLIONS), p.formula]
        for p in parts
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


if __name__ == "__main__":
    print(table())
