"""The nearest vectors within few cells, and in as many more as may hold something better (decision 039).

The first look goes into the cells with the highest bounds. Its worst hit says which further cells may hold a better
one; these are looked into as well. So filters that leave little near to the question make a search look further, not
find something else. Where that would cost more than comparing everything, it says so, and its caller compares
everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from knowledge.indexes.statements import fetch_many, ids_text
from knowledge.indexes.vector_cells import NO_CELL, CellState, cells_in_use
from knowledge.indexes.visibility import Visible, visible_in_order_sql
from ragcore.embedding.cells import BoundedCells, Ints, normalised
from ragcore.ports import FloatArray

Rows = list[tuple[Any, ...]]
SCORE, CHUNK = 2, 0  # columns of a hit
LEAST_COSINE = -1.0

NEAR_IN_CELLS = """
SELECT v.chunk_id, v.version_id, v.representation, v.vector <=> %(vector)s::halfvec AS distance
FROM knowledge_wholevector v
WHERE v.tenant_id = %(tenant)s AND v.cell = ANY(%(cells)s::int[]) AND v.embedding_model = %(model)s
ORDER BY v.vector <=> %(vector)s::halfvec
LIMIT %(fetched)s
"""
CELLS = visible_in_order_sql(NEAR_IN_CELLS, score="1 - near.distance")


def bounded(state: CellState, vector: FloatArray, *, reach: float) -> BoundedCells:
    """The cells of all divisions for one question, float32[768] of any length."""
    parts = [one.bounded(normalised(vector), reach=reach) for one in cells_in_use(state)]
    return BoundedCells(
        np.concatenate([part.numbers for part in parts]),
        np.concatenate([part.sizes for part in parts]),
        np.concatenate([part.bounds for part in parts]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSearch:
    """Searches in the cells of one state, with one asker's rights."""

    state: CellState
    visible: Visible
    rows: float  # vectors of the first look
    most: float  # vectors, beyond which comparing everything is cheaper
    fetched: int

    def search(self, vectors: Sequence[FloatArray], params: Sequence[Mapping[str, Any]]) -> list[Rows | None]:
        """The nearest `limit` visible entries of each question, best first; None: compare everything instead."""
        figures = self.state.figures
        assert figures is not None
        asked = [bounded(self.state, vector, reach=figures.reach) for vector in vectors]
        first = [one.first(self.rows) for one in asked]
        texts = [ids_text([NO_CELL, *one.numbers[places].tolist()]) for one, places in zip(asked, first, strict=True)]
        found: list[Rows | None] = list(self._fetched(texts, params))
        further: dict[int, str] = {}
        for at, (one, seen) in enumerate(zip(asked, first, strict=True)):
            places = self._beyond(one, seen, found[at] or [], limit=int(params[at]["limit"]))
            if places is None:
                found[at] = None
            elif len(places):
                further[at] = ids_text(one.numbers[places].tolist())
        more = self._fetched(list(further.values()), [params[at] for at in further])
        for at, rows in zip(further, more, strict=True):
            found[at] = merged([*(found[at] or []), *rows], limit=int(params[at]["limit"]))
        return found

    def _beyond(self, one: BoundedCells, seen: Ints, rows: Rows, *, limit: int) -> Ints | None:
        """The cells to look into after the first look, all of them where it had too few hits; None: too many."""
        places = one.beyond(rows[limit - 1][SCORE] if len(rows) >= limit else LEAST_COSINE, visited=seen)
        return None if one.compared(seen) + one.compared(places) > self.most else places

    def _fetched(self, cells: Sequence[str], params: Sequence[Mapping[str, Any]]) -> list[Rows]:
        if not cells:
            return []
        sql = self.visible.applied(CELLS)
        asked = [{**one, "cells": text, "fetched": self.fetched} for one, text in zip(params, cells, strict=True)]
        return fetch_many(sql, asked)


def merged(rows: Rows, *, limit: int) -> Rows:
    """Hits of two looks, best first."""
    return sorted(rows, key=lambda row: (-row[SCORE], row[CHUNK]))[:limit]
