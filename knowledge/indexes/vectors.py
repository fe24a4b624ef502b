"""Nearest neighbours in Postgres: whole vectors of everything where that is cheap, of few cells or HNSW beyond.

There are four access paths (`knowledge.indexes.search_space`). "scan" and "documents" compare whole vectors, which
stand in a narrow table of their own (decision 020), so nothing is missed. "cells" compares those that stand near to
the question (`knowledge.indexes.cell_search`). "index" finds candidates by 384 rotated numbers, which a second stage
compares. Three of the paths fetch more hits than wanted and check the asker's rights in the order of distance, in the
same statement. Where too few hits are visible, they fetch more; the last resort goes
through every visible document. So k hits come back wherever k exist, at any share of the corpus.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.db import transaction

from accounts.scope import Scope
from knowledge.indexes.binary_vectors import halfvecs_read
from knowledge.indexes.cell_search import CellSearch
from knowledge.indexes.corpus_epoch import epoch_of
from knowledge.indexes.rotations import (
    RotationState,
    coarse_vectors,
    rotated_params,
    rotated_sql,
    rotation_state,
    vector_text,
)
from knowledge.indexes.search_space import (
    AccessPlan,
    PlannedHits,
    SearchSpace,
    VectorCosts,
    constant_costs,
    exact_plan,
    fetched_for,
    search_space_of,
    vector_plan,
)
from knowledge.indexes.statements import fetch, fetch_many, ids_text
from knowledge.indexes.vector_cells import CellState, cell_state
from knowledge.indexes.visibility import Visible, visible_in_order_sql
from ragcore.ports import FloatArray
from ragcore.types import Hit

EF_SEARCH = (200, 1000)  # at least, for its recall; pgvector's maximum. An iterative scan goes on in steps of it
MORE = 4  # times as many hits are fetched if too few were visible, or belonged to too few passages
CROWDED_SECONDS = 600  # how long more hits are fetched at once, after a search with too few visible hits

Rows = list[tuple[Any, ...]]

crowded: dict[int, float] = {}  # tenant -> when (monotonic) many of its entries were seen to be of old versions

NEAR_IN_SCAN = """
SELECT v.chunk_id, v.version_id, v.representation, v.vector <=> %(vector)s::halfvec AS distance
FROM knowledge_wholevector v
WHERE v.tenant_id = %(tenant)s AND v.embedding_model = %(model)s
ORDER BY v.vector <=> %(vector)s::halfvec
LIMIT %(fetched)s
"""
_NEAR = """
SELECT e.chunk_id, e.version_id, e.representation, e.coarse <=> %(vector)s::halfvec AS distance
FROM knowledge_indexentry e
WHERE {part} AND e.tenant_id = %(tenant)s AND e.embedding_model = %(model)s
ORDER BY e.coarse <=> %(vector)s::halfvec
LIMIT %(fetched)s
"""
COSINE = "1 - near.distance"
NEAR_IN_INDEX = f"({_NEAR.format(part='e.merged')}) UNION ALL ({_NEAR.format(part='NOT e.merged')})"
SCAN = visible_in_order_sql(NEAR_IN_SCAN, score=COSINE)
INDEX = visible_in_order_sql(NEAR_IN_INDEX, score=COSINE)
DOCUMENTS = """
SELECT v.chunk_id, d.id, 1 - (v.vector <=> %(vector)s::halfvec), v.representation
FROM knowledge_document d
JOIN knowledge_wholevector v ON v.version_id = d.live_version_id
WHERE v.tenant_id = %(tenant)s AND v.embedding_model = %(model)s AND d.id IN ({visible})
ORDER BY v.vector <=> %(vector)s::halfvec, v.chunk_id
LIMIT %(limit)s
"""
PATHS = {"scan": SCAN, "index": INDEX, "documents": DOCUMENTS}

OF_CHUNKS = """
    SELECT chunk_id, version_id, representation, distance
    FROM (
        SELECT DISTINCT ON (e.chunk_id) e.chunk_id, e.version_id, e.representation, {distance} AS distance
        FROM {table} e
        WHERE e.chunk_id = ANY(%(chunks)s::bigint[]) AND e.embedding_model = %(model)s
        ORDER BY e.chunk_id, distance, e.representation
    ) entries
    ORDER BY distance, chunk_id
    OFFSET 0  -- sort all of them before rights are checked, best first
"""
FINE = visible_in_order_sql(
    OF_CHUNKS.format(table="knowledge_wholevector", distance="e.vector <=> %(vector)s::halfvec"), score=COSINE
)
PREFIXES = visible_in_order_sql(
    OF_CHUNKS.format(table="knowledge_indexentry", distance="e.coarse <=> %(vector)s::halfvec"), score=COSINE
)
WHOLE_OF_CHUNKS = """
SELECT chunk_id, representation, halfvec_send(vector) FROM knowledge_wholevector
WHERE chunk_id = ANY(%(chunks)s::bigint[]) AND embedding_model = %(model)s ORDER BY chunk_id, representation
"""
# Iterative scans stop when they have found enough; these limits only must not stop them earlier. Without the last one
# the planner sometimes sorts the whole table.
NEARLY_UNLIMITED = """
SELECT set_config('hnsw.ef_search', %(ef)s, true), set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('hnsw.max_scan_tuples', '100000000', true), set_config('hnsw.scan_mem_multiplier', '64', true),
    set_config('enable_seqscan', 'off', true)
"""
RESET_SEQSCAN = "SELECT set_config('enable_seqscan', 'on', true)"


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSearch:
    """What there is to search with one asker's rights and one embedding model, as the corpus is now."""

    visible: Visible
    tenant: int
    model: str
    space: SearchSpace
    state: RotationState
    is_clean: bool  # hardly any entry belongs to a version that is not live
    of_set: bool = False  # `model` is that of a knowledge set, with vectors in a table of their own
    cells: CellState = CellState()  # which the vectors that are compared are divided into

    @property
    def costs(self) -> VectorCosts | None:
        """What searches cost on this machine; None: not measured here."""
        figures = self.cells.figures
        if figures is None:
            return self.state.costs
        return replace(self.state.costs or constant_costs(), scanned=figures.scanned)

    def plan(self) -> AccessPlan:
        """The cheapest way, both stages together."""
        return vector_plan(self.space, is_clean=self.is_clean, measured=self.costs, cells=self.cells.figures)

    def exact(self, vectors: FloatArray, *, limit: int) -> list[PlannedHits]:
        """The nearest `limit` chunks to each row of float32[q, 768] by whole vectors."""
        entries = limit * max(1, -(-self.space.visible // max(self.space.passages, 1)))
        plan = self._exact_plan(entries)
        plan = replace(plan, costs={**self.plan().costs, **plan.costs})  # the trace tells all of them
        params = [self._params(self._whole(vector), limit=entries) for vector in vectors]
        return [
            PlannedHits(self._chunks(found, vector, one, rows, limit), found)
            for vector, one, (rows, found) in zip(
                vectors, params, self._compared(plan, list(vectors), params), strict=True
            )
        ]

    def _exact_plan(self, limit: int, *, cells: bool = True) -> AccessPlan:
        figures = self.cells.figures if cells else None
        return exact_plan(self.space, limit=limit, is_clean=self.is_clean, measured=self.costs, cells=figures)

    def _compared(
        self, plan: AccessPlan, vectors: Sequence[FloatArray], params: Sequence[Mapping[str, Any]]
    ) -> list[tuple[Rows, AccessPlan]]:
        """The nearest entries by whole vectors; of all of them where cells are not enough."""
        if plan.path != "cells":
            return [(rows, plan) for rows in self._rows(plan, params)]
        everything = replace(self._exact_plan(int(params[0]["limit"]), cells=False), costs=plan.costs)
        search = CellSearch(
            state=self.cells,
            visible=self.visible,
            rows=plan.compared,
            most=self.cells.worth(everything.costs[everything.path]),
            fetched=MORE * plan.fetched,
        )
        found = search.search(list(vectors), params)
        return [
            (self._rows(everything, [one])[0], everything) if rows is None else (rows, plan)
            for rows, one in zip(found, params, strict=True)
        ]

    def coarse(self, vectors: FloatArray, *, limit: int) -> list[PlannedHits]:
        """The nearest `limit` entries by the HNSW index; by whole vectors where there is none, or few are visible."""
        planned = self.plan()
        if planned.path != "index":
            return self.exact(vectors, limit=limit)
        plan = replace(planned, fetched=fetched_for(self.space, limit=limit, is_clean=self.is_clean))
        params = [self._params(rotated_params(vector, self.state), limit=limit) for vector in vectors]
        return [
            PlannedHits(Hit.of_rows(rows if len(rows) >= limit else self._more(plan, vector, one)[0]), plan)
            for vector, one, rows in zip(vectors, params, self._rows(plan, params), strict=True)
        ]

    def prefixes(self, vector: FloatArray, *, chunks: Sequence[int]) -> list[Hit]:
        """These chunks by the cosine of 384 numbers, each in the rotation that it has, best first."""
        if self.state.is_behind:
            return self._prefixes_of_whole(vector, chunks)
        params = self._params(rotated_params(vector, self.state), limit=len(chunks))
        sql = self.visible.applied(rotated_sql(PREFIXES, self.state))
        return Hit.of_rows(fetch(sql, {**params, "chunks": ids_text(chunks)}))

    def _prefixes_of_whole(self, vector: FloatArray, chunks: Sequence[int]) -> list[Hit]:
        """The same while coarse vectors are of several models: from the whole ones of this model."""
        params = {**self._params({"vector": vector_text(vector)}, limit=len(chunks)), "chunks": ids_text(chunks)}
        seen = {hit.chunk: hit for hit in Hit.of_rows(fetch(self.visible.applied(FINE), params))}
        rows = fetch(WHOLE_OF_CHUNKS, {"model": self.model, "chunks": ids_text(list(seen))}) if seen else []
        if not rows:
            return []
        whole_vectors = np.vstack([halfvecs_read([row[2] for row in rows]), vector[None, :]])
        prefixes = coarse_vectors(whole_vectors, rotation=self.state.rotation, model=self.model)
        prefixes /= np.maximum(np.linalg.norm(prefixes, axis=1, keepdims=True), 1e-12)
        best: dict[int, Hit] = {}
        for (chunk, name, _sent), cosine in zip(rows, (prefixes[:-1] @ prefixes[-1]).tolist(), strict=True):
            if chunk not in best or cosine > best[chunk].score:
                best[chunk] = seen[chunk]._replace(score=cosine, representation=name)
        return sorted(best.values(), key=lambda hit: (-hit.score, hit.chunk))

    def _params(self, vector: Mapping[str, str], *, limit: int) -> dict[str, Any]:
        return {"tenant": self.tenant, "model": self.model, **self.visible.params, **vector, "limit": limit}

    def _whole(self, vector: FloatArray) -> Mapping[str, str]:
        """The parameters of a question that is compared with whole vectors."""
        return {"vector": vector_text(vector)}

    def _chunks(
        self, plan: AccessPlan, vector: FloatArray, params: Mapping[str, Any], rows: Rows, limit: int
    ) -> list[Hit]:
        """The best hit of each of the `limit` nearest chunks; more are fetched while there are too few chunks."""
        wanted = int(params["limit"])
        while True:
            if len(rows) < wanted and plan.path == "scan":
                rows, plan = self._more(plan, vector, {**params, "limit": wanted})
            best: dict[int, Hit] = {}
            for hit in Hit.of_rows(rows):
                best.setdefault(hit.chunk, hit)
            if len(best) >= limit or len(rows) < wanted:
                return list(best.values())[:limit]
            wanted *= MORE
            plan = replace(plan, fetched=plan.fetched * MORE)
            rows, plan = self._compared(plan, [vector], [{**params, "limit": wanted}])[0]

    def _more(self, plan: AccessPlan, vector: FloatArray, params: Mapping[str, Any]) -> tuple[Rows, AccessPlan]:
        """Rights left too few hits: fetch more distant ones, and if that is too few, those of visible documents."""
        crowded[self.tenant] = time.monotonic()
        further = replace(plan, fetched=plan.fetched * MORE)
        rows = self._rows(further, [params])[0] if plan.fetched < self.space.total else []
        if len(rows) >= params["limit"]:
            return rows, further
        documents = replace(plan, path="documents")
        return self._rows(documents, [{**params, **self._whole(vector)}])[0], documents

    def _rows(self, plan: AccessPlan, params: Sequence[Mapping[str, Any]]) -> list[Rows]:
        is_index = plan.path == "index"
        limits: AbstractContextManager[None] = hnsw_scan_settings(plan.fetched) if is_index else nullcontext()
        with limits:
            sql = self.visible.applied(sql_of(PATHS[plan.path], of_set=self.of_set))
            return fetch_many(sql, [{**one, "fetched": plan.fetched} for one in params])


def sql_of(sql: str, *, of_set: bool) -> str:
    """A search of whole vectors, or of those by the model of a knowledge set, which have the same columns."""
    return sql.replace("knowledge_wholevector", "knowledge_setvector") if of_set else sql


def vector_search(*, scope: Scope, visible: Visible, model: str) -> VectorSearch:
    """What there is to search for this asker; reads what the process does not remember of this corpus epoch."""
    epoch = epoch_of(scope=scope, visible=visible)
    state = rotation_state(tenant_id=scope.tenant_id, model=model, epoch=epoch)
    cells = cell_state(tenant_id=scope.tenant_id, name=model, epoch=epoch)
    space = search_space_of(scope=scope, visible=visible, with_index=cells.figures is None)
    return VectorSearch(
        visible=visible,
        tenant=scope.tenant_id,
        model=model,
        # while entries get another rotation, or coarse vectors of another model, they are compared as a whole
        space=replace(space, is_indexed=space.is_indexed and not state.former and not state.is_behind),
        state=state,
        is_clean=time.monotonic() - crowded.get(scope.tenant_id, -CROWDED_SECONDS) >= CROWDED_SECONDS,
        cells=cells,
    )


@contextmanager
def hnsw_scan_settings(fetched: int) -> Iterator[None]:
    """A transaction whose statements scan the HNSW index as far as necessary for so many hits."""
    with transaction.atomic():
        fetch(NEARLY_UNLIMITED, {"ef": str(beam_width(fetched))})
        yield
        fetch(RESET_SEQSCAN, {})


def beam_width(fetched: int) -> int:
    """`hnsw.ef_search` with which as few equal steps as possible bring so many hits: 600 for 600, 800 for 1,600."""
    least, most = EF_SEARCH
    steps = -(-fetched // most)
    return max(least, -(-fetched // max(steps, 1)))


def fine_search(
    *,
    scope: Scope,
    visible: Visible,
    vector: FloatArray,
    model: str,
    chunks: Sequence[int],
    limit: int,
    of_set: bool = False,
) -> list[Hit]:
    """The nearest of these chunks by exact 768-d cosine, best first; `of_set`: by the model of a knowledge set."""
    del scope  # bound in `visible`; asked for so that no caller can forget it
    params = {
        **visible.params,
        "model": model,
        "vector": vector_text(vector),
        "chunks": ids_text(chunks),
        "limit": limit,
    }
    sql = visible.applied(sql_of(FINE, of_set=of_set))
    return Hit.of_rows(fetch(sql, params))
