"""Depths of the composer and the presets, modes and strategies behind them.

fast: one search, the light model. cheap: few tokens. thorough: other forms of the question are searched for, too, and
ranked together. parts: its sub-questions are. adaptive: by the kind and difficulty of the question. accurate: grades
passages and answer, and searches with a possible answer, too. research: searches, grades what was found and searches
again until it is enough, at most twice.
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
        "cheap": {"preset": "cheap"},
        "thorough": {"mode": "enhanced", "preset": "balanced"},
        "parts": {"mode": "enhanced", "rewrite_method": "decompose"},
        "adaptive": {"strategy": "adaptive"},
        "accurate": {"preset": "accurate"},
        "research": {"mode": "ultimate"},
    }
)


def composer_fields(*, style: AnswerForm, depth: Depth) -> Mapping[str, Any]:
    """Fields of an `AnswerRequest`, all of which count as given; nothing where site and knowledge set decide."""
    return {**_DEPTHS[depth], **({"style": style} if style else {})}
