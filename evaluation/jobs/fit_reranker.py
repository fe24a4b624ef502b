"""Fits a tenant's weights of the linear reranker, and judges them on held-out documents.

Each question of the golden sets, and each whose answer people found helpful or opened sources of, is searched with the
rights of who started it; its candidates are a list, with the features that the reranker reads. Weights are fitted near
to the packaged ones, so that few questions change little, and compared with these on lists whose documents were held
out. Nothing that people search with changes here. Every few seconds the lists so far, and then the fits so far, are
stored with the questions (`reranker_lists`), so that each worker ends with the same weights. What people have asked is
kept no longer than the fit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from itertools import chain
from typing import Any

import numpy as np
from django.utils.translation import gettext_lazy as _

from accounts.scope import Scope
from evaluation.errors import RerankerFitError
from evaluation.models import GoldenCase, GoldenSet
from evaluation.queue import FIT_RERANKER
from evaluation.selectors import documents_by_name
from evaluation.services.reranker_fitting import LEAST_CASES, golden_sets_of
from evaluation.services.reranker_lists import (
    FeatureList,
    FitProgress,
    FitQuestion,
    packaged_weights,
    progress_unpack,
)
from evaluation.services.trainings import TrainingKind, TrainingWork, difference_shown, groups_of
from evaluation.services.useful_sources import answers_opened, answers_voted_for
from knowledge.models import RerankerFit
from knowledge.selectors import documents_askable, sets_readable
from knowledge.selectors.reranker_fits import PACKAGED, fits_managed
from knowledge.services import retrieve
from knowledge.types import RetrievalRequest
from knowledge.versions.reranker_fits import RerankerFits
from ragcore.metrics.comparison import PairedDifference, paired_difference
from ragcore.reranking.linear import FEATURES
from ragcore.text.question_pairs import folds_of
from ragcore.training.reranker_fitting import CrossFit, CrossFitting, held_out
from work.kinds import Checkpoint, job_kind

LEAST_HELD_OUT = 10
MOST_CASES = 2000
FOLDS = 4
DEPTH = 50  # candidates of a question
AS_SERVED = {  # what the reranker gets to order, with nothing after it
    "rerank": True,
    "reranker_model": 0,
    "reranker_weights": PACKAGED,
    "fused_limit": DEPTH,
    "cliff": False,
    "deduplicate": False,
    "profile": False,
    "quality": False,
    "use_shift": 0.0,
    "neighbours": 0,
    "graph": "off",
}


class FitWork(TrainingWork[RerankerFit]):
    """One slice's part of a fit."""

    def checkpoints(self) -> Iterator[Checkpoint]:
        """Lists, then weights, then the judgement."""
        fits_managed(scope=self.scope)  # who administers the tenant no more teaches it nothing
        progress = self._stored()
        if progress is None:
            progress = FitProgress(questions=self._questions())
            yield self._reached(progress)
        if progress.place < len(progress.questions):
            yield from self._lists(progress)
        if len(progress.lists) < LEAST_CASES:
            raise RerankerFitError("few", found=len(progress.lists), least=LEAST_CASES)
        fitting = self._fitting(progress)
        while not fitting.is_over:
            fitting.advance()
            progress.take(fitting)
            if self.is_due():
                yield self._reached(progress, figures={"fits": fitting.place, "fits_total": fitting.total})
        yield self._result(fitting.result(), progress.counted())

    def _stored(self) -> FitProgress | None:
        """The fit as it was stored; None at its beginning."""
        stored, self.row.checkpoint = self.row.checkpoint, None  # it may be large
        return progress_unpack(bytes(stored)) if stored is not None else None

    def _questions(self) -> list[FitQuestion]:
        golden_sets = golden_sets_of(scope=self.scope, actor=self.author).filter(pk__in=self.row.golden_sets)
        questions = _golden(self.scope, list(golden_sets))
        if self.row.learns_from_use:
            questions += _helpful(self.scope, known={question.question for question in questions})
        return questions

    def _lists(self, progress: FitProgress) -> Iterator[Checkpoint]:
        while progress.place < len(progress.questions):
            question = progress.questions[progress.place]
            progress.add(self._list(question) if question.documents else None)
            if self.is_due():
                yield self._reached(progress)
        yield self._reached(progress, counts=progress.counted())

    def _reached(self, progress: FitProgress, *, figures: Any = None, counts: Any = None) -> Checkpoint:
        """`counts`: of the version, once all questions are searched."""
        values = {"checkpoint": progress.packed(), **({"figures": counts} if counts is not None else {})}
        place = {"questions": progress.place, "fits": progress.fits}
        total = len(progress.questions)
        return self.checkpoint(place, figures=figures, values=values, done=progress.place, total=total)

    def _fitting(self, progress: FitProgress) -> CrossFitting:
        """As it was stored, or at its beginning. Raises RerankerFitError where too little can be held out."""
        if progress.touches is None:
            groups = progress.groups(groups_of(chain.from_iterable(progress.documents())))
            progress.touches = folds_of(groups, folds=FOLDS, seed=str(self.row.tenant_id))
        touches = progress.touches
        if touches.shape[1] < 2 or len(held_out(touches)) < LEAST_HELD_OUT:
            raise RerankerFitError("documents")
        lists = [listed.ranked() for listed in progress.lists]
        return CrossFitting(lists, touches, packaged_weights(), table=progress.table, place=progress.fits)

    def _list(self, question: FitQuestion) -> FeatureList | None:
        """The candidates of a question; None where no order of them is better than another."""
        request = RetrievalRequest(
            query=question.question, sets=question.sets, top_k=DEPTH, rerank=True, cliff=False, options=AS_SERVED
        )
        state = retrieve(scope=self.scope, request=request).state
        right = frozenset(question.documents)
        rows = [(candidate.document in right, candidate.detail.get("rerank", {})) for candidate in state.candidates]
        scored = [(is_right, values) for is_right, values in rows if values.keys() >= set(FEATURES)]
        relevant = np.array([is_right for is_right, _values in scored], dtype=bool)
        if not relevant.any() or relevant.all():
            return None
        matrix = np.array([[values[name] for name in FEATURES] for _right, values in scored], dtype=np.float32)
        return FeatureList(matrix, state.query.cjk_share, relevant, len(right))

    def _result(self, fit: CrossFit, counts: dict[str, Any]) -> Checkpoint:
        difference = paired_difference(fit.before.tolist(), fit.after.tolist())
        is_gain = fit.step > 0 and has_gained(difference)
        judged = {"held_out": len(fit.before), "overall": {"ndcg@10": difference_shown(difference)}}
        return self.finished(
            is_gain=is_gain,
            curve=[{"round": step, "ndcg": round(value, 5)} for step, value in enumerate(fit.curve)],
            best_round=fit.step,
            features=list(FEATURES),
            weights=[round(float(weight), 5) for weight in fit.weights] if is_gain else None,
            figures={**counts, **judged},
        )


@job_kind
class FitReranker(TrainingKind[RerankerFit]):
    """One version of a tenant's weights; `done` counts questions."""

    name = FIT_RERANKER
    label = _("Training of reranker weights")
    model = RerankerFit
    version_kind = RerankerFits.name
    work = FitWork


def has_gained(difference: PairedDifference) -> bool:
    """Whether the weights are better beyond chance: the whole interval of the difference lies above 0."""
    return difference.difference > 0 and difference.low > 0


def _golden(scope: Scope, golden_sets: Sequence[GoldenSet]) -> list[FitQuestion]:
    """Cases that expect documents; at most MOST_CASES, of every golden set some."""
    rows = GoldenCase.objects.filter(golden_set__in=golden_sets, expects_refusal=False).exclude(relevant=[])
    of_set: dict[int, list[GoldenCase]] = defaultdict(list)
    for case in rows.order_by("pk"):
        of_set[case.golden_set_id].append(case)
    share = MOST_CASES // max(len(of_set), 1)
    sets = {row.pk: tuple(row.sets.order_by("pk").values_list("pk", flat=True)) for row in golden_sets}
    chosen = [case for _, cases in sorted(of_set.items()) for case in cases[:share]]
    documents = documents_by_name(scope=scope, names=chain.from_iterable(case.relevant for case in chosen))
    right = [{document for name in case.relevant for document in documents.get(name, ())} for case in chosen]
    return [
        FitQuestion(case.question, tuple(sorted(pks)), sets[case.golden_set_id])
        for case, pks in zip(chosen, right, strict=True)
    ]


def _helpful(scope: Scope, *, known: Set[str]) -> list[FitQuestion]:
    """What people of the tenant asked, once each, with the documents that they found helpful or opened.

    A question of a golden case is left out: somebody has said what is right there.
    """
    of_scope: dict[str, Any] = {"tenant_id": scope.tenant_id, "documents": documents_askable(scope=scope)}
    may_ask = set(sets_readable(scope=scope).values_list("pk", flat=True))
    right: dict[str, set[int]] = defaultdict(set)
    sets: dict[str, set[int]] = defaultdict(set)
    for answer in (*answers_voted_for(**of_scope), *answers_opened(**of_scope)):
        if answer.question not in known:
            right[answer.question].update(citation.document_id for citation in answer.citations)
            sets[answer.question].update(answer.sets)
    return [
        FitQuestion(question, tuple(sorted(documents)), tuple(sorted(sets[question] & may_ask)))
        for question, documents in right.items()
    ]
