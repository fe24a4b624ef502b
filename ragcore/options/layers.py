"""Values of options from layers: site, set, preset, request.

A layer is a plain mapping of names to values. A missing key inherits from the layer before. An unknown key or a value
outside its range is an error.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Generic, TypeVar

from ragcore.errors import InvalidOptionsError
from ragcore.options.declaration import option_fields
from ragcore.options.groups import AnswerOptions

T = TypeVar("T")

# The first must not be more than the second where somebody has set both; a default gives way.
_NOT_MORE_THAN = (
    ("chunking.min_tokens", "chunking.max_tokens"),
    ("chunking.max_tokens", "chunking.section_tokens"),
    ("chunking.max_tokens", "answer.context_tokens"),  # the best passage would never stand in a prompt as a whole
    ("retrieval.top_k", "retrieval.fused_limit"),
    ("answer.max_chunks", "retrieval.fused_limit"),
)

LOOP_TOKENS = 40_000  # prompts and completions of all rounds of a loop together

# Of earlier releases, by what stored runs, drafts and packages of sets may still name: now fields of their stages.
FORMER = frozenset(
    {
        *("alpha_centre", "alpha_slope", "vector_weight_zh", "vector_weight_en", "title_weight", "title_boost"),
        *("profile_shift", "profile_boost", "duplicate_similarity"),
        *("self_rag_rounds", "self_rag_quality", "loop_seconds", "citation_threshold"),
        *("coarse_limit", "fine_limit", "exact", "names", "sections", "captions", "extract", "model_passages"),
        *("history_tokens", "loop_tokens", "support_threshold"),
    }
)
# Values of former options that are part of the fingerprint of a group all the same, by its name: what was made with
# them counts as made with the present options, and what was made with others does not.
_FIXED: Mapping[str, Mapping[str, Any]] = {"RepresentationOptions": {"sections": True, "captions": True}}


@dataclass(frozen=True, slots=True)
class Resolved(Generic[T]):
    """The value of an option group and, per option, the name of the layer that it came from."""

    value: T
    origin: Mapping[str, str] = field(default_factory=dict)

    def sha256(self) -> str:
        """Fingerprint of the values, stored with every answer."""
        return options_sha256(self.value)


def options_sha256(*groups: object) -> str:
    """A fingerprint that is the same for the same values, in any process."""
    data = [{type(group).__name__: _values(group)} for group in groups]
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=_values).encode()).hexdigest()


def _values(group: Any) -> dict[str, Any]:
    """`dataclasses.asdict` of the outermost level, without its copies of every value, with those of _FIXED."""
    values = {entry.name: getattr(group, entry.name) for entry in fields(group)}
    return {**values, **_FIXED.get(type(group).__name__, {})}


def resolve(group: type[T], *layers: tuple[str, Mapping[str, Any]]) -> Resolved[T]:
    """Combine layers, the later one wins; keys that are absent or None inherit, those of FORMER options do nothing.

    Raises InvalidOptionsError that names every unknown key and every value outside its range.
    """
    options = option_fields(group)  # type: ignore[arg-type]  # mypy does not see that a class is hashable
    values: dict[str, Any] = {}
    origin = dict.fromkeys(options, "default")
    faults: list[str] = []
    for layer, layer_values in layers:
        for key, value in layer_values.items():
            if key in FORMER:
                continue
            if key not in options:
                faults.append(f"{layer}: unknown option {key!r}")
            elif value is not None:
                if fault := options[key].fault(value):
                    faults.append(f"{layer}: {key} {fault}")
                else:
                    values[key], origin[key] = value, layer
    if faults:
        raise InvalidOptionsError("faults", faults=faults)
    return Resolved(group(**values), origin)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two options that cannot work together; `option`, as "group.name", is the one at which a form shows it."""

    option: str
    other: str
    error: InvalidOptionsError

    @property
    def message(self) -> str:
        """In English."""
        return self.error.message


def conflicts(groups: Mapping[str, Resolved[Any]]) -> list[Conflict]:
    """What in these option groups, by code, cannot work together; groups that are missing are not looked at."""
    faults = []
    for option, other in _NOT_MORE_THAN:
        low, high = _own(groups, option), _own(groups, other)
        if low is not None and high is not None and low > high:
            error = InvalidOptionsError("above", limit=f"{high:g}", other=other)
            faults.append(Conflict(option=option, other=other, error=error))
    return faults + ([fault] if "answer" in groups and (fault := _loop_fault(groups["answer"].value)) else [])


def _own(groups: Mapping[str, Resolved[Any]], option: str) -> float | None:
    """The value that some layer has given; None: it is the default."""
    code, _, name = option.partition(".")
    group = groups.get(code)
    return None if group is None or group.origin[name] == "default" else getattr(group.value, name)


def _loop_fault(options: AnswerOptions) -> Conflict | None:
    """A loop whose budget (LOOP_TOKENS) does not hold one prompt and one answer ends before its first round."""
    loops = options.mode in ("agentic", "ultimate") or options.strategy in ("adaptive", "self_rag")
    if not loops or options.context_tokens + options.max_tokens <= LOOP_TOKENS:
        return None
    error = InvalidOptionsError("loop_budget", most=LOOP_TOKENS)
    return Conflict(option="answer.context_tokens", other="answer.max_tokens", error=error)
