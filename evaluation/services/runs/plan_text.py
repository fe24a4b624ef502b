"""Configurations of runs as people write them: one `group.option = value` a line."""

from __future__ import annotations

from typing import Any, cast, get_args

from evaluation.services.runs.plans import ConfigurationPlan
from knowledge.services.options import options_merge
from knowledge.types import RetrievalMode
from ragcore.errors import InvalidOptionsError
from ragcore.options import OPTION_GROUPS, option_fields

SEARCH_MODE = "search.mode"  # not an option of a set, but of one question


def plan_read(name: str, text: str, component: str) -> ConfigurationPlan:
    """A configuration of lines `group.option = value`; `search.mode` is hybrid, vector or bm25.

    Raises InvalidOptionsError that names every fault.
    """
    options: dict[str, dict[str, Any]] = {}
    mode: RetrievalMode = "hybrid"
    faults = []
    for line in filter(None, map(str.strip, text.splitlines())):
        key, sign, raw = (part.strip() for part in line.partition("="))
        group, _dot, option = key.partition(".")
        if key == SEARCH_MODE and raw in get_args(RetrievalMode) and raw != "graph":
            mode = cast("RetrievalMode", raw)
        elif not sign or group not in OPTION_GROUPS or option not in option_fields(OPTION_GROUPS[group].options):
            faults.append(f"{line!r} is not an option with a value")
        else:
            options.setdefault(group, {})[option] = _value_of(
                option_fields(OPTION_GROUPS[group].options)[option].kind, raw
            )
    if faults:
        raise InvalidOptionsError("faults", faults=faults)
    options_merge({}, options, layer=name)
    return ConfigurationPlan(name=name, component=component, retrieval_mode=mode, options=options)


def _value_of(kind: type, raw: str) -> Any:
    """The value as its type; what cannot be read stays a text, which the option then refuses."""
    if kind is bool:
        return {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}.get(raw.lower(), raw)
    if kind in (int, float):
        try:
            return kind(raw)
        except ValueError:
            return raw
    return raw
