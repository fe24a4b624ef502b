"""How much there is to search within the asker's rights, and the cheapest access path to it.

Each document carries how many passages and entries its live version has (`knowledge.indexes.lexical_statistics`), so
counting reads documents and no entries. A count is made again when the corpus epoch has moved. Where counting is slow
it may be a minute old. Counts are shown to people and choose the access path; no result depends on them.

The cost models are small. Their constants are milliseconds of processor time with PostgreSQL 18 and pgvector 0.8.2 on
the corpus of `make bench-scale` (docs/decisions/010). Only their ratios matter.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace

from accounts.scope import Scope
from knowledge.indexes.corpus_epoch import EpochCache, epoch_of
from knowledge.indexes.index_maintenance import hnsw_is_valid
from knowledge.indexes.statements import fetch
from knowledge.indexes.vector_cells import CellFigures
from knowledge.indexes.visibility import Visible
from ragcore.types import Hit

STALE_SECONDS = 60.0  # how old a slow count may be
TAIL_LIMIT = 200_000  # a longer tail is not counted to its end
TAIL_SECONDS = 10.0  # how old the length of the tail may be: merging advances no epoch
INDEX_SECONDS = 10.0  # how long a process believes that the index is there

VISIBLE = """
SELECT coalesce(sum(d.passages), 0), coalesce(sum(d.entries), 0), count(*)
FROM knowledge_document d
WHERE d.entries > 0 AND d.live_version_id IS NOT NULL AND d.id IN ({visible})
"""
OF_TENANT = """
SELECT coalesce(sum(d.passages), 0), coalesce(sum(d.entries), 0), count(*)
FROM knowledge_document d
WHERE d.entries > 0 AND d.live_version_id IS NOT NULL AND d.deleted IS NULL AND d.tenant_id = %(tenant)s
"""
TAIL = """
SELECT count(*) FROM (
    SELECT 1 FROM knowledge_indexentry WHERE tenant_id = %(tenant)s AND NOT merged LIMIT %(limit)s
) counted
"""

counts: EpochCache[CorpusSize] = EpochCache()
tails: EpochCache[int] = EpochCache()
indexed: EpochCache[bool] = EpochCache()
SCANNED = 0.001  # compare one whole vector in a scan of all
FROM_DOCUMENT = 0.0019  # compare one entry that is reached from its document
FINE = 0.003  # compare the whole vector of one hit of the HNSW index
EXACT_WORTH = 1.5  # times the cost of the index: comparing everything misses nothing
EXACT_HITS = 160  # wanted of an exact search; more cost little
INDEX_HITS = 1200  # that the second stage compares, of both arms
DOCUMENT = 0.004  # look up one visible document
CHECKED = 0.006  # look up the document of one hit and check the asker's rights
NEAR_START = 16.0  # begin with the HNSW index
NEAR = 0.03  # one entry of the HNSW index
POSTING = 0.0033  # find one entry by its terms, and score it
SPARE = 1.25  # hits fetched per hit needed: some belong to versions that are no longer live
SPARE_HITS = 200
# The same if recent searches needed no more: each hit of the HNSW index has its cost.
LITTLE_SPARE = 1.04
LITTLE_SPARE_HITS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSpace:
    """How much a search would go through; in entries, except `passages` and `documents`."""

    visible: int
    passages: int  # visible ones
    documents: int  # visible ones
    total: int  # live in the tenant
    tail: int = 0  # outside of the HNSW index
    is_indexed: bool = True  # whether there is an HNSW index that can be used

    @property
    def share(self) -> float:
        """Share of the live entries that the asker may see; above 0."""
        return min(1.0, max(self.visible, 1) / max(self.total, self.visible, 1))


@dataclass(frozen=True, slots=True)
class CorpusSize:
    """Live passages, their entries in the index, and the documents that they belong to."""

    passages: int
    entries: int
    documents: int


def visible_key(visible: Visible) -> str:
    """A key of the rights and filters of a search."""
    return hashlib.blake2b(f"{visible.sql} {sorted(visible.params.items())!r}".encode()).hexdigest()


def passages_visible(*, scope: Scope, visible: Visible, epoch: int) -> int:
    """Number of live passages that the asker may see; each counts once, however many entries it has."""
    return visible_size(scope=scope, visible=visible, epoch=epoch).passages


def visible_size(*, scope: Scope, visible: Visible, epoch: int) -> CorpusSize:
    """What the asker may see."""

    def make() -> CorpusSize:
        return _size(visible.applied(VISIBLE), {**visible.params, "tenant": scope.tenant_id})

    return counts.get((scope.tenant_id, visible_key(visible)), epoch=epoch, make=make, stale=STALE_SECONDS)


def tenant_size(*, tenant_id: int, epoch: int) -> CorpusSize:
    """What is live in a tenant, whoever may see it."""
    return counts.get(
        (tenant_id, ""),
        epoch=epoch,
        make=lambda: _size(OF_TENANT, {"tenant": tenant_id}),
        stale=STALE_SECONDS,
    )


def tail_length(*, tenant_id: int) -> int:
    """Number of entries outside of the HNSW index, counted up to TAIL_LIMIT; up to TAIL_SECONDS old."""
    ticks = int(time.monotonic() / TAIL_SECONDS)
    params = {"tenant": tenant_id, "limit": TAIL_LIMIT}
    return tails.get((tenant_id,), epoch=ticks, make=lambda: int(fetch(TAIL, params)[0][0]))


def _size(sql: str, params: dict[str, object]) -> CorpusSize:
    passages, entries, documents = fetch(sql, params)[0]
    return CorpusSize(int(passages), int(entries), int(documents))


# ── search space ──────────────────────────────────────────────────────────────────────────────────


def search_space_of(*, scope: Scope, visible: Visible, with_index: bool = False) -> SearchSpace:
    """How much there is to search; counted once per rights and corpus epoch.

    `with_index`: also what stands in the HNSW index and outside of it, which only vector searches without cells ask.
    """
    epoch = epoch_of(scope=scope, visible=visible)
    size = visible_size(scope=scope, visible=visible, epoch=epoch)
    total = tenant_size(tenant_id=scope.tenant_id, epoch=epoch)
    return SearchSpace(
        visible=size.entries,
        passages=size.passages,
        documents=size.documents,
        total=total.entries,
        tail=_tail(scope.tenant_id, total) if with_index else 0,
        is_indexed=with_index and _is_indexed(),
    )


def _tail(tenant_id: int, total: CorpusSize) -> int:
    """The entries outside of the HNSW index; a tail that was not counted to its end may be all that there is."""
    counted = tail_length(tenant_id=tenant_id)
    return counted if counted < TAIL_LIMIT else max(total.entries, counted)


def _is_indexed() -> bool:
    """False while the HNSW index is built."""
    ticks = int(time.monotonic() / INDEX_SECONDS)
    return indexed.get((), epoch=ticks, make=hnsw_is_valid)


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorCosts:
    """Milliseconds of vector searches on this machine (`knowledge.indexes.calibration`)."""

    scanned: float  # compare one whole vector in a scan of all
    near_start: float  # begin with the HNSW index
    near: float  # one entry of the HNSW index

    @property
    def pace(self) -> float:
        """How much slower than the machine of the constants this one is."""
        return self.scanned / SCANNED


def constant_costs() -> VectorCosts:
    """Before anything was measured on this machine."""
    return VectorCosts(scanned=SCANNED, near_start=NEAR_START, near=NEAR)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPlan:
    """The access path, how many hits to fetch before rights are checked, and the estimated cost of every path."""

    path: str  # scan, documents, cells, index, terms
    fetched: int
    costs: dict[str, float]  # estimated milliseconds by path
    compared: float = 0  # vectors of the first look into cells

    @classmethod
    def cheapest(cls, costs: dict[str, float], *, fetched: int) -> AccessPlan:
        return cls(path=min(costs, key=lambda path: costs[path]), fetched=fetched, costs=costs)

    def as_note(self) -> dict[str, object]:
        return {"way": self.path, "fetched": self.fetched, "costs": {k: round(v, 1) for k, v in self.costs.items()}}


@dataclass(frozen=True, slots=True)
class PlannedHits:
    """Hits, best first, and the plan that found them."""

    hits: list[Hit]
    plan: AccessPlan


def vector_plan(
    space: SearchSpace,
    *,
    is_clean: bool = False,
    measured: VectorCosts | None = None,
    cells: CellFigures | None = None,
) -> AccessPlan:
    """Plan how to find the nearest visible entries.

    `is_clean`: hardly any entry belongs to a version that is not live. `measured`: what searches cost on this machine.

    scan: compare the whole vectors of the tenant, then check rights in the order of distance. documents: compare the
    whole vectors of the visible documents only. cells: the same for the vectors of few cells. index: HNSW for the
    merged part and a scan of the tail, then check rights, and compare the whole vectors of these hits in the second
    stage; not where there are cells, which hold more for less.
    """
    unit = measured or constant_costs()
    plan = exact_plan(space, limit=EXACT_HITS, is_clean=is_clean, measured=unit, cells=cells)
    if not space.is_indexed or cells is not None:
        return plan
    fetched = fetched_for(space, limit=INDEX_HITS, is_clean=is_clean)
    searched = unit.near_start + unit.near * fetched + unit.scanned * space.tail
    index = searched + _checks(space, fetched, unit) + FINE * unit.pace * INDEX_HITS
    costs = {**plan.costs, "index": index}
    return replace(plan, path="index" if EXACT_WORTH * index < plan.costs[plan.path] else plan.path, costs=costs)


def exact_plan(
    space: SearchSpace,
    *,
    limit: int,
    is_clean: bool = False,
    measured: VectorCosts | None = None,
    cells: CellFigures | None = None,
) -> AccessPlan:
    """Plan how to compare whole vectors only: "scan", "documents" or "cells" of `vector_plan`.

    Cells are looked into where comparing everything costs half as much again: that misses nothing.
    """
    unit = measured or constant_costs()
    fetched = fetched_for(space, limit=limit, is_clean=is_clean)
    costs = {
        "scan": unit.scanned * space.total + _checks(space, fetched, unit),
        "documents": (FROM_DOCUMENT * space.visible + DOCUMENT * space.documents) * unit.pace,
    }
    plan = AccessPlan.cheapest(costs, fetched=fetched)
    if cells is None:
        return plan
    compared = cells.compared(limit / space.share, total=space.total)
    cost = cells.start + cells.row * compared + _checks(space, fetched, unit)
    path = "cells" if EXACT_WORTH * cost < costs[plan.path] else plan.path
    return replace(plan, path=path, costs={**costs, "cells": cost}, compared=compared)


def _checks(space: SearchSpace, fetched: int, unit: VectorCosts) -> float:
    """Milliseconds to check the asker's rights to so many hits."""
    return CHECKED * unit.pace * min(fetched, space.total)


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
    return AccessPlan.cheapest(costs, fetched=fetched)


def fetched_for(space: SearchSpace, *, limit: int, is_clean: bool = False) -> int:
    """How many hits to fetch so that `limit` of them are probably visible."""
    if is_clean:
        return int(LITTLE_SPARE * limit / space.share) + LITTLE_SPARE_HITS
    return int(SPARE * limit / space.share) + SPARE_HITS
