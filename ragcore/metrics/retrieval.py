"""Measures of a ranking against the items that are relevant; all between 0 and 1, higher is better."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence


def recall_at_k(ranked: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """Share of the relevant items among the first k. Raises ValueError without relevant items."""
    wanted = _required(relevant)
    return len(wanted & set(ranked[:k])) / len(wanted)


def precision_at_k(ranked: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """Share of relevant items among the first k; a shorter ranking counts as if filled with irrelevant ones."""
    return len(_required(relevant) & set(ranked[:k])) / k


def mrr_at_k(ranked: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """1 / rank of the first relevant item within the first k, else 0."""
    wanted = _required(relevant)
    return next((1 / rank for rank, item in enumerate(ranked[:k], 1) if item in wanted), 0.0)


def ndcg_at_k(ranked: Sequence[Hashable], relevant: Collection[Hashable] | Mapping[Hashable, float], k: int) -> float:
    """Discounted gain of the first k over the best possible one (Järvelin and Kekäläinen 2002).

    `relevant` maps items to gains; a plain collection means a gain of 1 each. A repeated item gains once.
    """
    _required(relevant)
    gains = relevant if isinstance(relevant, Mapping) else dict.fromkeys(relevant, 1.0)
    first = list(dict.fromkeys(ranked))[:k]
    ideal = _discounted(sorted(gains.values(), reverse=True)[:k])
    return _discounted([gains.get(item, 0.0) for item in first]) / ideal if ideal else 0.0


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def _required(relevant: Collection[Hashable]) -> set[Hashable]:
    if not relevant:
        raise ValueError("a question without relevant items cannot be measured")
    return set(relevant)
