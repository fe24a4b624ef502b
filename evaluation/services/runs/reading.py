"""What of a run somebody may see: figures all, cases and passages as far as they may open the documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from accounts.scope import Scope
from evaluation.models import CaseOutcome, EvaluationRun
from evaluation.selectors import chunks_titled, names_hidden
from evaluation.services.golden_files import GoldenRow
from evaluation.services.runs.asking import run_cases
from evaluation.services.runs.figures import is_share
from evaluation.services.runs.lifecycle import run_job
from evaluation.services.runs.measuring import OUTDATED
from ragcore.metrics.registry import metric_info
from work.words import error_words

EXCERPT = 160
Known = Mapping[int, tuple[int, str, str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is. `seconds_left`: at the mean time of the cases so far; None: not known yet."""

    done: int
    total: int
    failed: int
    outdated: int  # cases that count in no figure because a document that they name is gone
    seconds_left: float | None


def run_progress(run: EvaluationRun) -> Progress:
    """Counted from the outcomes that are stored."""
    rows = CaseOutcome.objects.filter(configuration__run=run)
    seconds = list(rows.order_by().values_list("seconds", flat=True))
    done, left = len(seconds), max(run.total - len(seconds), 0)
    is_going = run.state == EvaluationRun.State.RUNNING and done
    return Progress(
        done=done,
        total=run.total,
        failed=rows.exclude(error__in=("", OUTDATED)).count(),
        outdated=rows.filter(error=OUTDATED).order_by().values("case").distinct().count(),
        seconds_left=sum(seconds) / done * left if is_going else None,
    )


def run_error(run: EvaluationRun) -> str:
    """What went wrong last with a run that is not done, in words; "" where nothing did."""
    job = run_job(run=run) if run.state != EvaluationRun.State.DONE else None
    return error_words(job) if job is not None else ""


def cases_hidden(*, scope: Scope, rows: Mapping[int, GoldenRow]) -> set[int]:
    """Cases that name a document which the person may not open: of them is told that they are there, not what."""
    names = set(chain.from_iterable(row.relevant for row in rows.values()))
    hidden = names_hidden(scope=scope, names=names)
    return {case for case, row in rows.items() if hidden.intersection(row.relevant)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedShown:
    """A place of a ranking. Title and excerpt are empty where the person may not read the document, the excerpt also
    where its original is withheld.
    """

    place: int
    chunk: int
    document: int | None
    title: str
    excerpt: str
    is_relevant: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceShown:
    """A numbered source of an answer."""

    number: int
    title: str
    document: int | None
    is_cited: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceShown:
    """One configuration's way to a case, as far as the person may see it."""

    scores: Mapping[str, float]
    error: str
    is_skipped: bool
    is_outdated: bool  # skipped because a document that it names is gone
    seconds: float
    answer: str
    is_withheld: bool  # the answer rests on a passage that the person may not open
    status: str
    detail: Mapping[str, Any]  # mode, model, strategy, understood
    rankings: Mapping[str, tuple[RankedShown, ...]]  # stage -> its first places
    sources: tuple[SourceShown, ...]
    sentences: tuple[tuple[str, str], ...]  # text, support
    claims: tuple[tuple[str, int | None], ...]  # of the answer; number of the source that states it, None: no source
    rewrites: tuple[str, ...]  # a model writes them between two searches: () where anything found may not be read
    stages: Mapping[str, float]  # milliseconds
    context: str


def trace_shown(*, scope: Scope, outcome: CaseOutcome, row: GoldenRow) -> TraceShown:
    """A stored trace with the passages that the person may open; texts made from others are withheld."""
    trace: Mapping[str, Any] = outcome.trace
    ranks: Mapping[str, list[int]] = trace.get("ranks", {})
    sources: list[list[Any]] = trace.get("sources", [])
    chunks = {*chain.from_iterable(ranks.values()), *(chunk for _number, chunk, _cited in sources)}
    passages = chunks_titled(scope=scope, chunks=chunks)
    used = [chunk for _number, chunk, _cited in sources] or ranks.get("final", [])
    withheld = any(chunk not in passages for chunk in used)
    is_open = not withheld and all(passages[chunk][3] for chunk in used)  # nor is an original withheld
    details = ("mode", "strategy", "model", "judge", *(() if withheld else ("understood",)))
    return TraceShown(
        scores=outcome.scores,
        error="" if outcome.error == OUTDATED else outcome.error,
        is_skipped="skipped" in trace,
        is_outdated=outcome.error == OUTDATED,
        seconds=outcome.seconds,
        answer="" if withheld else trace.get("answer", "") or trace.get("checked", ""),
        is_withheld=withheld,
        status=trace.get("status", ""),
        detail={name: trace[name] for name in details if trace.get(name)},
        rankings={stage: tuple(_places(order, passages, row)) for stage, order in ranks.items()},
        sources=tuple(_source(number, chunk, cited, passages) for number, chunk, cited in sources),
        sentences=() if withheld else tuple((text, support) for text, support in trace.get("sentences", [])),
        claims=() if withheld else tuple((text, number) for text, number in trace.get("claims", [])),
        rewrites=tuple(trace.get("rewrites", [])) if chunks <= passages.keys() else (),
        stages=trace.get("stages", {}),
        context=trace.get("context", "") if is_open else "",
    )


def _places(order: Iterable[int], passages: Known, row: GoldenRow) -> Iterable[RankedShown]:
    for place, chunk in enumerate(order, 1):
        document, external_id, title, text = passages.get(chunk, (None, "", "", ""))
        names = {external_id, f"#{document}"} - {""}
        yield RankedShown(
            place=place,
            chunk=chunk,
            document=document,
            title=title,
            excerpt=" ".join(text.split())[:EXCERPT],
            is_relevant=bool(names.intersection(row.relevant)),
        )


def _source(number: int, chunk: int, is_cited: bool, passages: Known) -> SourceShown:
    document, _external_id, title, _text = passages.get(chunk, (None, "", "", ""))
    return SourceShown(number=number, title=title, document=document, is_cited=is_cited)


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureShown:
    """One figure as a table has it."""

    metric: str
    label: str  # an English message id
    help: str
    unit: str  # share, seconds, money, count or ms
    value: float
    low: float | None
    high: float | None
    sd: float
    cases: int
    is_primary: bool
    levels: Mapping[str, int]  # level -> cases, best first; empty where the metric has none


def figure_shown(metric: str, figure: Mapping[str, Any]) -> FigureShown:
    """A stored figure with what its metric declares."""
    info, counts = metric_info(metric), figure.get("levels", {})
    label, unit = (info.label, info.unit) if info else (metric, "ms" if metric.endswith("_ms") else "share")
    return FigureShown(
        metric=metric,
        label=label,
        help=info.help if info else "",
        unit="share" if is_share(metric) else unit,
        value=float(figure["value"]),
        low=figure.get("low"),
        high=figure.get("high"),
        sd=float(figure.get("sd", 0.0)),
        cases=int(figure["cases"]),
        is_primary=info is not None and info.is_primary,
        levels={name: int(counts.get(name, 0)) for name in info.levels.values()} if info and counts else {},
    )


def rows_of_run(run: EvaluationRun) -> dict[int, GoldenRow]:
    """The cases of a run by id."""
    return dict(run_cases(run))
