"""What a filter on attributes may say: a value, any of several, or a range.

`{"product": "BTS"}`, `{"release": ["16", "17"]}`, `{"year": {"gte": 2020, "lte": 2024}}`. Read here once; the search
in Postgres compiles it (knowledge.indexes.document_attributes), other backends may do so in their own way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import isfinite
from typing import Any, Literal, cast, get_args

Scalar = str | int | float | bool
Operator = Literal["gte", "gt", "lte", "lt"]

MAX_ATTRIBUTES = 50  # of one filter
MAX_VALUES = 100  # of which any may fit
MAX_NAME_CHARACTERS = 256
MAX_VALUE_CHARACTERS = 1024
DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The attribute equals one of these, or is a list that holds one of them. Texts and numbers are told apart."""

    values: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """The attribute, or an element of it, lies between the bounds; all of them are of one kind.

    Numbers: what is a number, or a text that is one. Days: texts that begin with a day as YYYY-MM-DD; the rest of the
    text (a time of day) is not looked at.
    """

    bounds: Mapping[Operator, float | str]
    kind: Literal["number", "day"]


Condition = AnyOf | Between


def conditions_of(attributes: Mapping[str, Any]) -> dict[str, Condition]:
    """The conditions by name of the attribute; all of them must hold. Raises ValueError that names the fault."""
    if len(attributes) > MAX_ATTRIBUTES:
        raise ValueError(f"more than {MAX_ATTRIBUTES} attributes")
    return {name: _condition(name, condition) for name, condition in attributes.items()}


def _condition(name: str, condition: Any) -> Condition:
    if not isinstance(name, str) or not 1 <= len(name) <= MAX_NAME_CHARACTERS:
        raise ValueError(f"names of attributes have 1 to {MAX_NAME_CHARACTERS} characters")
    if isinstance(condition, Mapping):
        return _between(name, condition)
    if not isinstance(condition, (list, tuple)):
        return AnyOf((_scalar(name, condition),))
    if not 1 <= len(condition) <= MAX_VALUES:
        raise ValueError(f"{name}: a list must hold 1 to {MAX_VALUES} values")
    return AnyOf(tuple(_scalar(name, value) for value in condition))


def _scalar(name: str, value: Any) -> Scalar:
    if isinstance(value, str) and len(value) > MAX_VALUE_CHARACTERS:
        raise ValueError(f"{name}: a text may have {MAX_VALUE_CHARACTERS} characters")
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"{name}: must be a finite number")
    if not isinstance(value, (str, int, float, bool)):
        raise ValueError(f"{name}: must be a text, a number, true or false, a list of these, or a range")
    return value


def _between(name: str, condition: Mapping[str, Any]) -> Between:
    operators: Sequence[str] = get_args(Operator)
    if unknown := sorted(set(condition) - set(operators)):
        raise ValueError(f"{name}: unknown operator {unknown[0][:64]!r}; there are {', '.join(operators)}")
    if not condition:
        raise ValueError(f"{name}: a range needs at least one of {', '.join(operators)}")
    bounds = cast(Mapping[Operator, float | str], condition)
    if all(_is_number(value) for value in bounds.values()):
        return Between(bounds, "number")
    if all(_is_day(value) for value in bounds.values()):
        return Between(bounds, "day")
    raise ValueError(f"{name}: bounds must be numbers, or days such as 2024-01-31, all of one kind")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)


def _is_day(value: Any) -> bool:
    if not isinstance(value, str) or not DAY.fullmatch(value):
        return False
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True
