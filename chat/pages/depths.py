"""Depths of the composer (fast, thorough, research) and the presets and modes behind them.

fast: one search, the light model. thorough: other forms of the question are searched for, too, and ranked together.
research: searches, grades what was found and searches again until it is enough, at most twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from chat.types import AnswerForm, Depth

_DEPTHS: Final[Mapping[Depth, Mapping[str, Any]]] = MappingProxyType(
    {
        "": {},
        "fast": {"preset": "fast"},
        "thorough": {"mode": "enhanced", "preset": "balanced"},
        "research": {"mode": "ultimate"},
    }
)


def composer_fields(*, style: AnswerForm, depth: Depth) -> Mapping[str, Any]:
    """Fields of an `AnswerRequest`, all of which count as given; nothing where site and knowledge set decide."""
    return {**_DEPTHS[depth], **({"style": style} if style else {})}
