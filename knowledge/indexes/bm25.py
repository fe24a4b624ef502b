"""BM25 split into a document side and a query side whose inner product it is.

score(q, d) = Σ_t idf(t) · tf·(k1+1) / (tf + k1·(1 − b + b·dl/avgdl)), idf(t) = ln(1 + (N − df + ½)/(df + ½)).
Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009; idf as in Lucene (never negative).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ragcore.text.lexical_features import idf

K1 = 1.2
B = 0.75


def document_side(frequencies: Mapping[int, int], *, length: int, average_length: float) -> dict[int, float]:
    """Weight per term id for a text of `length` terms."""
    norm = length_norm(length=length, average_length=average_length)
    return {term: tf * (K1 + 1) / (tf + norm) for term, tf in frequencies.items()}


def length_norm(*, length: int, average_length: float) -> float:
    """k1·(1 − b + b·dl/avgdl)."""
    return K1 * (1 - B + B * length / max(average_length, 1.0))


def term_frequency(weight: float, norm: float) -> int:
    """The term frequency of a weight: the exact inverse of `document_side` for whole numbers."""
    return max(1, round(weight * norm / (K1 + 1 - weight)))


def query_side(terms: Sequence[int], *, frequencies: Mapping[int, int], entries: Mapping[int, int]) -> dict[int, float]:
    """idf per term id, times its count in the query. `entries` maps a term id to N of its language."""
    counts = Counter(terms)
    return {
        term: count * idf(entries[term], frequencies[term])
        for term, count in counts.items()
        if frequencies.get(term, 0) > 0 and entries.get(term, 0) >= frequencies[term]
    }


def rarest_within(frequencies: Mapping[int, int], *, cap: int) -> list[int]:
    """Term ids, rarest first, as long as the sum of their document frequencies is at most `cap`; at least one."""
    chosen: list[int] = []
    total = 0
    for term, frequency in sorted(frequencies.items(), key=lambda item: (item[1], item[0])):
        total += frequency
        if chosen and total > cap:
            break
        chosen.append(term)
    return chosen


# ── sparse vectors keyed by term id ───────────────────────────────────────────────────────────────


TERM_SPACE = 1_000_000_000  # dimensions of pgvector's sparsevec, its maximum; term ids stay below


def sparse_text(weights: Mapping[int, float]) -> str:
    """The text form of a sparsevec; pgvector counts dimensions from 1."""
    return "{" + ",".join(f"{i}:{w:.6g}" for i, w in sorted(weights.items())) + f"}}/{TERM_SPACE}"


def sparse_parse(text: str) -> dict[int, float]:
    """The inverse of `sparse_text`."""
    body = text[text.index("{") + 1 : text.index("}")]
    return {int(i): float(w) for i, w in (pair.split(":") for pair in body.split(",") if pair)}
