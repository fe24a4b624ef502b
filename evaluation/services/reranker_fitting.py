"""Fitting a tenant's weights of the linear reranker: started by an administrator, done by a worker, judged on held-out
documents.

Each question of the golden sets, and each whose answer people found helpful or opened sources of, is searched with the
rights of who started it; its candidates are a list, with the features that the reranker reads. Weights are fitted near
to the packaged ones, so that few questions change little, and compared with these on lists whose documents were held
out. Nothing that people search with changes here. Every few seconds the lists so far, and then the fits so far, are
stored with the questions (`reranker_lists`): a worker that is killed loses seconds, one whose slice is over lets others
in between, and the next one ends with the same weights. What people have asked is kept no longer than the fit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence, Set
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import QuerySet

from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from evaluation.errors import RerankerFitError
from evaluation.models import GoldenCase, GoldenSet
from evaluation.queue import FIT_RERANKER
from evaluation.selectors import documents_by_name, golden_sets_kept
from evaluation.services.reranker_lists import (
    FeatureList,
    FitProgress,
    FitQuestion,
    packaged_weights,
    progress_unpack,
)
from evaluation.services.trainings import (
    TrainingWork,
    difference_shown,
    groups_of,
    training_create,
    training_end,
    training_work,
    trainings_lost,
    worker_call,
)
from evaluation.services.useful_sources import answers_opened, answers_voted_for
from knowledge.model_setup import setup_now, setup_refresh
from knowledge.models import RerankerFit
from knowledge.selectors import documents_askable, sets_readable
from knowledge.selectors.reranker_fits import PACKAGED, fit_get, fits_managed
from knowledge.services import retrieve
from knowledge.types import RetrievalRequest
from ragcore.metrics.comparison import PairedDifference, paired_difference
from ragcore.reranking.linear import FEATURES
from ragcore.text.question_pairs import folds_of
from ragcore.training.reranker_fitting import CrossFit, CrossFitting, held_out

State = RerankerFit.State
LEAST_CASES = 20  # with a right passage among the candidates and a wrong one
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


@transaction.atomic
def fit_start(
    *,
    scope: Scope,
    actor: User,
    golden_sets: Sequence[int],
    learns_from_use: bool = False,
    calls_worker: bool = True,
) -> RerankerFit:
    """Queue a fit to the cases of these golden sets of the asker's tenant, and to what its people found helpful.

    Raises NotAllowedError, and RerankerFitError: one is under way, there is nothing to learn from (none of the golden
    sets is theirs, and use is not asked for), or the site does not order with the linear reranker.
    """
    rows = fits_managed(scope=scope)
    setup_refresh()
    if not setup_now().reranker.is_linear:
        raise RerankerFitError("not_linear")
    chosen = list(golden_sets_of(scope=scope, actor=actor).filter(pk__in=golden_sets).values_list("pk", flat=True))
    if not chosen and not learns_from_use:
        raise RerankerFitError("golden_sets")
    row = training_create(
        rows,
        error=RerankerFitError("running"),
        tenant_id=scope.tenant_id,
        golden_sets=chosen,
        learns_from_use=learns_from_use,
        author=actor,
    )
    told = {"fit": row.pk, "golden_sets": chosen, "use": learns_from_use}
    audit_record(actor=actor, action="reranker_fit.train", target=str(row.number), **told)
    if calls_worker:
        worker_call(FIT_RERANKER, fit_id=row.pk)
    return row


def golden_sets_of(*, scope: Scope, actor: User) -> QuerySet[GoldenSet]:
    """Golden sets of the asker's tenant that they keep, by name."""
    return golden_sets_kept(scope=scope, actor=actor).filter(tenant_id=scope.tenant_id).order_by("name")


@transaction.atomic
def fit_cancel(*, scope: Scope, actor: User, fit_id: int) -> RerankerFit:
    """End a fit. Raises NotFoundError, NotAllowedError, RerankerFitError if it is over."""
    row = fit_get(scope=scope, fit_id=fit_id)
    if not training_end(row):
        raise RerankerFitError("over")
    audit_record(actor=actor, action="reranker_fit.cancel", target=str(row.number), fit=row.pk)
    return fit_get(scope=scope, fit_id=fit_id)


def fits_resume() -> int:
    """Call a worker to every fit that nobody holds; how many. Safe to run twice."""
    lost = trainings_lost(RerankerFit.objects.all())
    for pk in lost:
        worker_call(FIT_RERANKER, fit_id=pk)
    return len(lost)


def fit_advance(*, fit_id: int, on_step: Callable[[int], None] | None = None) -> bool:
    """Fit to the end, or to that of a slice, from the last checkpoint on; False where another worker has it, or it is
    over. `on_step` hears the number of questions and fits that are done, each time that a checkpoint is stored.
    """
    work = partial(_Work, on_step=on_step)
    return training_work(RerankerFit.objects.all(), pk=fit_id, work=work, error=RerankerFitError)


class _Work(TrainingWork[RerankerFit]):
    error = RerankerFitError

    def __init__(self, row: RerankerFit, on_step: Callable[[int], None] | None = None) -> None:
        super().__init__(row)
        self.on_step = on_step

    def run(self) -> None:
        """Lists, then weights, then the judgement."""
        fits_managed(scope=self.scope)  # who administers the tenant no more teaches it nothing
        progress = self._begun()
        while progress.place < len(progress.questions):
            one = progress.questions[progress.place]
            wanted = frozenset(one.documents)
            progress.add(self._list(one.question, one.sets, wanted) if wanted else None)
            self._store(progress)
        self.alive(round=self.row.rounds, figures=progress.counted())
        if len(progress.lists) < LEAST_CASES:
            raise RerankerFitError("few", found=len(progress.lists), least=LEAST_CASES)
        fitting = self._fitting(progress)
        while not fitting.is_over:
            fitting.advance()
            progress.take(fitting)
            self._store(progress, fitting)
        self.alive()
        self._finish(fitting.result(), progress.counted())

    def _begun(self) -> FitProgress:
        """The fit at its checkpoint, or at its beginning."""
        kept = progress_unpack(bytes(self.row.checkpoint)) if self.row.checkpoint is not None else None
        self.row.checkpoint = None  # it may be large
        progress = kept or FitProgress(questions=self._questions())
        self.row.rounds = len(progress.questions)
        self.alive(rounds=self.row.rounds, round=progress.place)
        return progress

    def _questions(self) -> list[FitQuestion]:
        kept = golden_sets_of(scope=self.scope, actor=self.author).filter(pk__in=self.row.golden_sets)
        questions = _golden(self.scope, list(kept))
        if self.row.learns_from_use:
            questions += _helpful(self.scope, known={one.question for one in questions})
        return questions

    def _fitting(self, progress: FitProgress) -> CrossFitting:
        """At its checkpoint, or at its beginning. Raises RerankerFitError where too little can be held out."""
        if progress.touches is None:
            groups = progress.groups(groups_of(chain.from_iterable(progress.documents())))
            progress.touches = folds_of(groups, folds=FOLDS, seed=str(self.row.tenant_id))
        touches = progress.touches
        if touches.shape[1] < 2 or len(held_out(touches)) < LEAST_HELD_OUT:
            raise RerankerFitError("documents")
        lists = [one.ranked() for one in progress.lists]
        return CrossFitting(lists, touches, packaged_weights(), table=progress.table, place=progress.fits)

    def _store(self, progress: FitProgress, fitting: CrossFitting | None = None) -> None:
        """A checkpoint every few seconds; after each step where somebody listens. It may end the slice."""
        if not self.is_due() and self.on_step is None:
            if fitting is not None:
                self.alive()  # a fit takes seconds
            return
        fits = {} if fitting is None else {"fits": fitting.place, "fits_total": fitting.total}
        shown = {"figures": {**progress.counted(), **fits}} if fitting is not None else {}
        self.alive(round=progress.place, checkpoint=progress.packed(), **shown)
        if self.on_step is not None:
            self.on_step(progress.place + progress.fits)

    def _list(self, question: str, sets: tuple[int, ...], wanted: frozenset[int]) -> FeatureList | None:
        """The candidates of a question; None where no order of them is better than another."""
        request = RetrievalRequest(query=question, sets=sets, top_k=DEPTH, rerank=True, cliff=False, options=AS_SERVED)
        state = retrieve(scope=self.scope, request=request).state
        rows = [(one.document in wanted, one.detail.get("rerank", {})) for one in state.candidates]
        told = [(is_wanted, values) for is_wanted, values in rows if values.keys() >= set(FEATURES)]
        relevant = np.array([is_wanted for is_wanted, _values in told], dtype=bool)
        if not relevant.any() or relevant.all():
            return None
        matrix = np.array([[values[name] for name in FEATURES] for _wanted, values in told], dtype=np.float32)
        return FeatureList(matrix, state.query.cjk_share, relevant, len(wanted))

    def _finish(self, found: CrossFit, figures: dict[str, Any]) -> None:
        difference = paired_difference(found.before.tolist(), found.after.tolist())
        is_gain = found.step > 0 and has_gained(difference)
        told = {"held_out": len(found.before), "overall": {"ndcg@10": difference_shown(difference)}}
        self.finish(
            state=State.READY if is_gain else State.NO_GAIN,
            round=self.row.rounds,
            curve=[{"round": step, "ndcg": round(value, 5)} for step, value in enumerate(found.curve)],
            best_round=found.step,
            features=list(FEATURES),
            weights=[round(float(weight), 5) for weight in found.weights] if is_gain else None,
            figures={**figures, **told},
        )


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
    asked = {one.pk: tuple(one.sets.order_by("pk").values_list("pk", flat=True)) for one in golden_sets}
    chosen = [case for _, cases in sorted(of_set.items()) for case in cases[:share]]
    named = documents_by_name(scope=scope, names=chain.from_iterable(case.relevant for case in chosen))
    right = [{document for name in case.relevant for document in named.get(name, ())} for case in chosen]
    return [
        FitQuestion(case.question, tuple(sorted(documents)), asked[case.golden_set_id])
        for case, documents in zip(chosen, right, strict=True)
    ]


def _helpful(scope: Scope, *, known: Set[str]) -> list[FitQuestion]:
    """What people of the tenant asked, once each, with the documents that they found helpful or opened.

    A question of a golden case is left out: somebody has said what is right there.
    """
    mine: dict[str, Any] = {"tenant_id": scope.tenant_id, "documents": documents_askable(scope=scope)}
    may_ask = set(sets_readable(scope=scope).values_list("pk", flat=True))
    right: dict[str, set[int]] = defaultdict(set)
    asked: dict[str, set[int]] = defaultdict(set)
    for answer in (*answers_voted_for(**mine), *answers_opened(**mine)):
        if answer.question not in known:
            right[answer.question].update(one.document_id for one in answer.citations)
            asked[answer.question].update(answer.sets)
    return [
        FitQuestion(question, tuple(sorted(documents)), tuple(sorted(asked[question] & may_ask)))
        for question, documents in right.items()
    ]
