"""Personalised PageRank over a small graph of entities and passages (Page et al. 1999)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

DAMPING = 0.5  # as in HippoRAG (arXiv 2405.14831): half of the weight goes back to where the walk began
ROUNDS = 12  # 0.5 ** 12 of the weight is left to move


def passage_ranks(
    edges: Iterable[tuple[int, int]], *, entities: Mapping[int, float], passages: Mapping[int, float]
) -> dict[int, float]:
    """Ranks in [0, 1] of the given passages, the best one 1; edges are (entity, passage).

    A walk begins at entities and passages in proportion to their scores, half at each kind. Edges of passages that are
    not given are left out.
    """
    inside = [(entity, passage) for entity, passage in edges if passage in passages]
    if not inside or not passages:
        return {}
    entity_at = {entity: at for at, entity in enumerate(sorted({entity for entity, _ in inside}))}
    passage_at = {passage: at for at, passage in enumerate(sorted(passages))}
    rows = np.array([entity_at[entity] for entity, _ in inside])
    columns = np.array([passage_at[passage] for _, passage in inside])
    of_entities = np.maximum(np.bincount(rows, minlength=len(entity_at)), 1)
    of_passages = np.maximum(np.bincount(columns, minlength=len(passage_at)), 1)
    start_entities = _share(np.array([max(entities.get(entity, 0.0), 0.0) for entity in entity_at]))
    start_passages = _share(np.array([max(passages[passage], 0.0) for passage in passage_at]))
    at_entities, at_passages = start_entities, start_passages
    for _ in range(ROUNDS):
        to_passages = np.bincount(columns, (at_entities / of_entities)[rows], minlength=len(passage_at))
        to_entities = np.bincount(rows, (at_passages / of_passages)[columns], minlength=len(entity_at))
        at_entities = (1 - DAMPING) * start_entities + DAMPING * to_entities
        at_passages = (1 - DAMPING) * start_passages + DAMPING * to_passages
    most = float(at_passages.max(initial=0.0)) or 1.0
    return {passage: float(at_passages[at] / most) for passage, at in passage_at.items()}


def _share(values: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    total = values.sum()
    return values / (2 * total) if total > 0 else values
