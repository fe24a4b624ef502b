"""One file per stage of an answer; importing this package registers them all."""

from ragcore.answering.stages import (
    compress,
    context_build,
    loop_agentic,
    loop_iterative,
    loop_self_rag,
    plan_adaptive,
    rewrite,
    search,
    understand_analysis,
    understand_standalone,
    whole_sections,
)

__all__ = [
    "compress",
    "context_build",
    "loop_agentic",
    "loop_iterative",
    "loop_self_rag",
    "plan_adaptive",
    "rewrite",
    "search",
    "understand_analysis",
    "understand_standalone",
    "whole_sections",
]
