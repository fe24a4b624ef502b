"""One case under one configuration: asked, measured, and kept as a trace of ids."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from evaluation.errors import NothingForComponentError
from evaluation.models import RunConfiguration
from evaluation.selectors import chunks_named, names_gone
from evaluation.services.golden_files import CHOICES, GoldenRow
from evaluation.services.judge_client import of_runs, rest_if_silent, run_judge
from evaluation.services.lab.rows import STAGES
from evaluation.services.runs.components import AskedCase, Observed, observe
from knowledge import model_registry
from ragcore.errors import RagError
from ragcore.graph.retrieval import ScoredTriple
from ragcore.llm.client import LlmClient
from ragcore.metrics.judged import checked_claims
from ragcore.metrics.registry import (
    MeasuredCase,
    MeasuredSource,
    MetricTools,
    RankedText,
    measure,
    metric_info,
)
from ragcore.text.question_type import question_type
from ragcore.text.scripts import language_of
from ragcore.types import Candidate, State

logger = logging.getLogger(__name__)

DEEPEST = 30  # passages of a ranking that are looked at: ten documents may stand in as many
KEPT = 10  # passages of a ranking in a trace
REFUSALS = ("refused", "search_results")
INTERNAL = "internal"
OUTDATED = "document_gone"  # a case that names a document which is gone counts in no figure


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """What is stored of a case. `scores`: metric -> value."""

    scores: Mapping[str, float]
    seconds: float
    trace: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


def case_run(case: AskedCase, *, component: str) -> CaseResult:
    """Never raises for the case: what fails is recorded with its code, and counts as 0 where it could be measured."""
    start = perf_counter()
    if names_gone(tenant_id=case.user.tenant_id, names=case.row.relevant):
        return CaseResult(scores={}, seconds=0.0, trace={"skipped": OUTDATED}, error=OUTDATED)
    try:
        return _result(case, observe(case, component))
    except NothingForComponentError as error:
        return CaseResult(scores={}, seconds=0.0, trace={"skipped": error.code})
    except RagError as error:
        return _failed(case.row, component, error.code, perf_counter() - start)
    except Exception:
        logger.exception("a case of an evaluation run failed")
        return _failed(case.row, component, INTERNAL, perf_counter() - start)


def _result(case: AskedCase, observed: Observed) -> CaseResult:
    """What was observed, measured."""
    ranks = stage_ranks(observed.state) if observed.state is not None else {}
    names = _Names(case, {chunk for order in ranks.values() for chunk in order})
    measured = _measured(case.row, observed, ranks, names)
    tools = _tools(run_judge())
    scores = {name: round(value, 6) for name, value in measure(measured, tools).items()}
    trace = _trace(observed, ranks) | _judged_by(tools.llm) | _claims(measured, tools)
    return CaseResult(scores=scores, seconds=observed.seconds, trace=trace)


def case_dimensions(row: GoldenRow, *, sets: str = "") -> dict[str, str]:
    """By what figures are told apart. `sets`: the names of the knowledge sets of its documents."""
    return {
        **({"set": sets} if sets else {}),
        **{name: value for name in CHOICES if (value := str(getattr(row, name)))},
        "type": question_type(row.question),
        "language": language_of(row.question),
    }


def _tools(llm: LlmClient | None = None) -> MetricTools:
    return MetricTools(tokenizer=model_registry.tokenizer(), embedder=model_registry.embedder(), llm=llm)


def _judged_by(llm: LlmClient | None) -> dict[str, Any]:
    """What the trace says of the judge; nothing where rules judged alone and nobody was to be asked."""
    if llm is not None and llm.counts["unfit"]:
        return {"judge": {"model": llm.model.name, "tokens": 0, "failed": 0, "unfit": True}}
    if llm is None or not llm.counts["asked"]:
        return {}
    failed = sum(llm.counts[name] for name in ("unavailable", "late", "interrupted", "invalid"))
    rest_if_silent(llm, of_runs)
    return {"judge": {"model": llm.model.name, "tokens": llm.usage.total_tokens, "failed": failed}}


def _claims(measured: MeasuredCase, tools: MetricTools) -> dict[str, Any]:
    """Claims of the answer with the number of the source that states each, None: no source; nothing without a judge."""
    numbers = [source.number for source in measured.sources]
    claims = checked_claims(measured, tools)
    stated = [[claim.text, None if claim.source is None else numbers[claim.source - 1]] for claim in claims]
    return {"claims": stated} if stated else {}


def expected(row: GoldenRow) -> dict[str, Any]:
    """What a case expects, as a metric is given it."""
    grades = row.values()["grades"]
    return {
        "question": row.question,
        "language": language_of(row.question),
        "relevant": {name: float(grades.get(name, 1)) for name in row.relevant},
        "quotations": {text: float(grades.get(text, 1)) for text in row.passages},
        "golds": row.answers,
        "key_points": row.key_points,
        "expects_refusal": row.refusal,
    }


def nothing_of(component: str) -> dict[str, Any]:
    """What a component gives where it gives nothing: only that is measured, and counts as 0."""
    kinds = RunConfiguration.Component
    if component == kinds.TRIPLES:
        return {"triples": (), "triples_first": ()}
    if component == kinds.SUPPORT:
        return {"support": ("unsupported",)}
    if component == kinds.COMPRESSION:
        return {"ranking": (), "context": ""}
    if component in (kinds.RETRIEVAL, kinds.RERANK, kinds.REWRITING):
        return {"ranking": ()}
    return {"ranking": (), "answer": ""}


def _failed(row: GoldenRow, component: str, code: str, seconds: float) -> CaseResult:
    """Every share that the case could have had is 0: a configuration must not gain by failing."""
    empty = MeasuredCase(**expected(row), **nothing_of(component), seconds=seconds)
    scores = {name: 0.0 for name in measure(empty, _tools()) if _is_good_share(name)}
    return CaseResult(scores={**scores, "seconds": round(seconds, 6)}, seconds=seconds, error=code)


def _is_good_share(name: str) -> bool:
    info = metric_info(name)
    return info is not None and info.unit == "share" and info.is_higher_better


# ── rankings ────────────────────────────────────────────────────────────────────────────────────


def stage_ranks(state: State) -> dict[str, list[int]]:
    """Stage -> its best passages in order: lexical, dense, fused, rerank, and `final` for what is returned."""
    ranks = {
        name: list(arm)[:DEEPEST] for name, arm in state.arms.items() if name in ("lexical", "coarse", "dense") and arm
    }
    every = {**state.fallen, **{candidate.chunk: candidate for candidate in state.candidates}}.values()
    for stage, name in STAGES.items():
        scored = sorted((c for c in every if stage in c.ranks), key=lambda c: c.ranks[stage])
        if scored:
            ranks[name] = [candidate.chunk for candidate in scored[:DEEPEST]]
    ranks["final"] = [candidate.chunk for candidate in state.candidates]
    return ranks


class _Names:
    """Passages of rankings with their texts and the names of their documents, as the case names them."""

    def __init__(self, case: AskedCase, chunks: Iterable[int]) -> None:
        self.wanted = set(case.row.relevant)
        self.known = chunks_named(scope=case.scope, chunks=chunks)

    def ranked(self, chunks: Sequence[int], texts: Mapping[int, str]) -> list[RankedText]:
        texts_ranked = []
        for chunk in chunks:
            if chunk in self.known:
                document, external_id, text = self.known[chunk]
                name = document_name(external_id, document, self.wanted)
                texts_ranked.append(RankedText(document=name, text=texts.get(chunk, text)))
        return texts_ranked


def ranked_documents(candidates: Sequence[Candidate], *, named: Iterable[str]) -> list[str]:
    """Documents of a ranking of passages, best first, each once, named as the case names them."""
    wanted = set(named)
    external = (c.passage.external_id if c.passage else "" for c in candidates)
    names = (document_name(given, c.document, wanted) for given, c in zip(external, candidates, strict=True))
    return list(dict.fromkeys(names))


def document_name(external_id: str, document_id: int, names: set[str]) -> str:
    """`#<document id>` where the case uses it or there is no external id."""
    by_id = f"#{document_id}"
    return by_id if by_id in names or not external_id else external_id


def _measured(row: GoldenRow, observed: Observed, ranks: Mapping[str, Sequence[int]], names: _Names) -> MeasuredCase:
    state, record = observed.state, observed.record
    texts = {c.chunk: c.passage.text for c in state.candidates if c.passage is not None} if state else {}
    sources = [
        MeasuredSource(
            number=citation.number,
            document=document_name(citation.external_id, citation.document_id, names.wanted),
            text=texts.get(citation.chunk_id, citation.content),
            is_cited=citation.cited,
        )
        for citation in (record.citations if record else ())
    ] or [
        MeasuredSource(
            number=number,
            document=document_name(passage.passage.external_id, passage.passage.document, names.wanted),
            text=passage.passage.text,
            is_cited=False,
        )
        for number, passage in enumerate(observed.sources, 1)
    ]
    earlier = {stage: names.ranked(order, texts) for stage, order in ranks.items() if stage != "final"}
    return MeasuredCase(
        **expected(row),
        ranking=names.ranked(ranks["final"], texts) if "final" in ranks else None,
        by_stage=earlier,
        triples=_texts(observed.triples),
        triples_first=_texts(observed.triples_first),
        answer=record.text if record else None,
        is_refused=record is not None and record.status in REFUSALS,
        sources=sources,
        support=[sentence.support for sentence in observed.support],
        rewrites=observed.rewrites,
        context=observed.context,
        seconds=observed.seconds,
        cost=record.metadata.cost if record else None,
        stage_seconds=observed.stage_seconds,
    )


def _texts(triples: Sequence[ScoredTriple] | None) -> list[str] | None:
    return None if triples is None else [triple.triple.text for triple in triples]


# ── the trace ───────────────────────────────────────────────────────────────────────────────────


def _trace(observed: Observed, ranks: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """Passages by id, so that rights are checked when they are shown; of texts only those that the product wrote."""
    record = observed.record
    trace: dict[str, Any] = {
        "ranks": {stage: list(order[:KEPT]) for stage, order in ranks.items()},
        "stages": {stage: round(seconds * 1000, 1) for stage, seconds in observed.stage_seconds.items()},
        "rewrites": list(observed.rewrites),
        "sentences": [[sentence.text, sentence.support] for sentence in observed.support],
    }
    if observed.context is not None:
        trace["context"] = observed.context
    if observed.checked:
        trace["checked"] = observed.checked
    if observed.triples is not None and observed.triples_first is not None:
        trace["triples"] = [triple.id for triple in observed.triples[:KEPT]]
        trace["triples_first"] = [triple.id for triple in observed.triples_first[:KEPT]]
    if record is None:
        return trace | {"sources": [[n, triple.passage.chunk, False] for n, triple in enumerate(observed.sources, 1)]}
    return trace | {
        "answer": record.text,
        "status": record.status,
        "confidence": record.confidence,
        "model": record.metadata.model,
        "mode": record.metadata.mode_used,
        "strategy": record.metadata.strategy,
        "understood": record.metadata.understood,
        "sources": [[citation.number, citation.chunk_id, citation.cited] for citation in record.citations],
    }
