"""The same questions in every mode: a right answer in the text, a right document cited, confidence beside rightness."""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from asgiref.sync import async_to_sync
from django.core.management import call_command

from accounts.models import User
from accounts.selectors import scope_for
from bench.calibration import Reliability
from bench.everyday.asking import Organisation, verdict_together
from bench.everyday.questions import questions_read, questions_sample
from bench.retrieval import note, work_off
from chat.models import Message
from chat.turns.lifecycle import answer_now
from chat.types import AnswerRequest, Mode
from evaluation.models import GoldenCase, GoldenSet
from evaluation.services.golden import benchmark_load
from knowledge.services import indexes_refresh
from ragcore.metrics.bootstrap import Interval, paired_interval
from ragcore.metrics.quality import contains_gold

EVERYDAY = "questions.jsonl"  # of a folder with the files of an organisation
MODES: tuple[Mode, ...] = ("basic", "enhanced", "agentic", "ultimate")  # from the one that costs least
SEED = 7  # of the questions that are drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeAnswer:
    """One answer against what is known of its question."""

    has_gold: bool  # a right answer stands in it, regardless of case, spaces and punctuation
    cites_gold: bool  # a document that answers is cited
    status: str
    confidence: float | None
    seconds: float
    evidence: Mapping[str, float] = field(default_factory=dict)  # that the confidence was computed from; {} without any


@dataclass(kw_only=True)
class SetFigures:
    """Answers to the questions of one set, by mode, in the order of the questions."""

    name: str
    answers: dict[str, list[ModeAnswer]] = field(default_factory=lambda: {mode: [] for mode in MODES})

    def shares(self, mode: str) -> dict[str, float]:
        """Shares of answers with "gold" and "cites" in a mode, 0 to 1."""
        answers = self.answers[mode]
        return {
            "gold": round(statistics.fmean(answer.has_gold for answer in answers), 4),
            "cites": round(statistics.fmean(answer.cites_gold for answer in answers), 4),
        }

    def against(self, mode: str, cheaper: str, name: str) -> Interval:
        """The mean difference of a figure ("has_gold", "cites_gold") to a cheaper mode, question by question."""
        ours, theirs = (
            [float(getattr(answer, name)) for answer in self.answers[of_mode]] for of_mode in (mode, cheaper)
        )
        return paired_interval(ours, theirs)

    def reliability(self, mode: str) -> Reliability:
        """Confidence beside right answers, of what was answered."""
        reliability = Reliability()
        for answer in self.answers[mode]:
            if answer.status == "answered":
                reliability.add(answer.confidence, is_right=answer.has_gold)
        return reliability

    def rows(self) -> Iterator[str]:
        """One row of the table for each mode; differences are to the mode before it, with 95 % intervals."""
        for place, mode in enumerate(MODES):
            answers, shares = self.answers[mode], self.shares(mode)
            before = MODES[place - 1] if place else mode
            differences = [
                self.against(mode, before, name).text() if place else "" for name in ("has_gold", "cites_gold")
            ]
            refused = statistics.fmean(answer.status in ("refused", "search_results") for answer in answers)
            seconds = statistics.median(answer.seconds for answer in answers)
            cells = [f"{shares['gold']:.3f}", differences[0], f"{shares['cites']:.3f}", differences[1]]
            figures = [f"{refused:.3f}", f"{self.reliability(mode).error():.3f}", f"{seconds:.2f}"]
            yield f"| {self.name} | {mode} | {len(answers)} | {' | '.join([*cells, *figures])} |"


HEAD = (
    "| set | mode | questions | gold | more than the mode before | cites | more than the mode before | refused "
    "| calibration error | s |\n|---|---|---|---|---|---|---|---|---|---|"
)


def measure(folders: Sequence[Path], *, limit: int, modes: Sequence[Mode] = MODES) -> Iterator[SetFigures]:
    """The figures of each set, whose documents are loaded before its questions are asked, all by one employee.

    Where questions and documents are in two languages, an answer in either is right ("answers_zh", "answers_en").
    """
    call_command("bootstrap", "--demo", "0", verbosity=0)
    admin = User.objects.get(username="admin")
    asker = User.objects.create_user("asker", tenant=admin.tenant, clearance=0)
    for folder in folders:
        name = folder.parent.name if folder.name in ("dev", "heldout") else folder.name
        if (folder / EVERYDAY).is_file():
            yield _measured_everyday(name, folder, limit=limit, modes=modes)
            continue
        golden, accepted = benchmark_load(scope=scope_for(admin), actor=admin, folder=folder, name=name)
        golden.sets.update(visibility="everyone")
        note(f"{name}: {work_off(accepted.job_id)} documents")
        indexes_refresh()
        yield _measured(golden, asker, _answers_across(folder), limit=limit, modes=modes)


def _answers_across(folder: Path) -> dict[str, list[str]]:
    """Question -> its answers in the language of the documents, where that is another one."""
    with (folder / "queries.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return {row["text"]: [*row.get("answers_zh", ()), *row.get("answers_en", ())] for row in rows}


def _measured(
    golden: GoldenSet, asker: User, across: Mapping[str, Sequence[str]], *, limit: int, modes: Sequence[Mode]
) -> SetFigures:
    cases = [case for case in golden.cases.order_by("pk") if case.answers and case.relevant]
    random.Random(SEED).shuffle(cases)
    sets, figures = tuple(golden.sets.values_list("pk", flat=True)), SetFigures(name=golden.name)
    for case in cases[:limit]:
        answers = [*case.answers, *across.get(case.question, ())]
        for mode in modes:  # in turn, so that other work on the machine meets all alike
            request = AnswerRequest(
                query=case.question, sets=sets, mode=mode, cache=False, personal=False, given=frozenset({"mode"})
            )
            figures.answers[mode].append(_asked(case, answers, asker, request))
    return figures


def _measured_everyday(name: str, folder: Path, *, limit: int, modes: Sequence[Mode]) -> SetFigures:
    """Gold: the answer is useful; cited: what is asked for stands in the sources."""
    organisation, figures = Organisation.loaded(folder / "documents"), SetFigures(name=name)
    for question in questions_sample(questions_read(folder / EVERYDAY), limit):
        for mode in modes:
            turns = list(organisation.asked(question, mode=mode))
            figures.answers[mode].append(
                ModeAnswer(
                    has_gold=verdict_together(turns) == "useful",
                    cites_gold=all(turn.reach != "no" for turn in turns),
                    status=turns[-1].answer.status,
                    confidence=turns[-1].answer.confidence,
                    seconds=sum(turn.seconds for turn in turns),
                    evidence=turns[-1].answer.evidence,
                )
            )
    return figures


def _asked(case: GoldenCase, answers: Sequence[str], asker: User, request: AnswerRequest) -> ModeAnswer:
    stored = async_to_sync(answer_now)(scope=scope_for(asker), user=asker, request=request)
    message = Message.objects.get(pk=stored.message.pk)
    cited = message.citations.filter(cited=True).values_list("document__external_id", flat=True)
    return ModeAnswer(
        has_gold=contains_gold(message.answer, answers),
        cites_gold=not set(case.relevant).isdisjoint(cited),
        status=message.status,
        confidence=message.confidence,
        seconds=float(message.metadata.get("total_time") or 0.0),
        evidence=message.trace.get("confidence", {}),
    )
