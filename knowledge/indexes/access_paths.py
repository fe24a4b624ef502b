"""Choose the cheapest access path of a search: small cost models with measured constants (D27).

The constants are milliseconds of processor time with PostgreSQL 18 and pgvector 0.8.2 on the corpus of `make
bench-scale` (docs/decisions/010). Only their ratios matter.
"""

from __future__ import annotations

from dataclasses import dataclass

from knowledge.indexes.search_space import SearchSpace
from ragcore.types import Hit

SCANNED = 0.0013  # compare one entry in a scan of the whole tenant, with some free space in its pages
FROM_DOCUMENT = 0.0019  # compare one entry that is reached from its document
DOCUMENT = 0.004  # look up one visible document
CHECKED = 0.006  # look up the document of one hit and check the asker's rights
NEAR_START = 40.0  # the first NEAR_FIRST entries of the HNSW index
NEAR = 0.03  # one more entry of the HNSW index
NEAR_FIRST = 800  # hnsw.ef_search
POSTING = 0.0033  # find one entry by its terms, and score it
SPARE = 1.25  # hits fetched per hit needed: some belong to versions that are no longer live
SPARE_HITS = 200
# The same if recent searches needed no more: each hit of the HNSW index has its cost.
LITTLE_SPARE = 1.04
LITTLE_SPARE_HITS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPlan:
    """The access path, how many hits to fetch before rights are checked, and the estimated cost of every path."""

    path: str  # scan, documents, index, terms
    fetched: int
    costs: dict[str, float]  # estimated milliseconds by path

    def as_note(self) -> dict[str, object]:
        return {"way": self.path, "fetched": self.fetched, "costs": {k: round(v, 1) for k, v in self.costs.items()}}


@dataclass(frozen=True, slots=True)
class PlannedHits:
    """Hits, best first, and the plan that found them."""

    hits: list[Hit]
    plan: AccessPlan


def vector_plan(space: SearchSpace, *, limit: int, is_clean: bool = False) -> AccessPlan:
    """Plan how to find the nearest visible entries.

    `is_clean`: hardly any entry belongs to a version that is not live.

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
    """Plan how to find the best visible entries; `candidates` entries contain one of the chosen terms.

    terms: score the entries that contain a term, then check rights in the order of scores. documents: score all
    entries of the visible documents, by all terms.
    """
    fetched = min(fetched_for(space, limit=limit), max(candidates, 1))
    costs = {
        "terms": POSTING * candidates + CHECKED * fetched,
        "documents": FROM_DOCUMENT * space.visible + DOCUMENT * space.documents,
    }
    return AccessPlan(path=min(costs, key=lambda path: costs[path]), fetched=fetched, costs=costs)


def fetched_for(space: SearchSpace, *, limit: int, is_clean: bool = False) -> int:
    """How many hits to fetch so that `limit` of them are probably visible."""
    if is_clean:
        return int(LITTLE_SPARE * limit / space.share) + LITTLE_SPARE_HITS
    return int(SPARE * limit / space.share) + SPARE_HITS
