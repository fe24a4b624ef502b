"""Fitting a tenant's weights of the linear reranker: started by an administrator, done by a worker, judged on held-out
documents (D5, D34).

Each question of the golden sets, and each whose answer people found helpful or opened sources of, is searched with the
rights of who started it; its candidates are a list, with the features that the reranker reads. Weights are fitted near
to the packaged ones, so that few questions change little, and compared with these on lists whose documents were held
out. Nothing that people search with changes here. A worker that is killed leaves nothing behind, and the next one
begins anew: nothing that people have asked is kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
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
from ragcore.reranking.linear import FEATURES, LinearReranker, design
from ragcore.text.question_pairs import folds_of
from ragcore.training.reranker_fitting import CrossFit, RankedList, held_out, weights_cross_fit

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


def fit_advance(*, fit_id: int) -> bool:
    """Fit to the end; False where another worker has it, or it is over."""
    return training_work(RerankerFit.objects.all(), pk=fit_id, work=_Work, error=RerankerFitError)


@dataclass(frozen=True, slots=True)
class _Question:
    """A question, the documents that are right, and the sets that it asks; none: all that may be asked."""

    question: str
    documents: tuple[int, ...]
    sets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Judged:
    """A list with the documents that its question is about."""

    ranked: RankedList
    documents: tuple[int, ...]


class _Work(TrainingWork[RerankerFit]):
    error = RerankerFitError

    def run(self) -> None:
        """Lists, then weights, then the judgement."""
        fits_managed(scope=self.scope)  # who administers the tenant no more teaches it nothing
        dropped: Counter[str] = Counter()
        lists = list(self._lists(dropped))
        self.alive(round=self.row.rounds, figures=_counted(lists, dropped))
        if len(lists) < LEAST_CASES:
            raise RerankerFitError("few", found=len(lists), least=LEAST_CASES)
        groups = groups_of(document for one in lists for document in one.documents)
        touches = folds_of(
            [[groups.get(d, d) for d in one.documents] for one in lists], folds=FOLDS, seed=str(self.row.tenant_id)
        )
        if touches.shape[1] < 2 or len(held_out(touches)) < LEAST_HELD_OUT:
            raise RerankerFitError("documents")
        packaged = np.array(LinearReranker.shipped().weights, dtype=np.float32)
        found = weights_cross_fit([one.ranked for one in lists], touches, packaged, alive=self.alive)
        self._finish(found, _counted(lists, dropped))

    def _lists(self, dropped: Counter[str]) -> Iterator[_Judged]:
        kept = golden_sets_of(scope=self.scope, actor=self.author).filter(pk__in=self.row.golden_sets)
        questions = _golden(self.scope, list(kept))
        if self.row.learns_from_use:
            questions += _helpful(self.scope, known={one.question for one in questions})
        self.row.rounds = len(questions)
        self.alive(rounds=len(questions), round=0)
        for at, one in enumerate(questions):
            ranked = self._list(one.question, one.sets, frozenset(one.documents)) if one.documents else None
            if ranked is not None:
                yield _Judged(ranked, one.documents)
            else:
                dropped["not_found" if one.documents else "no_document"] += 1
            if self.is_due():
                self.alive(round=at + 1)

    def _list(self, question: str, sets: tuple[int, ...], wanted: frozenset[int]) -> RankedList | None:
        """The candidates of a question; None where no order of them is better than another."""
        request = RetrievalRequest(query=question, sets=sets, top_k=DEPTH, rerank=True, cliff=False, options=AS_SERVED)
        state = retrieve(scope=self.scope, request=request).state
        rows = [(one.document in wanted, one.detail.get("rerank", {})) for one in state.candidates]
        told = [(is_wanted, values) for is_wanted, values in rows if values.keys() >= set(FEATURES)]
        relevant = np.array([is_wanted for is_wanted, _values in told], dtype=bool)
        if not relevant.any() or relevant.all():
            return None
        matrix = np.array([[values[name] for name in FEATURES] for _wanted, values in told], dtype=np.float32)
        return RankedList("", design(matrix, state.query.cjk_share), relevant, len(wanted))

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


def _golden(scope: Scope, golden_sets: Sequence[GoldenSet]) -> list[_Question]:
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
        _Question(case.question, tuple(sorted(documents)), asked[case.golden_set_id])
        for case, documents in zip(chosen, right, strict=True)
    ]


def _helpful(scope: Scope, *, known: Set[str]) -> list[_Question]:
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
        _Question(question, tuple(sorted(documents)), tuple(sorted(asked[question] & may_ask)))
        for question, documents in right.items()
    ]


def _counted(lists: Sequence[_Judged], dropped: Counter[str]) -> dict[str, Any]:
    """As the row keeps it."""
    return {"lists": len(lists), "dropped": dict(dropped)}
