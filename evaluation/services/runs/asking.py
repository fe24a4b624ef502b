"""What is left of a run: its cases are asked with each configuration in turn, measured and stored, then its figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from accounts.models import User
from accounts.selectors import scope_for
from evaluation.models import CaseOutcome, EvaluationRun, RunConfiguration
from evaluation.selectors import documents_named
from evaluation.services.golden_files import GoldenRow, row_read
from evaluation.services.runs.components import AskedCase
from evaluation.services.runs.figures import CaseScores, dimension_figures, run_figures
from evaluation.services.runs.measuring import CaseResult, case_dimensions, case_run
from evaluation.services.runs.plans import Tried, draft_of
from knowledge.models import KnowledgeSet
from knowledge.options_draft import OptionsDraft
from knowledge.types import RetrievalMode

_warmed: list[bool] = []


@dataclass(frozen=True, slots=True)
class PendingCase:
    """A case that a configuration was not asked yet."""

    case: int
    row: GoldenRow
    configuration: RunConfiguration


class RunWork:
    """What is left of a run, with the rights of a person."""

    def __init__(self, run: EvaluationRun, user: User) -> None:
        self.run, self.user, self.scope = run, user, scope_for(user)
        self.sets = tuple(run.golden_set.sets.order_by("pk").values_list("pk", flat=True))
        self.configurations = list(run.configurations.all())

    def pending(self) -> Iterator[PendingCase]:
        """Case by case, each with every configuration in turn, so that they share whatever slows the machine."""
        outcomes = CaseOutcome.objects.filter(configuration__run=self.run).order_by()
        stored = set(outcomes.values_list("configuration", "case"))
        for case, row in run_cases(self.run):
            for configuration in self.configurations:
                if (configuration.pk, case) not in stored:
                    yield PendingCase(case, row, configuration)

    def result(self, pending: PendingCase) -> CaseResult:
        """Asks a case, with the options of its configuration. Raises InvalidOptionsError."""
        configuration = pending.configuration
        mode = cast("RetrievalMode", configuration.retrieval_mode)
        draft = self._draft(configuration)
        question = AskedCase(scope=self.scope, user=self.user, row=pending.row, sets=self.sets, mode=mode, draft=draft)
        _warm(question)
        return case_run(question, component=configuration.component)

    def _draft(self, configuration: RunConfiguration) -> OptionsDraft:
        """Its options over those of the set that is asked alone, else over those of the site."""
        tried = Tried(**configuration.tried)
        return draft_of(scope=self.scope, sets=self.sets, options=configuration.options, tried=tried)


def outcome_store(*, pending: PendingCase, result: CaseResult) -> None:
    """Stores what a configuration did with a case."""
    CaseOutcome.objects.create(
        configuration=pending.configuration,
        case=pending.case,
        scores=dict(result.scores),
        trace=dict(result.trace),
        seconds=result.seconds,
        error=result.error,
    )


def run_cases(run: EvaluationRun) -> list[tuple[int, GoldenRow]]:
    """The cases of a run, by their ids, as they were when it began."""
    cases = run.version.cases if run.version is not None else []
    return [(int(case["id"]), row_read(case)) for case in cases[: run.limit]]


def _warm(case: AskedCase) -> None:
    """Models are loaded outside of the figures, once in a process."""
    if not _warmed:
        _warmed.append(True)
        case_run(case, component=RunConfiguration.Component.RETRIEVAL)


def run_figures_store(*, run: EvaluationRun) -> None:
    """Figures of every configuration from the outcomes that there are."""
    rows, of_sets = dict(run_cases(run)), _sets_of_cases(run)
    for configuration in run.configurations.all():
        outcomes = list(configuration.outcomes.exclude(trace__has_key="skipped").defer("trace"))
        results = [
            CaseScores(
                scores=outcome.scores,
                seconds=outcome.seconds,
                dimensions=case_dimensions(rows[outcome.case], sets=of_sets.get(outcome.case, "")),
            )
            for outcome in outcomes
            if outcome.case in rows
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
    through = KnowledgeSet.documents.through.objects  # type: ignore[attr-defined]
    members = through.filter(knowledgeset_id__in=sets).order_by("knowledgeset_id")
    names = {}
    for case, row in run_cases(run):
        ids = documents_named(scope=scope, names=row.relevant)
        homes = members.filter(document_id__in=ids).values_list("knowledgeset_id", flat=True)
        names[case] = ", ".join(dict.fromkeys(sets[pk] for pk in homes))
    return names
