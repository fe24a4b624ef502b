"""How an option is declared: everything that people and forms need to know stands on its field.

    top_k: int = option(10, _("Passages found"), _("Where the request does not say how many."), low=1, high=50)

Labels are English message ids (ragcore.labels); who shows them translates them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, TypeVar, get_type_hints

T = TypeVar("T")
_KEY = "option"  # of the declaration in the metadata of a field
LINE = 64  # characters of a free text that fits into a field of one line
Kind = type[bool] | type[int] | type[float] | type[str]

OPTION_GROUPS: dict[str, OptionGroup] = {}  # by code, in the order of forms


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of an option, how a form lists it, and the short name of it that everything else says."""

    value: str
    label: str
    name: str = ""  # where the label also says what it does: what it begins with


def choice_values(choices: Iterable[Choice]) -> tuple[str, ...]:
    """The values alone."""
    return tuple(choice.value for choice in choices)


@dataclass(frozen=True, slots=True)
class Option:
    """What a form needs to know of an option besides its name, type and default."""

    label: str
    help: str = ""
    low: float | None = None  # inclusive range of a number
    high: float | None = None
    unit: str = ""  # tokens or seconds; "": a plain number
    choices: tuple[Choice, ...] = ()  # the only values of a str
    longest: int = 64  # characters of a str without choices; over LINE it has a field of several lines
    everyday: bool = False  # forms show it first; the others are folded under "Advanced"
    is_for_comparing: bool = False  # the lab, runs and the gate may set it; no site, set or experiment

    @property
    def values(self) -> tuple[str, ...]:
        """The values that an option with choices may have."""
        return choice_values(self.choices)

    def choice_name(self, value: str) -> str:
        """What people call a value: the first words of its label. Raises StopIteration for an unknown value."""
        return next(choice.name or choice.label for choice in self.choices if choice.value == value)

    def choice_label(self, value: str) -> str:
        """How a form lists a value; the value itself where it has no label."""
        return next((choice.label for choice in self.choices if choice.value == value), value)


def option(
    default: T,
    label: str,
    help: str = "",
    *,
    low: float | None = None,
    high: float | None = None,
    unit: str = "",
    choices: tuple[Choice, ...] = (),
    longest: int = 64,
    everyday: bool = False,
    is_for_comparing: bool = False,
) -> T:
    """A dataclass field with this default and its declaration."""
    declared = Option(label, help, low, high, unit, choices, longest, everyday, is_for_comparing)
    return field(default=default, metadata={_KEY: declared})


@dataclass(frozen=True, slots=True)
class OptionField:
    """A declared option with the name, type and default value of its field."""

    name: str
    kind: Kind
    default: Any
    option: Option

    def fault(self, value: Any) -> str | None:
        """What is wrong with a value, as the end of a sentence; None if nothing is. A whole number is a float, too."""
        allowed = (int, float) if self.kind is float else (self.kind,)
        if not isinstance(value, allowed) or (isinstance(value, bool) and self.kind is not bool):
            return f"must be of type {self.kind.__name__}"
        low, high, values = self.option.low, self.option.high, self.option.values
        if values and value not in values:
            return f"must be one of {', '.join(word or '(empty)' for word in values)}"
        if self.kind is str and not values and len(str(value)) > self.option.longest:
            return f"must have at most {self.option.longest} characters"
        if low is not None and high is not None and not low <= float(value) <= high:
            return f"must be between {low:g} and {high:g}"
        return None


@dataclass(frozen=True, slots=True)
class OptionGroup:
    """A class of options under its code and label."""

    code: str  # retrieval
    label: str
    options: type  # the dataclass


def option_group(code: str, label: str) -> Callable[[type[T]], type[T]]:
    """Register a frozen dataclass of options. Raises TypeError for a field without a declaration."""

    def register(group: type[T]) -> type[T]:
        option_fields(group)  # type: ignore[arg-type]  # mypy does not see that a class is hashable
        OPTION_GROUPS[code] = OptionGroup(code, label, group)
        return group

    return register


@cache
def option_fields(group: type) -> Mapping[str, OptionField]:
    """The options of a group by name, in the order of the form. Raises TypeError for a field without a declaration."""
    kinds = get_type_hints(group)
    options = {}
    for declared in fields(group):
        if _KEY not in declared.metadata:
            raise TypeError(f"{group.__name__}.{declared.name} has no label")
        options[declared.name] = OptionField(
            declared.name, kinds[declared.name], declared.default, declared.metadata[_KEY]
        )
    return options


def for_comparing(group: type) -> frozenset[str]:
    """Names of the options of a group that sites and sets cannot have."""
    return frozenset(name for name, field in option_fields(group).items() if field.option.is_for_comparing)


def find_option(group: str, name: str) -> Option | None:
    """The declaration of an option by the code of its group and its name; None where there is no such option."""
    option_field = option_fields(OPTION_GROUPS[group].options).get(name) if group in OPTION_GROUPS else None
    return option_field.option if option_field else None
