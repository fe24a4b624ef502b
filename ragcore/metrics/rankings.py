"""Metrics of a ranking: documents with grades, and passages by quotation (graded nDCG, recall, MRR, precision)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from ragcore.labels import gettext_noop as _
from ragcore.metrics.quality import mrr_at_k, ndcg_at_k, recall_at_k
from ragcore.metrics.registry import MeasuredCase, MetricTools, RankedText, metric
from ragcore.text.normalise import squeeze

K = 10
RECALL_LEVELS = {1.0: "correct", 0.5: "partial", 0.0: "none"}


def documents(case: MeasuredCase) -> tuple[Sequence[str], Mapping[Hashable, float]] | None:
    """Documents of the ranking, each once, and the gains; None where the case has no relevant document or ranking."""
    if case.ranking is None or not case.relevant:
        return None
    names = list(dict.fromkeys(text.document for text in case.ranking))
    return names, _gains(case.relevant)


def _gains(gains: Mapping[str, float]) -> Mapping[Hashable, float]:
    return dict(gains.items())


def quoted(ranking: Sequence[RankedText], quotations: Mapping[str, float]) -> list[str]:
    """For each place the first quotation that its passage contains and no earlier one did; else a name of its own.

    Case, spaces, punctuation and width do not count.
    """
    plain_texts = {quotation: squeeze(quotation) for quotation in quotations}
    names: list[str] = []
    for place, passage in enumerate(ranking):
        text = squeeze(passage.text)
        name = next((q for q, plain in plain_texts.items() if plain and plain in text and q not in names), "")
        names.append(name or f"\0{place}")
    return names


@metric(
    "ndcg@10", label=_("nDCG@10"), help=_("Order of the documents, by grade."), primary=True, by_stage=True, order=10
)
class Ndcg:
    """Discounted gain of the first 10 documents over the best possible one, 0 to 1."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        ranking = documents(case)
        return None if ranking is None else ndcg_at_k(ranking[0], ranking[1], K)


class _Recall:
    k = K

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        ranking = documents(case)
        return None if ranking is None else recall_at_k(ranking[0], ranking[1], self.k)


@metric("recall@1", label=_("Recall@1"), help=_("Share of relevant documents found first."), order=12)
class RecallAt1(_Recall):
    """Share of the relevant documents at place 1, 0 to 1."""

    k = 1


@metric("recall@5", label=_("Recall@5"), help=_("Share of relevant documents among the first 5."), order=13)
class RecallAt5(_Recall):
    """Share of the relevant documents among the first 5, 0 to 1."""

    k = 5


@metric(
    "recall@10",
    label=_("Recall@10"),
    help=_("Share of relevant documents among the first 10."),
    by_stage=True,
    order=14,
)
class RecallAt10(_Recall):
    """Share of the relevant documents among the first 10, 0 to 1."""


@metric(
    "recall_grade",
    label=_("Graded recall"),
    help=_("Correct: everything expected is among the first 10. Partial: some of it. None: nothing."),
    order=11,
    levels=RECALL_LEVELS,
)
class RecallGrade:
    """1 where all quotations (without any: relevant documents) are among the first 10, 0.5 where some are, else 0."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        recall = (PassageRecall() if case.quotations else RecallAt10())(case, tools)
        return None if recall is None else 1.0 if recall >= 1 else 0.5 if recall > 0 else 0.0


@metric("mrr@10", label=_("MRR@10"), help=_("One divided by the rank of the first relevant document."), order=15)
class Mrr:
    """1 / rank of the first relevant document among the first 10, else 0."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        ranking = documents(case)
        return None if ranking is None else mrr_at_k(ranking[0], ranking[1], K)


@metric(
    "passage_ndcg@10", label=_("Passage nDCG@10"), help=_("Order of the quoted passages, by grade."), by_stage=True,
    order=20,
)  # fmt: skip
class PassageNdcg:
    """As nDCG@10, of passages that contain a quotation of the case."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        if case.ranking is None or not case.quotations:
            return None
        return ndcg_at_k(quoted(case.ranking, case.quotations), _gains(case.quotations), K)


@metric(
    "passage_recall@10", label=_("Passage recall@10"), help=_("Share of quoted passages found."), by_stage=True,
    order=21,
)  # fmt: skip
class PassageRecall:
    """Share of the quotations that stand in one of the first 10 passages, 0 to 1. One passage may hold several."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        if case.ranking is None or not case.quotations:
            return None
        texts = [squeeze(passage.text) for passage in case.ranking[:K]]
        plain_quotations = [squeeze(quotation) for quotation in case.quotations]
        return sum(any(plain in text for text in texts) for plain in plain_quotations) / len(plain_quotations)


@metric("context_precision", label=_("Context precision"), help=_("Relevant passages rank before others."), order=22)
class ContextPrecision:
    """Mean precision at each relevant passage of the first 10 (average precision, without unfound ones), 0 to 1.

    A passage is relevant that contains a quotation, or, where the case has none, that is of a relevant document.
    """

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        if case.ranking is None or not (case.quotations or case.relevant):
            return None
        plain_quotations = [squeeze(quotation) for quotation in case.quotations]
        hits, precisions = 0, []
        for place, passage in enumerate(case.ranking[:K], 1):
            text = squeeze(passage.text) if plain_quotations else ""
            if (
                any(plain in text for plain in plain_quotations)
                if plain_quotations
                else passage.document in case.relevant
            ):
                hits += 1
                precisions.append(hits / place)
        return sum(precisions) / len(precisions) if precisions else 0.0
