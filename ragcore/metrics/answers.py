"""Metrics of an answer against what a golden case expects, without a model."""

from __future__ import annotations

from ragcore.labels import gettext_noop as _
from ragcore.metrics.quality import contains_gold
from ragcore.metrics.registry import MeasuredCase, MetricTools, metric
from ragcore.text.matching import overlap

POINT_COVERED = 0.75  # share of the keywords of a key point that one sentence or the answer must have


def points_covered(case: MeasuredCase, tools: MetricTools) -> list[bool] | None:
    """For each key point, whether the answer says it: literally, or with most of its keywords; None: not applicable."""
    if case.answer is None or not case.key_points:
        return None
    answer = case.answer
    return [
        not case.is_refused
        and (contains_gold(answer, [point]) or overlap(point, answer, tools.tokenizer) >= POINT_COVERED)
        for point in case.key_points
    ]


@metric(
    "correctness", label=_("Correctness"), help=_("1: correct, 0.5: partly correct, 0: wrong."), primary=True, order=30
)
class Correctness:
    """1 correct, 0.5 partial, 0 none: by key points where the case has them, else by accepted strings.

    All points (and an accepted string, where there are some) are correct, some are partial. A case that expects a
    refusal has no figure: `refusal_quality` judges it.
    """

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        if case.answer is None or case.expects_refusal or not (case.golds or case.key_points):
            return None
        if case.is_refused:
            return 0.0
        parts = points_covered(case, tools) or []
        if case.golds:
            parts = [*parts, contains_gold(case.answer, case.golds)]
        return 1.0 if all(parts) else 0.5 if any(parts) else 0.0


@metric("completeness", label=_("Completeness"), help=_("Share of key points in the answer."), order=31)
class Completeness:
    """Share of the key points that the answer says, 0 to 1."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        covered = points_covered(case, tools)
        return None if covered is None else sum(covered) / len(covered)


@metric("contains_answer", label=_("Answer found"), help=_("The answer contains an accepted answer."), order=32)
class ContainsAnswer:
    """1 if the answer contains an accepted string, else 0."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        if case.answer is None or not case.golds:
            return None
        return float(contains_gold(case.answer, case.golds))


@metric(
    "refusal_quality",
    label=_("Refusal quality"),
    help=_("Refuses exactly the questions that no document answers."),
    primary=True,
    order=33,
)
class RefusalQuality:
    """1 if the answer refuses exactly where the case expects it, else 0."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        if case.answer is None:
            return None
        return float(case.is_refused == case.expects_refusal)


@metric("citation_precision", label=_("Citation precision"), help=_("Share of citations that are relevant."), order=34)
class CitationPrecision:
    """Share of the cited sources that are of a relevant document, 0 to 1; without a citation nothing is said."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        cited = [source for source in case.sources if source.is_cited]
        if case.answer is None or not case.relevant or not cited:
            return None
        return sum(source.document in case.relevant for source in cited) / len(cited)


@metric("cites_relevant", label=_("Relevant citation"), help=_("The answer cites a relevant document."), order=35)
class CitesRelevant:
    """1 if a relevant document is cited, else 0."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        if case.answer is None or not case.relevant:
            return None
        return float(any(source.is_cited and source.document in case.relevant for source in case.sources))


@metric("supported_share", label=_("Supported sentences"), help=_("Share of sentences with support."), order=36)
class SupportedShare:
    """Share of the checked sentences that the sources support; a weak one counts half. 0 to 1."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        if case.is_refused or not case.support:
            return None
        worth = {"supported": 1.0, "weak": 0.5}
        return sum(worth.get(label, 0.0) for label in case.support) / len(case.support)
