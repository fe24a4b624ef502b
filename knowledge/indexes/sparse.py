"""Sparse vectors keyed by term id."""

from __future__ import annotations

from collections.abc import Mapping

TERM_SPACE = 1_000_000_000  # dimensions of pgvector's sparsevec, its maximum; term ids stay below


def sparse_text(weights: Mapping[int, float]) -> str:
    """The text form of a sparsevec; pgvector counts dimensions from 1."""
    return "{" + ",".join(f"{i}:{w:.6g}" for i, w in sorted(weights.items())) + f"}}/{TERM_SPACE}"


def sparse_parse(text: str) -> dict[int, float]:
    """The inverse of `sparse_text`."""
    body = text[text.index("{") + 1 : text.index("}")]
    return {int(i): float(w) for i, w in (pair.split(":") for pair in body.split(",") if pair)}
