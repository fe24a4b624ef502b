"""The systems: what they are called, where they run and what they are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

VectorKind = Literal["minilm", "own"]
VECTOR_KINDS: dict[VectorKind, str] = {"minilm": "MiniLM", "own": "our vectors"}
OURS = "Ragsite"
ARMS = ("bm25", "vectors")  # single ones of ours, which fusing must not fall behind

WITH_VECTORS = {
    "haystack": [("Haystack hybrid", "haystack_hybrid")],
    "txtai": [("txtai hybrid", "txtai_hybrid")],
    "llamaindex": [
        ("LlamaIndex fusion, simple", "llamaindex_fusion:simple"),
        ("LlamaIndex fusion, reciprocal rank", "llamaindex_fusion:reciprocal_rerank"),
    ],
    "postgres": [("pgvector + ts_rank_cd", "postgres_sum")],
    "exact": [("exact vector search", "exact")],
}
WITHOUT_VECTORS = {
    "bm25s": [("bm25s", "bm25s_words"), ("bm25s, our terms", "bm25s_words:terms")],
}
GROUPS = (*WITH_VECTORS, *WITHOUT_VECTORS)


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One row of the tables."""

    key: str  # unique
    label: str
    engine: str  # for bench.peers.worker
    group: str  # what PEERS names
    vectors: VectorKind | None = None  # None: it uses none, or makes its own
    is_ours: bool = False
    with_our_terms: bool = False

    @property
    def is_peer(self) -> bool:
        """False for ours and for the ceiling that is no system."""
        return not self.is_ours and self.group != "exact"

    @property
    def with_our_parts(self) -> bool:
        """Whether it works on our terms or our vectors: nobody can pick that, but it says what the engine is worth."""
        return self.with_our_terms or self.vectors == "own"


OUR_SYSTEMS = tuple(
    System(key=f"ours-{arm}", label=f"{OURS}: {label}", engine=f"ours:{arm}", group="ours", is_ours=True)
    for arm, label in {
        "bm25": "BM25",
        "vectors": "vectors",
        "fused": "fused",
        "reranked": "fused and reranked",
    }.items()
)


def systems(*, peers: Sequence[str], kinds: Sequence[VectorKind]) -> list[System]:
    """Ours, then every peer of the named groups with every kind of vectors.

    Raises ValueError for a group that does not exist.
    """
    if unknown := set(peers) - set(GROUPS):
        raise ValueError(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}")
    found = list(OUR_SYSTEMS)
    for group in [group for group in WITHOUT_VECTORS if group in peers]:
        found += [
            System(key=engine, label=label, engine=engine, group=group, with_our_terms=engine.endswith(":terms"))
            for label, engine in WITHOUT_VECTORS[group]
        ]
    for kind in kinds:
        for group in [group for group in WITH_VECTORS if group in peers]:
            found += [
                System(
                    key=f"{engine}@{kind}",
                    label=f"{label} ({VECTOR_KINDS[kind]})",
                    engine=engine,
                    group=group,
                    vectors=kind,
                )
                for label, engine in WITH_VECTORS[group]
            ]
    return found
