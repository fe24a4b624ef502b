"""Fences background work: a worker's write on a row is applied only while it still holds the claim.

Every claim gives the row another value in the column that its model names as `FENCE`: a number that counts claims, or a
random one. A worker whose lease has lapsed meanwhile still has the old value, so that its writing changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any, TypeVar
from uuid import uuid4

from django.db import models, transaction
from django.db.models import F, Q, QuerySet

Row = TypeVar("Row", bound=models.Model)


@transaction.atomic
def claim(rows: QuerySet[Row], *, pk: int, **values: Any) -> Row | None:
    """Claim a row and write `values` on it; it is read anew. None where it is not among `rows`, which are free."""
    fence = fence_of(rows.model)
    is_number = isinstance(rows.model._meta.get_field(fence), models.IntegerField)
    token = F(fence) + 1 if is_number else uuid4()
    if not rows.filter(pk=pk).update(**{fence: token}, **values):
        return None
    return rows.model._default_manager.get(pk=pk)


def fenced(row: Row) -> QuerySet[Row]:
    """The row, as long as nobody has claimed it since it was read; else nothing."""
    return fenced_rows(type(row), [row])


def fenced_rows(model: type[Row], rows: Sequence[Row]) -> QuerySet[Row]:
    """Those of the rows that nobody has claimed since they were read."""
    fence = fence_of(model)
    conditions = (Q(pk=row.pk, **{fence: getattr(row, fence)}) for row in rows)
    return model._default_manager.filter(reduce(or_, conditions, Q(pk__in=())))


def fence_of(model: type[models.Model]) -> str:
    """The column whose value changes with every claim."""
    return str(model.FENCE)  # type: ignore[attr-defined]
