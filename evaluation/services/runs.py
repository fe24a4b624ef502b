"""Runs of a golden set with the present configuration, and their figures: means with 95 % intervals (D15, D34)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from asgiref.sync import async_to_sync
from django.utils import timezone

from accounts.models import User
from accounts.scope import Scope
from chat.turns.lifecycle import answer_now
from chat.types import AnswerRequest
from evaluation.errors import NothingToEvaluateError
from evaluation.models import EvaluationRun, GoldenCase, GoldenSet
from evaluation.selectors import golden_cases
from knowledge.services import retrieve
from knowledge.types import RetrievalMode, RetrievalRequest
from ragcore.metrics.quality import contains_gold, mrr_at_k, ndcg_at_k, recall_at_k
from ragcore.options import options_sha256
from ragcore.types import Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """What a run does with each case."""

    top_k: int = 10
    mode: RetrievalMode = "hybrid"
    rerank: bool = True
    answers: bool = False  # also generate answers, with the configured model or extractively
    limit: int | None = None  # the first cases only


def evaluation_run(
    *,
    scope: Scope,
    user: User,
    golden_set: GoldenSet,
    options: EvaluationOptions,
    on_case: Callable[[int, int], None] | None = None,
) -> EvaluationRun:
    """Ask every case with the rights of `scope` and store the figures; `on_case` hears (done, total).

    Raises NothingToEvaluateError and whatever retrieval raises: a run is stored only as a whole.
    """
    cases = golden_cases(golden_set=golden_set, limit=options.limit)
    if not cases:
        raise NothingToEvaluateError
    sets = tuple(golden_set.sets.values_list("pk", flat=True))
    _case_run(scope=scope, user=user, case=cases[0], sets=sets, options=options)  # models load outside the figures
    started, results = timezone.now(), []
    for done, case in enumerate(cases, 1):
        results.append(_case_run(scope=scope, user=user, case=case, sets=sets, options=options))
        if on_case is not None:
            on_case(done, len(cases))
    run = EvaluationRun.objects.create(
        golden_set=golden_set,
        options=asdict(options),
        options_sha256=options_sha256(options),
        figures=run_figures(results),
        cases=[result.as_json() for result in results],
        finished=timezone.now(),
    )
    EvaluationRun.objects.filter(pk=run.pk).update(started=started)
    run.started = started
    return run


def _case_run(
    *, scope: Scope, user: User, case: GoldenCase, sets: Sequence[int], options: EvaluationOptions
) -> CaseResult:
    request = RetrievalRequest(
        query=case.question, sets=tuple(sets), top_k=options.top_k, mode=options.mode, rerank=options.rerank
    )
    start = perf_counter()
    candidates = retrieve(scope=scope, request=request).state.candidates
    milliseconds = (perf_counter() - start) * 1000
    found = ranked_documents(candidates, named=case.relevant)
    scores = retrieval_scores(found=found, relevant=case.relevant)
    if options.answers:
        scores |= _answer_run(scope=scope, user=user, case=case, sets=sets, options=options)
    return CaseResult(case=case.pk, milliseconds=milliseconds, found=tuple(found), scores=scores)


def _answer_run(
    *, scope: Scope, user: User, case: GoldenCase, sets: Sequence[int], options: EvaluationOptions
) -> dict[str, float]:
    """Caches are off: what is measured is the pipeline."""
    request = AnswerRequest(query=case.question, sets=tuple(sets), top_k=options.top_k, cache=False, personal=False)
    record = async_to_sync(answer_now)(scope=scope, user=user, request=request).record
    wanted = set(case.relevant)
    cited = [_name(citation.external_id, citation.document_id, wanted) for citation in record.cited]
    return answer_scores(text=record.text, cited=cited, answers=case.answers, relevant=case.relevant)


def ranked_documents(candidates: Sequence[Candidate], *, named: Sequence[str]) -> list[str]:
    """Documents of a ranking of passages, best first, each once, named as the case names them."""
    wanted = set(named)
    external = (c.passage.external_id if c.passage else "" for c in candidates)
    names = (_name(external_id, c.document, wanted) for external_id, c in zip(external, candidates, strict=True))
    return list(dict.fromkeys(names))


def _name(external_id: str, document_id: int, wanted: set[str]) -> str:
    """`#<document id>` where the case uses it or there is no external id."""
    by_id = f"#{document_id}"
    return by_id if by_id in wanted or not external_id else external_id


RESAMPLES = 1000
SEED = 20
TIMES = {"p50_ms": "p50", "p95_ms": "p95"}
Sample = npt.NDArray[np.float64]
STATISTICS: Mapping[str, Callable[[Sample], float]] = {
    "mean": lambda sample: float(sample.mean()),
    "p50": lambda sample: float(np.percentile(sample, 50)),
    "p95": lambda sample: float(np.percentile(sample, 95)),
}
SHARES = ("recall@1", "recall@5", "recall@10", "ndcg@10", "mrr@10", "contains_answer", "cites_relevant")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A value with its 95 % interval and the number of cases behind it."""

    value: float
    low: float
    high: float
    cases: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """Figures of one case; None where the case has nothing to compare with."""

    case: int
    milliseconds: float
    found: tuple[str, ...]  # documents, best first, each once
    scores: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        return {"id": self.case, "milliseconds": round(self.milliseconds, 1), "found": list(self.found), **self.scores}


def retrieval_scores(*, found: Sequence[str], relevant: Sequence[str]) -> dict[str, float]:
    """Figures in 0..1 of one ranking of documents; empty where nothing is known to be relevant."""
    if not relevant:
        return {}
    wanted = set(relevant)
    return {
        **{f"recall@{k}": recall_at_k(found, wanted, k) for k in (1, 5, 10)},
        "ndcg@10": ndcg_at_k(found, wanted, 10),
        "mrr@10": mrr_at_k(found, wanted, 10),
    }


def answer_scores(
    *, text: str, cited: Sequence[str], answers: Sequence[str], relevant: Sequence[str]
) -> dict[str, float]:
    """1 or 0: does the answer contain an accepted string; does it cite a relevant document."""
    scores: dict[str, float] = {}
    if answers:
        scores["contains_answer"] = float(contains_gold(text, answers))
    if relevant:
        scores["cites_relevant"] = float(bool(set(cited) & set(relevant)))
    return scores


def run_figures(results: Sequence[CaseResult]) -> dict[str, Any]:
    """Metric -> {value, low, high, cases}: shares in 0..1, `p50_ms` and `p95_ms` in milliseconds."""
    figures = {}
    for name in SHARES:
        values = [result.scores[name] for result in results if name in result.scores]
        if values:
            figures[name] = asdict(bootstrap(values, statistic="mean"))
    times = [result.milliseconds for result in results]
    for name, statistic in TIMES.items():
        figures[name] = asdict(bootstrap(times, statistic=statistic))
    return figures


def bootstrap(values: Sequence[float], *, statistic: str) -> Figure:
    """The mean, p50 or p95 with its percentile bootstrap interval (Efron 1979); the same values give the same one.

    Raises ValueError without values.
    """
    if not values:
        raise ValueError("no values")
    sample = np.asarray(values, dtype=np.float64)
    random = np.random.default_rng(SEED)
    estimate = STATISTICS[statistic]
    estimates = [estimate(sample[random.integers(0, len(sample), len(sample))]) for _ in range(RESAMPLES)]
    low, high = np.percentile(estimates, [2.5, 97.5])
    return Figure(
        value=round(estimate(sample), 4), low=round(float(low), 4), high=round(float(high), 4), cases=len(sample)
    )
