"""Nearest neighbours in Postgres: exact where that is cheap, HNSW plus an exactly scanned tail beyond (D27).

There are three access paths (`knowledge.indexes.search_space`). Two of them fetch more hits than wanted and check the
asker's rights in the order of distance, in the same statement. Where too few hits are visible, they fetch more; the
last resort, the third path, goes through every visible document. So k hits come back wherever k exist, at any share
of the corpus.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from django.db import transaction

from accounts.scope import Scope
from knowledge.indexes.corpus_epoch import epoch_of
from knowledge.indexes.rotations import RotationState, rotated_params, rotated_sql, rotation_state, vector_text
from knowledge.indexes.search_space import AccessPlan, PlannedHits, search_space_of, vector_plan
from knowledge.indexes.statements import fetch, fetch_many, ids_text
from knowledge.indexes.visibility import Visible, visible_in_order_sql
from ragcore.ports import FloatArray
from ragcore.types import Hit

EF_SEARCH = (200, 1000)  # at least, for its recall; pgvector's maximum. An iterative scan goes on in steps of it
FITTED_DEPTH = 1000  # hits where the rotation was fitted on the tenant's passages (decision 018)
MORE = 4  # times as many hits are fetched if too few were visible
CROWDED_SECONDS = 600  # how long more hits are fetched at once, after a search with too few visible hits

Rows = list[tuple[Any, ...]]

crowded: dict[int, float] = {}  # tenant -> when (monotonic) many of its entries were seen to be of old versions

_NEAR = """
SELECT e.chunk_id, e.version_id, e.representation, e.coarse <=> %(vector)s::halfvec AS distance
FROM knowledge_indexentry e
WHERE {part} e.tenant_id = %(tenant)s AND e.embedding_model = %(model)s
ORDER BY e.coarse <=> %(vector)s::halfvec
LIMIT %(fetched)s
"""
COSINE = "1 - near.distance"
NEAR_IN_SCAN = _NEAR.format(part="")
NEAR_IN_INDEX = f"({_NEAR.format(part='e.merged AND')}) UNION ALL ({_NEAR.format(part='NOT e.merged AND')})"
SCAN = visible_in_order_sql(NEAR_IN_SCAN, score=COSINE)
INDEX = visible_in_order_sql(NEAR_IN_INDEX, score=COSINE)
DOCUMENTS = """
SELECT e.chunk_id, d.id, 1 - (e.coarse <=> %(vector)s::halfvec), e.representation
FROM knowledge_document d
JOIN knowledge_indexentry e ON e.version_id = d.live_version_id
WHERE e.tenant_id = %(tenant)s AND e.embedding_model = %(model)s AND d.id IN ({visible})
ORDER BY e.coarse <=> %(vector)s::halfvec, e.chunk_id
LIMIT %(limit)s
"""
PATHS = {"scan": SCAN, "index": INDEX, "documents": DOCUMENTS}

FINE = visible_in_order_sql(
    """
    SELECT chunk_id, version_id, representation, distance
    FROM (
        SELECT DISTINCT ON (e.chunk_id) e.chunk_id, e.version_id, e.representation,
            e.fine <=> %(vector)s::halfvec AS distance
        FROM knowledge_indexentry e
        WHERE e.chunk_id = ANY(%(chunks)s::bigint[]) AND e.embedding_model = %(model)s
        ORDER BY e.chunk_id, distance, e.representation
    ) entries
    ORDER BY distance, chunk_id
    OFFSET 0  -- sort all of them before rights are checked, best first
    """,
    score=COSINE,
)
# Iterative scans stop when they have found enough; these limits only must not stop them earlier. Without the last one
# the planner sometimes sorts the whole table.
NEARLY_UNLIMITED = """
SELECT set_config('hnsw.ef_search', %(ef)s, true), set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('hnsw.max_scan_tuples', '100000000', true), set_config('hnsw.scan_mem_multiplier', '64', true),
    set_config('enable_seqscan', 'off', true)
"""
RESET_SEQSCAN = "SELECT set_config('enable_seqscan', 'on', true)"


def coarse_many_search(
    *, scope: Scope, visible: Visible, vectors: FloatArray, model: str, limit: int
) -> list[PlannedHits]:
    """Hits of each row of float32[q, 768], best first by cosine of the 384 rotated numbers; in one round trip.

    Up to `limit`, or FITTED_DEPTH where the rotation was fitted on the tenant's passages: these hold as much of what
    the whole vectors would find.
    """
    is_clean = time.monotonic() - crowded.get(scope.tenant_id, -CROWDED_SECONDS) >= CROWDED_SECONDS
    state = rotation_state(tenant_id=scope.tenant_id, model=model, epoch=epoch_of(scope=scope, visible=visible))
    limit = min(limit, FITTED_DEPTH) if state.rotation > 0 and not state.former else limit
    space = search_space_of(scope=scope, visible=visible)
    plan = vector_plan(
        replace(space, is_indexed=space.is_indexed and not state.former),
        limit=limit,
        is_clean=is_clean,
        measured=state.costs,
    )
    search = partial(_rows, visible, state)
    params = [
        {
            **visible.params,
            **rotated_params(vector, state),
            "tenant": scope.tenant_id,
            "model": model,
            "limit": limit,
        }
        for vector in vectors
    ]
    found = search(plan, params)
    return [
        PlannedHits(_hits(rows if len(rows) >= limit else _all_rows(plan, search, one, rows)), plan)
        for one, rows in zip(params, found, strict=True)
    ]


def _all_rows(
    plan: AccessPlan,
    search: Callable[[AccessPlan, Sequence[Mapping[str, Any]]], list[Rows]],
    params: Mapping[str, Any],
    rows: Rows,
) -> Rows:
    """Fetch more hits if rights left too few: first more distant ones, then those of every visible document."""
    if plan.path == "documents":
        return rows
    crowded[params["tenant"]] = time.monotonic()
    further = AccessPlan(path=plan.path, fetched=plan.fetched * MORE, costs=plan.costs)
    rows = search(further, [params])[0]
    if len(rows) >= params["limit"]:
        return rows
    return search(AccessPlan(path="documents", fetched=0, costs={}), [params])[0]


def _rows(visible: Visible, state: RotationState, plan: AccessPlan, params: Sequence[Mapping[str, Any]]) -> list[Rows]:
    sql = visible.applied(rotated_sql(PATHS[plan.path], state))
    limits: AbstractContextManager[None] = hnsw_scan_settings(plan.fetched) if plan.path == "index" else nullcontext()
    with limits:
        return fetch_many(sql, [{**one, "fetched": plan.fetched} for one in params])


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
    *, scope: Scope, visible: Visible, vector: FloatArray, model: str, chunks: Sequence[int], limit: int
) -> list[Hit]:
    """The nearest of these chunks by exact 768-d cosine, best first."""
    del scope  # bound in `visible`; asked for so that no caller can forget it
    params = {
        **visible.params,
        "model": model,
        "vector": vector_text(vector),
        "chunks": ids_text(chunks),
        "limit": limit,
    }
    return _hits(fetch(visible.applied(FINE), params))


def _hits(rows: list[tuple[Any, ...]]) -> list[Hit]:
    return Hit.of_rows(rows)
