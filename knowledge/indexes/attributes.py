"""Conditions on attributes as Postgres knows them (V3, D27): equality by GIN, ranges by JSON path on what is left."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import BooleanField, F, Func, JSONField, Q, Value

from knowledge.errors import InvalidFilterError
from knowledge.filtering import AnyOf, Between, Condition, conditions_of

SIGNS = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<"}
# Bounds are days, the texts may go on with a time of day: what lies after the day is compared with its end.
DAY_SIGNS = {"gte": ">=", "gt": ">", "lte": "<", "lt": "<"}
OPEN_ENDED = ("gt", "lte")
END_OF_DAY = "\U0010ffff"  # sorts after whatever may follow a day
IS_DAY = '@ like_regex "^[0-9]{4}-[0-9]{2}-[0-9]{2}"'


class _Value(Func):
    """The value of an attribute whatever its name; `metadata -> name` would take "5" for a place in a list."""

    function = "jsonb_extract_path"
    output_field = JSONField()


class _PathExists(Func):
    """Whether something fits a JSON path; what cannot be compared does not fit, and is no error."""

    function = "jsonb_path_exists"
    output_field = BooleanField()


def attribute_conditions(attributes: Mapping[str, Any]) -> list[Q | Func]:
    """Conditions for `filter()` on documents, all of which must hold. Raises InvalidFilterError."""
    try:
        conditions = conditions_of(attributes)
    except ValueError as error:
        raise InvalidFilterError(fault=str(error)) from None
    return [_compiled(name, condition) for name, condition in conditions.items()]


def _compiled(name: str, condition: Condition) -> Q | Func:
    return _any_of(name, condition) if isinstance(condition, AnyOf) else _between(name, condition)


def _any_of(name: str, condition: AnyOf) -> Q:
    """Containment, which the GIN index of `metadata` answers; once as the value itself, once as an element."""
    wanted = [form for value in condition.values for form in (value, [value])]
    return reduce(or_, (Q(metadata__contains={name: form}) for form in wanted))


def _between(name: str, condition: Between) -> Func:
    if condition.kind == "number":
        tests = [f"@.double() {SIGNS[sign]} ${sign}" for sign in condition.bounds]
        bounds = dict(condition.bounds)
    else:
        tests = [IS_DAY, *(f"@ {DAY_SIGNS[sign]} ${sign}" for sign in condition.bounds)]
        bounds = {sign: f"{day}{END_OF_DAY if sign in OPEN_ENDED else ''}" for sign, day in condition.bounds.items()}
    path = f"$[*] ? ({' && '.join(tests)})"
    value = _Value(F("metadata"), Value(name))
    return _PathExists(value, Value(path), Value(json.dumps(bounds)), Value(True))
