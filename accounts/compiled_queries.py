"""Query sets that Django composes once in a thread and from then on only sends (decision 033).

Composing a query set and its SQL takes Django about as long as PostgreSQL takes to answer it, and a question runs the
same dozen of them. A compiled query is written as an ordinary query set; its values are left open.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Generic, TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.models.query import (  # type: ignore[attr-defined]  # not in the stubs
    FlatValuesListIterable,
    ModelIterable,
    ValuesListIterable,
    get_related_populators,
)

Row = TypeVar("Row")

# What stands in the place of a value while a query is composed: it must pass the checks of its field, which may be
# of 16 bits. A parameter is a value where it changes with the mark.
_MARKS: Final[dict[type, Callable[[int], Any]]] = {
    int: lambda number: 20_000 + number,
    str: lambda number: f"\N{REPLACEMENT CHARACTER}mark {number}",
    uuid.UUID: lambda number: uuid.UUID(int=0x6D61726B << 96 | number),
    datetime: lambda number: datetime(1902, 3, 4, 5, 6, 7, number, tzinfo=UTC),
}


@dataclass(frozen=True, slots=True)
class _Composed:
    """A query as one connection sends it. `names`: of the values, in the order of the parameters; None: `fixed`."""

    connection: Any
    compiler: Any
    sql: str
    names: tuple[str | None, ...]
    fixed: tuple[Any, ...]
    converters: Any
    rows: Callable[[Sequence[Any]], Iterator[Any]]


class CompiledQuery(Generic[Row]):
    """The rows of `build`, a query set of model instances, `values_list` or flat `values_list`, for other values.

    `kinds` names the values and their types: int, str, UUID or datetime. A value stands where a query set takes one
    value of a field (`filter(user=user)`), not for `None`, lists, numbers of rows or expressions. `build` must not
    depend on anything else. Equal to running the query set each time (`tests/accounts/test_compiled_queries.py`).

    Raises ImproperlyConfigured with the first use where a value does not stand in the query as it is.
    """

    def __init__(self, build: Callable[..., models.QuerySet[Any, Row]], **kinds: type) -> None:
        self._build = build
        self._kinds = kinds
        self._local = threading.local()  # a compiler belongs to one connection, and that to one thread

    def __call__(self, **values: Any) -> list[Row]:
        """All rows for these values, one for each name of `kinds`."""
        composed = self._composed()
        params = tuple(
            fixed if name is None else values[name] for name, fixed in zip(composed.names, composed.fixed, strict=True)
        )
        with composed.connection.cursor() as cursor:
            cursor.execute(composed.sql, params)
            rows = cursor.fetchall()
        if composed.converters:
            rows = composed.compiler.apply_converters(rows, composed.converters)
        return list(composed.rows(rows))

    def first(self, **values: Any) -> Row | None:
        """The first row; None where there is none. The query set should say how many it wants: `[:1]`."""
        return next(iter(self(**values)), None)

    def _composed(self) -> _Composed:
        connection = connections[DEFAULT_DB_ALIAS]
        composed: _Composed | None = getattr(self._local, "composed", None)
        if composed is None or composed.connection is not connection:
            composed = self._local.composed = self._compose(connection)
        return composed

    def _marks(self, start: int) -> dict[str, Any]:
        return {name: _MARKS[kind](number) for number, (name, kind) in enumerate(self._kinds.items(), start)}

    def _compose(self, connection: Any) -> _Composed:
        first, second = self._marks(1), self._marks(1001)
        built = self._build(**first)
        compiler = built.query.get_compiler(connection=connection)
        sql, params = compiler.as_sql()
        other_sql, other_params = self._build(**second).query.get_compiler(connection=connection).as_sql()
        names = tuple(
            next((name for name in first if (param, other) == (first[name], second[name])), None)
            for param, other in zip(params, other_params, strict=True)
        )
        fixed = [param == other for param, other, name in zip(params, other_params, names, strict=True) if name is None]
        if set(self._kinds) - set(names) or other_sql != sql or not all(fixed):
            raise ImproperlyConfigured(f"the query does not hold each of {sorted(self._kinds)} as it is")
        return _Composed(
            connection=connection,
            compiler=compiler,
            sql=sql,
            names=names,
            fixed=tuple(params),
            converters=compiler.get_converters([column[0] for column in compiler.select[: compiler.col_count]]),
            rows=_reader(built, compiler),
        )


def _reader(built: models.QuerySet[Any, Any], compiler: Any) -> Callable[[Sequence[Any]], Iterator[Any]]:
    """What makes the rows of the query set of what the database sends. Raises ImproperlyConfigured."""
    kind = built._iterable_class  # type: ignore[attr-defined]
    if kind is FlatValuesListIterable:
        return lambda rows: (row[0] for row in rows)
    if kind is ValuesListIterable:
        return lambda rows: (tuple(row) for row in rows)
    if kind is not ModelIterable:
        raise ImproperlyConfigured("a compiled query yields model instances or a values_list")
    fields = compiler.klass_info["select_fields"]
    start, end = fields[0], fields[-1] + 1
    names = [column[0].target.attname for column in compiler.select[start:end]]
    model = compiler.klass_info["model"]
    related = get_related_populators(  # type: ignore[call-arg]  # the stubs are those of a later Django
        compiler.klass_info, compiler.select, DEFAULT_DB_ALIAS
    )

    def instances(rows: Sequence[Any]) -> Iterator[Any]:
        for row in rows:
            instance = model.from_db(DEFAULT_DB_ALIAS, names, row[start:end])
            for populator in related:
                populator.populate(row, instance)
            yield instance

    return instances
