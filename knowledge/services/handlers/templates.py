"""Templates such as `TS {1}.{2}` or `Rel-{3|base36}`: names or groups, and functions on them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from knowledge.errors import RuleInvalidError

HOLE = re.compile(r"\{(\w+)((?:\|\w+)*)\}")

FUNCTIONS: Mapping[str, Callable[[str], str]] = {
    "base36": lambda text: str(int(text, 36)),  # 3GPP writes version 16 as g, 10 as a
    "number": lambda text: str(int(text)),  # without zeros in front
    "upper": str.upper,
    "lower": str.lower,
    "words": lambda text: " ".join(re.split(r"[\s_\-]+", text.strip())),
    "trail": lambda text: " > ".join(part for part in text.split("/") if part),  # a path as a page hierarchy
}


def filled(template: str, values: Mapping[str, str]) -> str:
    """The template with its holes filled; empty where a hole has no value or a function cannot take it."""
    try:
        return HOLE.sub(lambda hole: _value(hole, values), template).strip()
    except (KeyError, ValueError):
        return ""


def template_check(template: str) -> None:
    """Raises RuleInvalidError for functions that do not exist and braces that belong to no hole."""
    for hole in HOLE.finditer(template):
        for name in filter(None, hole[2].split("|")):
            if name not in FUNCTIONS:
                known = ", ".join(sorted(FUNCTIONS))
                raise RuleInvalidError(f"There is no function {name} for templates; there are {known}.")
    if set(HOLE.sub("", template)) & set("{}"):
        raise RuleInvalidError(f"The template {template} has a brace too many or too few.")


def _value(hole: re.Match[str], values: Mapping[str, str]) -> str:
    text = values[hole[1]]
    if not text:
        raise KeyError(hole[1])
    for name in filter(None, hole[2].split("|")):
        text = FUNCTIONS[name](text)
    return text
