"""Metrics of retrieved triples, after re-scoring and in the order of the first stage."""

from __future__ import annotations

from collections.abc import Sequence

from ragcore.labels import gettext_noop as _
from ragcore.metrics.quality import ndcg_at_k
from ragcore.metrics.registry import MeasuredCase, MetricTools, metric
from ragcore.text.normalise import squeeze

K = 5


def _plain(text: str) -> str:
    """Without what parts the names of a triple, and without differences of case, spaces and punctuation."""
    return squeeze(text.replace("|", " "))


class _Rescored:
    """Relevant is a triple whose text is a quotation of the case, "subject | relation | object"."""

    def ranking(self, case: MeasuredCase) -> Sequence[str] | None:
        return case.triples

    def found(self, case: MeasuredCase) -> list[str] | None:
        """For each of the first K places the quotation that it is, "" for none; None: nothing to compare."""
        ranking = self.ranking(case)
        if ranking is None or not case.quotations:
            return None
        by_plain_text = {_plain(text): text for text in case.quotations}
        return [by_plain_text.get(text, "") for text in dict.fromkeys(map(_plain, ranking[:K]))]


class _FirstStage(_Rescored):
    def ranking(self, case: MeasuredCase) -> Sequence[str] | None:
        return case.triples_first


@metric("triple_ndcg@5", label=_("Triples: nDCG@5"), help=_("Order of the triples, after re-scoring."), order=24)
class TripleNdcg(_Rescored):
    """Discounted gain of the first 5 triples over the best possible one, 0 to 1."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        quotations = self.found(case)
        if quotations is None:
            return None
        names = [name or f"\0{place}" for place, name in enumerate(quotations)]
        return ndcg_at_k(names, dict(case.quotations.items()), K)


@metric("triple_precision@5", label=_("Triples: precision@5"), help=_("Relevant ones of the first 5."), order=25)
class TriplePrecision(_Rescored):
    """Relevant triples among the first 5, divided by 5."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        quotations = self.found(case)
        return None if quotations is None else sum(map(bool, quotations)) / K


@metric("triple_recall@5", label=_("Triples: recall@5"), help=_("Relevant triples among the first 5."), order=26)
class TripleRecall(_Rescored):
    """Share of the relevant triples that are among the first 5, 0 to 1."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        quotations = self.found(case)
        return None if quotations is None else len({name for name in quotations if name}) / len(case.quotations)


@metric("triple_ndcg@5_first", label=_("Triples: nDCG@5, first stage"), help=_("Without re-scoring."), order=27)
class FirstNdcg(_FirstStage, TripleNdcg):
    """The same without re-scoring."""


@metric(
    "triple_precision@5_first", label=_("Triples: precision@5, first stage"), help=_("Without re-scoring."), order=28
)
class FirstPrecision(_FirstStage, TriplePrecision):
    """The same without re-scoring."""


@metric("triple_recall@5_first", label=_("Triples: recall@5, first stage"), help=_("Without re-scoring."), order=29)
class FirstRecall(_FirstStage, TripleRecall):
    """The same without re-scoring."""
