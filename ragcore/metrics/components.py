"""Metrics of components that run alone: rewriting and compression."""

from __future__ import annotations

from ragcore.labels import gettext_noop as _
from ragcore.metrics.quality import contains_gold
from ragcore.metrics.registry import MeasuredCase, MetricTools, metric
from ragcore.text.matching import overlap


@metric("rewrite_keeps_words", label=_("Rewrites keep the subject"), help=_("Keywords that a rewrite keeps."), order=50)
class RewriteKeepsWords:
    """Share of the question's keywords that its best rewrite still has, 0 to 1; None without a rewrite."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        if not case.rewrites:
            return None
        return max(overlap(case.question, rewrite, tools.tokenizer) for rewrite in case.rewrites)


@metric(
    "compression_keeps",
    label=_("Compression keeps the answer"),
    help=_("Share of the expected answer that is kept."),
    order=51,
)
class CompressionKeeps:
    """Share of accepted strings, key points and quotations of the sources that the compressed context still has."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        if case.context is None:
            return None
        whole = "\n".join(source.text for source in case.sources)
        needed = [text for text in (*case.golds, *case.key_points, *case.quotations) if contains_gold(whole, [text])]
        if not needed:
            return None
        return sum(contains_gold(case.context, [text]) for text in needed) / len(needed)


@metric("compression_ratio", label=_("Context left"), help=_("Share of the context."), higher_is_better=False, order=52)
class CompressionRatio:
    """Characters of the compressed context over those before, 0 to 1."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        before = sum(len(source.text) for source in case.sources)
        return None if case.context is None or not before else min(len(case.context) / before, 1.0)
