"""Which stages a search runs, in which order and with which options."""

from __future__ import annotations

from typing import Any

from ragcore.options import RetrievalOptions
from ragcore.pipeline import PlannedStage
from ragcore.retrieval import stages  # noqa: F401 (registers the stages)
from ragcore.retrieval.pipeline import with_joining

Steps = list[PlannedStage]


def stage_plan(mode: str, options: RetrievalOptions) -> Steps:
    """The stages of a retrieval mode (hybrid, vector or bm25) with their options (V3). A new mode is a new list."""
    coarse = {"limit": options.coarse_limit, "lexical": mode != "vector", "vectors": mode != "bm25"}
    keep = max(options.fused_limit, options.top_k)
    by_mode: dict[str, Steps] = {
        "hybrid": [
            ("search.fine", {"limit": options.fine_limit}),
            *_stage_if(
                options.profile,
                "boost.profile",
                boost=options.profile_boost,
                shift=options.profile_shift,
                each=options.fine_limit,
            ),
            (
                "fuse.rsf",
                {
                    "centre": options.alpha_centre,
                    "slope": options.alpha_slope,
                    "vector_weight": options.vector_weight,
                    "vector_weight_zh": options.vector_weight_zh,
                    "vector_weight_en": options.vector_weight_en,
                    "title_weight": options.title_weight,
                    "each": options.fine_limit,
                    "keep": keep,
                },
            ),
        ],
        "vector": [
            ("search.fine", {"limit": options.fine_limit}),
            ("rank.single_arm", {"arm": "dense", "keep": keep}),
        ],
        "bm25": [("rank.single_arm", {"arm": "lexical", "keep": keep})],
    }
    return with_joining(
        [
            *_stage_if(options.fuzzy and mode != "vector", "correct.terms", title_boost=options.title_boost),
            ("search.coarse", coarse),
            *by_mode[mode],
            ("load.passages", {}),
            *_stage_if(options.rerank and mode == "hybrid", "rerank"),
            *_stage_if(options.quality, "weigh.quality"),
            *_stage_if(options.cliff, "cutoff.cliff"),
            *_stage_if(
                options.deduplicate, "drop.duplicates", similarity=options.duplicate_similarity, keep=options.top_k
            ),
            ("cutoff.top_k", {"keep": options.top_k}),
            *_stage_if(options.neighbours > 0, "merge.neighbours", around=options.neighbours),
        ]
    )


def _stage_if(wanted: bool, name: str, **options: Any) -> Steps:
    """One stage, or none."""
    return [(name, options)] if wanted else []
