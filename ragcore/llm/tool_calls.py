"""Calls of tools as models send them in streams: in parts, each call with its number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class ToolCalls:
    """Puts the parts of calls together. `by_index`: the calls in OpenAI's form, in the order of their first parts."""

    by_index: dict[int, dict[str, Any]] = field(default_factory=dict)
    _characters: int = 0

    def add(self, part: Mapping[str, Any]) -> None:
        """Add a part; one without a number begins a call. Raises AttributeError or TypeError for another form."""
        index = part.get("index")
        call = self.by_index.setdefault(
            len(self.by_index) if index is None else index,
            {"id": "", "type": "function", "function": {"name": "", "arguments": ""}},
        )
        call["id"] = call["id"] or part.get("id") or ""
        function, brought = call["function"], part.get("function") or {}
        function["name"] = function["name"] or brought.get("name") or ""
        arguments = brought.get("arguments") or ""
        function["arguments"] += arguments
        self._characters += len(arguments) or 1

    def take_characters(self) -> int:
        """How many characters of arguments have come since the last look; at least 1 for a part without any."""
        characters, self._characters = self._characters, 0
        return characters
