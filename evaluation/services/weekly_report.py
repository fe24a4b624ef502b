"""The report on feedback cases of some days: trends, priorities, recurring questions, gaps and what would help.

Everything in it comes from cases that the reader may review; what rests on a document that they may not open counts as
a case without a diagnosis.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db.models import Count, Prefetch, Q, QuerySet
from django.db.models.functions import TruncDate
from django.utils import timezone
from django.utils.translation import gettext

from accounts.scope import Scope
from evaluation.models import Diagnosis, RemedyApplication, WantedDocument
from evaluation.selectors import diagnosis_shown
from evaluation.services.wanted_documents import wanted_documents_shown
from feedback.models import BadCase
from feedback.selectors import cases_reviewable
from knowledge import model_registry
from knowledge.models import Document
from ragcore.text.csv_rows import BOM, csv_line
from ragcore.text.matching import keywords

DAYS = 7
MOST_CASES = 2000
MOST_ROWS = 20
ALIKE = 0.5  # Jaccard of the keywords of two questions from which on they count as the same pattern
LEAST_CLUSTER = 2
UNDIAGNOSED = ""
_UNREAD = ("answer", "answer_html", "sentences", "request", "metadata", "trace")  # of a message
# Remedies of a diagnosis -> kinds of applications that carry it out
CARRIED_OUT: Mapping[str, tuple[str, ...]] = {
    "add_synonym": ("add_question", "add_synonym"),
    "add_question": ("add_question",),
    "enable": ("enable",),
    "recut": ("recut",),
    "option": ("option", "weight"),
    "golden_case": ("approve", "golden_case"),
    "ask_owner": ("ask_owner", "withdraw_version"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportCase:
    """One case as the report counts it."""

    case: BadCase
    diagnosis: Diagnosis | None
    sets: tuple[str, ...]
    kind: str  # of the question

    @property
    def cause(self) -> str:
        return self.diagnosis.cause if self.diagnosis else UNDIAGNOSED

    @property
    def is_open(self) -> bool:
        return self.case.state != BadCase.State.CLOSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Cases of one class, set or type."""

    name: str
    now: int  # in the days of the report
    before: int  # in as many days before
    open: int  # of those of the report

    @property
    def change(self) -> int:
        return self.now - self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Questions that ask about the same, by their keywords."""

    question: str  # the shortest of them
    cases: tuple[ReportCase, ...]
    cause: str  # the most frequent one


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """What to do about open cases. `gain`: cases that are expected to be answered by it."""

    remedy: str
    cases: int
    rate: float  # share of tested applications after which the question was answered, smoothed; 0 to 1
    tested: int
    gain: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WeeklyReport:
    """The report of one reader."""

    first: date
    last: date
    cases: tuple[ReportCase, ...]  # the latest MOST_CASES
    left_out: int  # of these days and of those before: counted, but not among `cases` and in what is made of them
    new: int
    open: int  # of the new ones
    before: int
    by_day: tuple[tuple[date, int], ...]
    by_cause: tuple[Tally, ...]
    by_set: tuple[Tally, ...]
    by_type: tuple[Tally, ...]
    by_resolution: tuple[Tally, ...]  # of cases that have one
    clusters: tuple[Cluster, ...]
    recommendations: tuple[Recommendation, ...]
    wanted: tuple[WantedDocument, ...]
    gaps: tuple[ReportCase, ...]  # open cases without knowledge, for which nobody was asked yet


def weekly_report(*, scope: Scope, is_reviewer: bool, days: int = DAYS, last: date | None = None) -> WeeklyReport:
    """The report of whole days, compared with as many before them. `last`: the last of them; None: today."""
    last = last or timezone.localdate()
    start = timezone.make_aware(datetime.combine(last - timedelta(days=days - 1), time.min))
    end = timezone.make_aware(datetime.combine(last + timedelta(days=1), time.min))
    rows = cases_reviewable(scope=scope, is_reviewer=is_reviewer)
    opened = rows.filter(created__gte=start, created__lt=end)
    former = rows.filter(created__lt=start, created__gte=start - timedelta(days=days))
    cases, before = tuple(_cases(scope, opened)), tuple(_cases(scope, former))
    counts = opened.order_by().aggregate(new=Count("pk"), open=Count("pk", filter=~Q(state=BadCase.State.CLOSED)))
    counts["before"] = former.count()
    by_day = opened.order_by().annotate(on=TruncDate("created")).values_list("on").annotate(Count("pk"))
    of_day = dict(by_day)
    wanted = wanted_documents_shown(scope=scope).filter(state=WantedDocument.State.OPEN)
    asked_for = set(wanted.values_list("case_id", flat=True))
    return WeeklyReport(
        first=last - timedelta(days=days - 1),
        last=last,
        cases=cases,
        left_out=max(counts["new"] + counts["before"] - len(cases) - len(before), 0),
        **counts,
        by_day=tuple((day, of_day.get(day, 0)) for day in (last - timedelta(days=days - 1 - n) for n in range(days))),
        by_cause=_tallies(cases, before, lambda one: (one.cause,)),
        by_set=_tallies(cases, before, lambda one: one.sets),
        by_type=_tallies(cases, before, lambda one: (one.kind,)),
        by_resolution=_tallies(cases, before, lambda one: (one.case.resolution,) if one.case.resolution else ()),
        clusters=tuple(_clusters(cases)),
        recommendations=tuple(_recommendations(scope, cases)),
        wanted=tuple(wanted[:MOST_ROWS]),
        gaps=tuple(
            one for one in cases if one.cause == "knowledge_gap" and one.is_open and one.case.pk not in asked_for
        )[:MOST_ROWS],
    )


def report_csv(report: WeeklyReport) -> Iterator[str]:
    """One line for each case, for spreadsheets: nothing in it is taken for a formula; a last one counts what lacks."""
    clusters = {one.case.pk: number for number, cluster in enumerate(report.clusters, 1) for one in cluster.cases}
    yield BOM + csv_line(
        (
            *("case", "opened", "state", "resolution", "question", "cause"),
            *("sub_cause", "remedy", "confidence", "sets", "type", "pattern"),
        )
    )
    for one in report.cases:
        found = one.diagnosis
        yield csv_line(
            (
                str(one.case.pk),
                one.case.created.isoformat(timespec="seconds"),
                one.case.state,
                one.case.resolution,
                one.case.message.question,
                one.cause,
                found.subcause if found else "",
                found.remedy if found else "",
                f"{found.confidence:.2f}" if found else "",
                "; ".join(one.sets),
                one.kind,
                str(clusters.get(one.case.pk, "")),
            )
        )
    if (older := report.new - len(report.cases)) > 0:
        yield csv_line((f"{older} older cases are not listed",))


def cause_label(cause: str) -> str:
    """A class in words."""
    return str(Diagnosis.Cause(cause).label) if cause else gettext("Not diagnosed yet")


# ── the parts ─────────────────────────────────────────────────────────────────────────────────────


def _cases(scope: Scope, rows: QuerySet[BadCase]) -> Iterator[ReportCase]:
    rows = rows.defer(*(f"message__{name}" for name in _UNREAD))
    cases = list(rows.prefetch_related("message__conversation__sets")[:MOST_CASES])
    diagnoses = Diagnosis.objects.filter(diagnosis_shown(scope=scope), message__in=[case.message_id for case in cases])
    document = Prefetch("document", queryset=Document.objects.only("pk"))
    latest: dict[Any, Diagnosis] = {}
    for diagnosis in diagnoses.defer("evidence").prefetch_related(document, "document__sets").order_by("created", "pk"):
        latest[diagnosis.message_id] = diagnosis
    for case in cases:
        yield ReportCase(
            case=case,
            diagnosis=latest.get(case.message_id),
            sets=tuple(_set_names(case, latest.get(case.message_id))),
            kind=str(case.features.get("query_type") or ""),
        )


def _set_names(case: BadCase, diagnosis: Diagnosis | None) -> list[str]:
    """Sets that were asked; where all were, those of the document with the answer."""
    names = [row.shown_name for row in case.message.conversation.sets.all()]
    if names or diagnosis is None or diagnosis.document is None:
        return names
    return [row.shown_name for row in diagnosis.document.sets.all()]


def _tallies(cases: Sequence[ReportCase], before: Sequence[ReportCase], names: Any) -> tuple[Tally, ...]:
    """What has most open cases first: those come first to be worked on."""
    now, then = (Counter(name for case in rows for name in names(case)) for rows in (cases, before))
    still = Counter(name for case in cases if case.is_open for name in names(case))
    rows = [Tally(name=name, now=now[name], before=then[name], open=still[name]) for name in {**now, **then}]
    return tuple(sorted(rows, key=lambda row: (-row.open, -row.now, row.name))[:MOST_ROWS])


def _clusters(cases: Sequence[ReportCase]) -> Iterator[Cluster]:
    """Groups of questions that are linked by their keywords, the largest first."""
    tokenizer = model_registry.tokenizer()
    words = [frozenset(keywords(one.case.message.question, tokenizer)) for one in cases]
    leader = list(range(len(cases)))

    def root(at: int) -> int:
        while leader[at] != at:
            at = leader[at]
        return at

    holding: dict[str, list[int]] = defaultdict(list)
    for at, mine in enumerate(words):
        near = Counter(other for word in mine for other in holding[word])
        for other, shared in near.items():
            if shared / len(mine | words[other]) >= ALIKE:
                leader[root(at)] = root(other)
        for word in mine:
            holding[word].append(at)
    groups: dict[int, list[int]] = defaultdict(list)
    for at in range(len(cases)):
        groups[root(at)].append(at)
    for group in sorted(groups.values(), key=len, reverse=True)[:MOST_ROWS]:
        if len(group) < LEAST_CLUSTER:
            return
        alike = tuple(cases[at] for at in group)
        yield Cluster(
            question=min((one.case.message.question for one in alike), key=len),
            cases=alike,
            cause=Counter(one.cause for one in alike).most_common(1)[0][0],
        )


def _recommendations(scope: Scope, cases: Sequence[ReportCase]) -> list[Recommendation]:
    """Remedies of open cases by what they are expected to bring: cases × confidence × how often they have helped."""
    wanted: dict[str, list[float]] = defaultdict(list)
    for one in cases:
        if one.is_open and one.diagnosis is not None and one.diagnosis.remedy in CARRIED_OUT:
            wanted[one.diagnosis.remedy].append(one.diagnosis.confidence)
    rates = _rates(scope)
    found = []
    for remedy, sure in wanted.items():
        helped, tested = (sum(rates.get(kind, (0, 0))[at] for kind in CARRIED_OUT[remedy]) for at in (0, 1))
        rate = (helped + 1) / (tested + 2)  # Laplace: nothing tested is one half
        found.append(
            Recommendation(
                remedy=remedy, cases=len(sure), rate=round(rate, 3), tested=tested, gain=round(rate * sum(sure), 1)
            )
        )
    return sorted(found, key=lambda row: -row.gain)


def _rates(scope: Scope) -> dict[str, tuple[int, int]]:
    """Kind of remedy -> (answered, tested) in the tenant."""
    rows = RemedyApplication.objects.filter(
        case__message__conversation__tenant_id=scope.tenant_id, is_answered__isnull=False
    )
    counted = rows.order_by().values("kind").annotate(answered=Count("pk", filter=Q(is_answered=True)), n=Count("pk"))
    return {row["kind"]: (row["answered"], row["n"]) for row in counted}
