"""Which way through the index costs least: small models of cost with measured constants (D27).

The constants are milliseconds of processor time with PostgreSQL 18 and pgvector 0.8.2 on the corpus of `make
bench-scale` (docs/decisions/010). Only their relations matter.
"""

from __future__ import annotations

from dataclasses import dataclass

from knowledge.indexes.search_space import SearchSpace
from ragcore.types import Hit

SCANNED = 0.0013  # an entry compared in a scan of the whole tenant, some room in its pages free
FROM_DOCUMENT = 0.0019  # an entry compared that is reached from its document
DOCUMENT = 0.004  # a visible document looked up
CHECKED = 0.006  # a hit whose document is looked up and checked against the asker's rights
NEAR_START = 40.0  # until the HNSW index has brought the first ones
NEAR = 0.03  # an entry that it brings after those
NEAR_FIRST = 800  # hnsw.ef_search
POSTING = 0.0033  # an entry brought by its terms, and scored
SPARE = 1.25  # hits that are asked for per hit that is needed: some belong to versions that are not live any more
SPARE_HITS = 200
# The same where the last searches needed no more: the HNSW index is paid for each hit that it brings.
LITTLE_SPARE = 1.04
LITTLE_SPARE_HITS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPlan:
    """A way, how many hits to fetch before rights are checked, and what each way would have cost."""

    path: str  # scan, documents, index, terms
    fetched: int
    costs: dict[str, float]  # estimated milliseconds by path

    def as_note(self) -> dict[str, object]:
        return {"way": self.path, "fetched": self.fetched, "costs": {k: round(v, 1) for k, v in self.costs.items()}}


@dataclass(frozen=True, slots=True)
class PlannedHits:
    """Hits, best first, and how they were looked for."""

    hits: list[Hit]
    plan: AccessPlan


def vector_plan(space: SearchSpace, *, limit: int, is_clean: bool = False) -> AccessPlan:
    """How to find the nearest visible entries; `is_clean`: hardly any entry belongs to a version that is not live.

    scan: compare all entries of the tenant, then check rights in the order of distance. documents: compare the entries
    of the visible documents only. index: HNSW for the merged part and a scan of the tail, then check rights.
    """
    fetched = fetched_for(space, limit=limit, is_clean=is_clean)
    checks = CHECKED * min(fetched, space.total)
    costs = {
        "scan": SCANNED * space.total + checks,
        "documents": FROM_DOCUMENT * space.visible + DOCUMENT * space.documents,
    }
    if space.is_indexed:
        costs["index"] = NEAR_START + NEAR * max(0, fetched - NEAR_FIRST) + SCANNED * space.tail + checks
    return AccessPlan(path=min(costs, key=lambda path: costs[path]), fetched=fetched, costs=costs)


def lexical_plan(space: SearchSpace, *, candidates: int, limit: int) -> AccessPlan:
    """How to find the visible entries that match best; `candidates` entries contain one of the chosen terms.

    terms: score what the terms bring, then check rights in the order of scores. documents: score all entries of the
    visible documents, by all terms.
    """
    fetched = min(fetched_for(space, limit=limit), max(candidates, 1))
    costs = {
        "terms": POSTING * candidates + CHECKED * fetched,
        "documents": FROM_DOCUMENT * space.visible + DOCUMENT * space.documents,
    }
    return AccessPlan(path=min(costs, key=lambda path: costs[path]), fetched=fetched, costs=costs)


def fetched_for(space: SearchSpace, *, limit: int, is_clean: bool = False) -> int:
    """Hits to fetch so that `limit` of them are probably visible."""
    if is_clean:
        return int(LITTLE_SPARE * limit / space.share) + LITTLE_SPARE_HITS
    return int(SPARE * limit / space.share) + SPARE_HITS
