"""The asker's bounds as a filter expression of Milvus. It holds numbers only, so nothing can be injected."""

from __future__ import annotations

from collections.abc import Sequence

from knowledge.backends.milvus.collection import number_of
from knowledge.indexes.visibility import Bounds


def expression_of(
    *,
    tenant_id: int,
    bounds: Bounds,
    documents: Sequence[int] | None = None,
    chunks: Sequence[int] | None = None,
    model: str | None = None,
) -> str:
    """Conditions that everything visible meets; `documents`, `chunks` and `model` narrow them."""
    parts = [f"tenant == {tenant_id:d}", f"clearance <= {bounds.clearance:d}"]
    parts += [f"array_contains_any(sets, {_numbers(group)})" for group in bounds.sets]
    if bounds.tags:
        parts.append(f"array_contains_any(tags, {_numbers([number_of(tag) for tag in bounds.tags])})")
    if documents is not None:
        parts.append(f"document in {_numbers(documents)}")
    if chunks is not None:
        parts.append(f"chunk in {_numbers(chunks)}")
    if model is not None:
        parts.append(f"model == {number_of(model):d}")
    return " and ".join(parts)


def is_empty(bounds: Bounds) -> bool:
    """Whether nothing can be visible: no set of a group is readable."""
    return not all(bounds.sets)


def _numbers(values: Sequence[int]) -> str:
    return f"[{', '.join(f'{value:d}' for value in sorted(set(values)))}]"
