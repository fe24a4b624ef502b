"""Running a golden set against the product as it is configured now (D15, D34)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter

from asgiref.sync import async_to_sync
from django.utils import timezone

from accounts.models import User
from accounts.scope import Scope
from chat.turns.lifecycle import answer_now
from chat.types import AnswerRequest
from evaluation.errors import NothingToEvaluateError
from evaluation.models import EvaluationRun, GoldenCase, GoldenSet
from evaluation.selectors import golden_cases
from evaluation.services.figures import CaseResult, answer_scores, retrieval_scores, run_figures
from knowledge.services import retrieve
from knowledge.types import RetrievalMode, RetrievalRequest
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
    found = documents_found(candidates, named=case.relevant)
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


def documents_found(candidates: Sequence[Candidate], *, named: Sequence[str]) -> list[str]:
    """Documents of a ranking of passages, best first, each once, named as the case names them."""
    wanted = set(named)
    external = (c.passage.external_id if c.passage else "" for c in candidates)
    names = (_name(external_id, c.document, wanted) for external_id, c in zip(external, candidates, strict=True))
    return list(dict.fromkeys(names))


def _name(external_id: str, document_id: int, wanted: set[str]) -> str:
    """`#<document id>` where the case uses it or there is no external id."""
    by_id = f"#{document_id}"
    return by_id if by_id in wanted or not external_id else external_id
