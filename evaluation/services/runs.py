"""Runs of golden sets: started, worked through a few cases at a time, paused, resumed, cancelled.

The rows are the truth: a case of a configuration is done when its outcome is stored, and a constraint lets it be stored
once. So a worker that is killed loses the case that it had in hand and no other, and none is done twice. One worker at
a time holds a run, by a lease that it renews with each case and that ends soon after its process has died.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from accounts.services import audit_record
from evaluation.errors import NothingToEvaluateError, RunNotOpenError, TooManyConfigurationsError
from evaluation.models import CaseOutcome, EvaluationRun, GoldenSet, RunConfiguration
from evaluation.queue import ADVANCE_RUN
from evaluation.selectors import documents_named
from evaluation.services.golden import version_keep
from evaluation.services.golden_files import GoldenRow, row_read
from evaluation.services.run_cases import CaseResult, case_dimensions, case_run
from evaluation.services.run_components import AskedCase
from evaluation.services.run_figures import CaseScores, dimension_figures, run_figures
from evaluation.services.run_plans import LIVE, ConfigurationPlan, Given, Tried, draft_of
from evaluation.services.worker_calls import is_free, is_lost, worker_call
from knowledge.models import KnowledgeSet
from knowledge.options_draft import OptionsDraft, options_draft
from knowledge.services.fencing import claim, fenced
from knowledge.services.options import options_merge
from knowledge.types import RetrievalMode
from ragcore.options import options_sha256

SLICE_SECONDS = 10.0  # of one task; what else waits for the worker comes between two tasks
LEASE = timedelta(minutes=3)  # more than any single case takes
MOST_CONFIGURATIONS = 6
State = EvaluationRun.State

_warmed: list[bool] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fingerprint:
    component: str
    retrieval_mode: str
    options: Given


@transaction.atomic
def run_start(
    *,
    scope: Scope,
    user: User,
    golden_set: GoldenSet,
    configurations: Sequence[ConfigurationPlan],
    limit: int | None = None,
    calls_worker: bool = True,
    actor: User | None = None,
) -> EvaluationRun:
    """Queue the cases of a golden set, as they are now, for each configuration; they are asked with the user's rights.

    `limit`: the first cases only. `actor`: who starts it, if not the user. Raises NothingToEvaluateError,
    TooManyConfigurationsError, InvalidOptionsError.
    """
    names = {plan.name for plan in configurations}
    if not 1 <= len(configurations) <= MOST_CONFIGURATIONS or len(names) < len(configurations):
        raise TooManyConfigurationsError
    for plan in configurations:
        options_merge({}, plan.options, layer=plan.name)
    version = version_keep(golden_set=golden_set, actor=user)
    cases = len(version.cases[:limit])
    if not cases:
        raise NothingToEvaluateError
    run = EvaluationRun.objects.create(
        golden_set=golden_set,
        version=version,
        requested_by=user,
        state=State.RUNNING,
        limit=limit,
        total=cases * len(configurations),
        options=_plain(configurations[0].options),
        options_sha256=_sha256(configurations[0]),
    )
    for position, plan in enumerate(configurations):
        RunConfiguration.objects.create(
            run=run,
            position=position,
            name=plan.name,
            component=plan.component,
            retrieval_mode=plan.retrieval_mode,
            options=_plain(plan.options),
            tried=plan.tried.stored,
            options_sha256=_sha256(plan),
        )
    audit_record(
        actor=actor or user,
        action="run.start",
        target=golden_set.name,
        run=run.pk,
        cases=cases,
        configurations=len(names),
    )
    if calls_worker:
        worker_call(run, ADVANCE_RUN)
    return run


def run_pause(*, run: EvaluationRun, actor: User) -> EvaluationRun:
    """The case in hand is finished; the others wait. Raises RunNotOpenError."""
    return _run_move(run, actor, State.PAUSED, "run.pause")


def run_resume(*, run: EvaluationRun, actor: User) -> EvaluationRun:
    """Go on with the cases that are left. Raises RunNotOpenError."""
    return _run_move(run, actor, State.RUNNING, "run.resume")


def run_cancel(*, run: EvaluationRun, actor: User) -> EvaluationRun:
    """End the run; figures of the cases that are done are kept. Raises RunNotOpenError."""
    return _run_move(run, actor, State.CANCELLED, "run.cancel")


@transaction.atomic
def _run_move(run: EvaluationRun, actor: User, state: str, action: str) -> EvaluationRun:
    row = EvaluationRun.objects.select_for_update().get(pk=run.pk)
    if not row.is_open:
        raise RunNotOpenError
    if row.state != state:
        row.state = state
        if state == State.CANCELLED:
            _figures_store(row)
            row.finished = timezone.now()
        row.save(update_fields=["state", "finished"])
        audit_record(actor=actor, action=action, target=row.golden_set.name, run=row.pk)
        if state == State.RUNNING:
            worker_call(row, ADVANCE_RUN)
    return row


def runs_resume() -> int:
    """Call a worker to every run that nobody holds or is called to; how many. Safe to run twice."""
    lost = EvaluationRun.objects.filter(is_lost(), state=State.RUNNING)
    for run in lost:
        worker_call(run, ADVANCE_RUN)
    return len(lost)


def run_advance(*, run_id: int, seconds: float = SLICE_SECONDS, on_case: Callable[[], None] | None = None) -> bool:
    """Ask the next cases of a run for so long and call a worker to the rest.

    False where another worker holds it, or it is paused or over. `on_case` is called after each case.
    """
    free = EvaluationRun.objects.filter(is_free(), state=State.RUNNING)
    run = claim(free, pk=run_id, leased_until=timezone.now() + LEASE, called=None)
    if run is None:
        return False
    until = time.monotonic() + seconds
    if run.requested_by is None or not run.requested_by.is_active:
        fenced(run).update(state=State.FAILED, finished=timezone.now(), leased_until=None)
        return True
    work = _Work(run, run.requested_by)
    for case in work.pending():
        work.do(case)
        if on_case is not None:
            on_case()
        if time.monotonic() >= until or not _renew(run):
            break
    _give_back(run, work)
    return True


def evaluation_run(
    *,
    scope: Scope,
    user: User,
    golden_set: GoldenSet,
    configurations: Sequence[ConfigurationPlan] = (LIVE,),
    limit: int | None = None,
    on_case: Callable[[int, int], None] | None = None,
) -> EvaluationRun:
    """A whole run in this process; `on_case` hears (done, total). Raises what `run_start` raises."""
    run = run_start(
        scope=scope, user=user, golden_set=golden_set, configurations=configurations, limit=limit, calls_worker=False
    )
    done = 0

    def tell() -> None:
        nonlocal done
        done += 1
        if on_case is not None:
            on_case(done, run.total)

    while run_advance(run_id=run.pk, seconds=float("inf"), on_case=tell):
        pass
    return EvaluationRun.objects.get(pk=run.pk)


# ── the work ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Pending:
    case: int
    row: GoldenRow
    configuration: RunConfiguration


class _Work:
    """What is left of a run, and doing it."""

    def __init__(self, run: EvaluationRun, user: User) -> None:
        self.run, self.user, self.scope = run, user, scope_for(user)
        self.sets = tuple(run.golden_set.sets.order_by("pk").values_list("pk", flat=True))
        self.configurations = list(run.configurations.all())

    def pending(self) -> Iterator[_Pending]:
        """Case by case, each with every configuration in turn, so that they share whatever slows the machine."""
        done = set(
            CaseOutcome.objects.filter(configuration__run=self.run).order_by().values_list("configuration", "case")
        )
        for case, row in run_cases(self.run):
            for configuration in self.configurations:
                if (configuration.pk, case) not in done:
                    yield _Pending(case, row, configuration)

    def do(self, one: _Pending) -> None:
        """Ask and store; another worker may have stored it meanwhile, then that holds."""
        mode = cast("RetrievalMode", one.configuration.retrieval_mode)
        asked = AskedCase(scope=self.scope, user=self.user, row=one.row, sets=self.sets, mode=mode)
        with options_draft(self.draft(one.configuration)):
            _warm(asked)
            result = case_run(asked, component=one.configuration.component)
        outcome_store(configuration=one.configuration, case=one.case, result=result)

    def draft(self, configuration: RunConfiguration) -> OptionsDraft:
        """Its options over those of the set that is asked alone, else over those of the site."""
        tried = Tried(**configuration.tried)
        return draft_of(scope=self.scope, sets=self.sets, options=configuration.options, tried=tried)


def outcome_store(*, configuration: RunConfiguration, case: int, result: CaseResult) -> None:
    """Keep what a configuration did with a case; the first one that is stored holds."""
    outcome = CaseOutcome(
        configuration=configuration,
        case=case,
        scores=dict(result.scores),
        trace=dict(result.trace),
        seconds=result.seconds,
        error=result.error,
    )
    CaseOutcome.objects.bulk_create([outcome], ignore_conflicts=True)


def run_cases(run: EvaluationRun) -> list[tuple[int, GoldenRow]]:
    """The cases of a run, by their ids, as they were when it began."""
    cases = run.version.cases if run.version is not None else []
    return [(int(case["id"]), row_read(case)) for case in cases[: run.limit]]


def _warm(asked: AskedCase) -> None:
    """Models are loaded outside of the figures, once in a process."""
    if not _warmed:
        _warmed.append(True)
        case_run(asked, component=RunConfiguration.Component.RETRIEVAL)


def _figures_store(run: EvaluationRun) -> None:
    """Figures of every configuration from the outcomes that there are."""
    named, of_sets = dict(run_cases(run)), _sets_of_cases(run)
    for configuration in run.configurations.all():
        outcomes = list(configuration.outcomes.exclude(trace__has_key="skipped").defer("trace"))
        results = [
            CaseScores(
                scores=outcome.scores,
                seconds=outcome.seconds,
                dimensions=case_dimensions(named[outcome.case], sets=of_sets.get(outcome.case, "")),
            )
            for outcome in outcomes
            if outcome.case in named
        ]
        configuration.figures = run_figures(results)
        configuration.dimensions = dimension_figures(results)
        configuration.failed = sum(bool(outcome.error) for outcome in outcomes)
        configuration.save(update_fields=["figures", "dimensions", "failed"])
        if configuration.position == 0:
            EvaluationRun.objects.filter(pk=run.pk).update(figures=configuration.figures)


def _sets_of_cases(run: EvaluationRun) -> dict[int, str]:
    """Case -> the names of the knowledge sets of its relevant documents, where the golden set asks several sets."""
    sets = {row.pk: row.name for row in run.golden_set.sets.all()}
    if len(sets) < 2 or run.requested_by is None:
        return {}
    scope = scope_for(run.requested_by)
    held = KnowledgeSet.documents.through.objects.filter(knowledgeset_id__in=sets)  # type: ignore[attr-defined]
    found = {}
    for case, row in run_cases(run):
        ids = documents_named(scope=scope, names=row.relevant)
        its = held.filter(document_id__in=ids).order_by("knowledgeset_id").values_list("knowledgeset_id", flat=True)
        found[case] = ", ".join(dict.fromkeys(sets[pk] for pk in its))
    return found


# ── the lease ─────────────────────────────────────────────────────────────────────────────────────


def _renew(run: EvaluationRun) -> bool:
    """False where the run was paused or cancelled meanwhile, or another worker took it when the lease was over."""
    return fenced(run).filter(state=State.RUNNING).update(leased_until=timezone.now() + LEASE) > 0


@transaction.atomic
def _give_back(run: EvaluationRun, work: _Work) -> None:
    row = fenced(run).select_for_update().first()
    if row is None:
        return  # another worker holds it
    row.leased_until = None
    is_left = next(work.pending(), None) is not None
    if row.state == State.RUNNING and not is_left:
        _figures_store(row)
        row.state, row.finished = State.DONE, timezone.now()
    row.save(update_fields=["leased_until", "state", "finished"])
    if row.state == State.RUNNING:
        worker_call(row, ADVANCE_RUN)


def _plain(options: Given) -> dict[str, dict[str, Any]]:
    return {code: dict(values) for code, values in options.items() if values}


def _sha256(plan: ConfigurationPlan) -> str:
    return options_sha256(
        _Fingerprint(
            component=str(plan.component),
            retrieval_mode=plan.retrieval_mode,
            options={**_plain(plan.options), **plan.tried.stored},
        )
    )
