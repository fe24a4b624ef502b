"""Scope and options to a pipeline: here ports are bound to what one asker may see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accounts.scope import Scope
from knowledge import engines
from knowledge.backends import backend_of
from knowledge.backends.hints import ScopedFactsIndex, ScopedFuzzyIndex
from knowledge.indexes.visibility import Visible
from knowledge.types import RetrievalMode
from ragcore.embedding.caching import CachingEmbedder
from ragcore.options import RetrievalOptions
from ragcore.pipeline import Pipeline, build
from ragcore.ports import Ports, Together, one_after_the_other
from ragcore.retrieval import stages  # noqa: F401 (registers the stages)
from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import cjk_share, language_of
from ragcore.types import Profile, Query

Steps = list[tuple[str, Mapping[str, Any]]]  # stage names with their options


def query_of(text: str, *, profile: Profile | None = None, style: str = "") -> Query:
    """A question as the stages want it."""
    normal = normalise_query(text)
    tokenizer = engines.tokenizer()
    return Query(
        text=normal,
        terms=tuple(tokenizer.terms(normal)),
        words=tuple(tokenizer.words(normal)),
        language=language_of(normal),
        cjk_share=cjk_share(normal),
        profile=profile,
        style=style,
    )


def retrieval_pipeline(
    *,
    scope: Scope,
    visible: Visible,
    mode: RetrievalMode,
    options: RetrievalOptions,
    within: Scope | None = None,
    together: Together = one_after_the_other,
) -> Pipeline:
    """The stages of a mode, bound to the asker's rights; `within`: and to a second person's, as `visible` is."""
    embedder = engines.embedder()
    backend = backend_of(scope=scope, visible=visible, model=embedder.model)
    ports = Ports(
        lexical=backend.lexical,
        vectors=backend.vectors,
        passages=backend.passages,
        fuzzy=ScopedFuzzyIndex(scope, visible),
        facts=ScopedFactsIndex(scope, visible, within),
        embedder=CachingEmbedder(embedder),
        tokenizer=engines.tokenizer(),
        reranker=engines.reranker() if options.rerank else None,
        second_reranker=engines.second_reranker() if options.rerank else None,
        together=together,
        extra=backend.extra,
    )
    return Pipeline(build(steps_of(mode, options)), ports)


def steps_of(mode: RetrievalMode, options: RetrievalOptions) -> Steps:
    """Names and options of the stages of a mode (V3). A new mode is a new list."""
    coarse = {"limit": options.coarse_limit, "lexical": mode != "vector", "vectors": mode != "bm25"}
    keep = max(options.fused_limit, options.top_k)
    ranks: dict[str, Steps] = {
        "hybrid": [
            ("search.fine", {"limit": options.fine_limit}),
            *when(
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
    return [
        *when(options.fuzzy and mode != "vector", "correct.terms", title_boost=options.title_boost),
        ("search.coarse", coarse),
        *ranks[mode],
        ("load.passages", {}),
        *when(options.rerank and mode == "hybrid", "rerank"),
        *when(options.quality, "weigh.quality"),
        *when(options.cliff, "cutoff.cliff"),
        *when(options.deduplicate, "drop.duplicates", similarity=options.duplicate_similarity, keep=options.top_k),
        ("cutoff.top_k", {"keep": options.top_k}),
        *when(options.neighbours > 0, "merge.neighbours", around=options.neighbours),
    ]


def when(wanted: bool, name: str, **options: Any) -> Steps:
    """One stage, or none."""
    return [(name, options)] if wanted else []
