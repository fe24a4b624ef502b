"""One word for several options: presets and modes.

A preset is a layer between those of the site and the sets and what a request sends itself, so a value that the
request sends wins. The options of a mode are its defaults: they come before the preset.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from ragcore.errors import InvalidOptionsError

Layers = Mapping[str, Mapping[str, Any]]  # option group ("answer", "retrieval") → option → value

_PRESETS: Final[Mapping[str, Layers]] = MappingProxyType(
    {
        "": {},
        # checks passages and answer, and searches with a possible answer, too; the slowest one
        "accurate": {
            "answer": {
                "strategy": "self_rag",
                "rewrite_method": "hyde",
                "temperature": 0.1,
                "judge_support": True,
                "tiered": False,
            },
            "retrieval": {"rerank": True},
        },
        # one search and one call of the light model
        "fast": {
            "answer": {
                "mode": "basic",
                "strategy": "standard",
                "rewrite_method": "none",
                "compression_method": "none",
                "tiered": True,
                "max_latency": 3.0,
                "max_chunks": 5,
            },
            "retrieval": {"rerank": False},
        },
        "balanced": {
            "answer": {
                "strategy": "standard",
                "rewrite_method": "multi",
                "compression_method": "none",
                "overflow": "truncate",
            },
            "retrieval": {"rerank": True},
        },
        # few tokens go to a model, and to the cheapest one that can answer
        "cheap": {
            "answer": {
                "mode": "basic",
                "strategy": "standard",
                "rewrite_method": "none",
                "compression_method": "sentence_extraction",
                "compression_ratio": 0.5,
                "tiered": True,
                "prefer_api_models": False,
                "max_tokens": 500,
                "max_chunks": 5,
            },
            "retrieval": {"rerank": False},
        },
    }
)

_MODES: Final[Mapping[str, Layers]] = MappingProxyType(
    {
        "basic": {},
        "enhanced": {
            "answer": {"rewrite_method": "auto", "compression_method": "hybrid", "compression_ratio": 0.6},
            "retrieval": {"rerank": True},
        },
        "agentic": {
            "answer": {
                "rewrite_method": "auto",
                "compression_method": "hybrid",
                "compression_ratio": 0.6,
                "max_agentic_iterations": 3,
                "confidence_threshold": 0.8,
            },
            "retrieval": {"rerank": True},
        },
        # question and two rewrites, eight passages each with those of the graph, at most ten in the context
        "ultimate": {
            "answer": {
                "rewrite_method": "multi",
                "compression_method": "hybrid",
                "compression_ratio": 0.6,
                "max_agentic_iterations": 2,
                "confidence_threshold": 0.7,
                "max_chunks": 10,
            },
            "retrieval": {"rerank": True, "top_k": 8, "deduplicate": True, "graph": "on"},
        },
    }
)

# What the searches of these presets use instead of both arms, where the request does not say.
_RETRIEVAL_MODES: Final[Mapping[str, str]] = MappingProxyType({"cheap": "vector"})


def preset(name: str) -> Layers:
    """The options of a preset, by group; empty for the empty name. Raises InvalidOptionsError."""
    return _named(_PRESETS, name, "preset")


def mode_layers(name: str) -> Layers:
    """The options of a mode, by group; none for `basic`, which is what the defaults are. Raises InvalidOptionsError."""
    return _named(_MODES, name, "mode")


def preset_retrieval_mode(name: str) -> str | None:
    """The arms that a preset searches with ("vector"); None: both, or what the request says."""
    return _RETRIEVAL_MODES.get(name)


def _named(presets: Mapping[str, Layers], name: str, kind: str) -> Layers:
    if name not in presets:
        fault = f"{kind} must be one of {', '.join(word or '(empty)' for word in presets)}"
        raise InvalidOptionsError("faults", faults=[fault])
    return {group: dict(values) for group, values in presets[name].items()}
