"""Metadata of an answer: stage times, tokens, cost, steps and trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from chat import metrics
from chat.answering.answer_config import AnswerConfig
from chat.answering.context import AnswerContext
from chat.answering.model_routing import is_cost_limited, is_routed
from chat.answering.preparation import Preparation
from chat.answering.progress import tier_step
from chat.answering.retrieval import SearchOutcome
from chat.answering.stage_ports import AnswerPorts
from chat.answering.streaming import Draft
from chat.types import AnswerMetadata, AnswerRecord, AnswerRequest, to_plain
from knowledge import model_registry
from knowledge.model_setup import setup_now
from ragcore.answerability.unmentioned import unmentioned_words
from ragcore.answering.pipeline import answer_stage_infos
from ragcore.grading.passages import Coverage, compute_coverage
from ragcore.llm.usage import UsageEntry, group_by_purpose, total_cost, total_usage
from ragcore.options import Resolved
from ragcore.prompts import load
from ragcore.types import Candidate, Drop, State, Usage
from ragcore.types.answering import AnswerState

UNSEEN_STAGE = "load.passages"  # drops passages that were deleted or withdrawn since the search
TRACED_DROPS = 160  # chunk ids kept per stage and reason, best first; their number is always given

SILENT_MODELS = "silent_models"  # in the trace of an answer: embedding models of sets that were not there


def add_metadata(
    context: AnswerContext,
    record: AnswerRecord,
    preparation: Preparation,
    ports: AnswerPorts,
    draft: Draft,
    *,
    seconds: float,
    evidence: Coverage | None = None,
) -> AnswerRecord:
    """The record with its metadata and the steps that led to it; counted for Prometheus."""
    entries = _usage_entries(preparation.state, ports, draft)
    metadata = _metadata(context, preparation, ports, draft, entries, seconds)
    observe_metrics(metadata, record, entries)
    reasoning = {
        **build_reasoning(preparation.state, draft, ports.searches, evidence),
        "unmentioned_words": _unmentioned(record, preparation),
        "kg_context": _graph(ports),
        "fact_chain": ports.facts.told(record) if ports.facts is not None else None,
    }
    return replace(record, metadata=metadata, reasoning=reasoning)


def _graph(ports: AnswerPorts) -> dict[str, Any] | None:
    """What the graph told the first search that it knew an entity of."""
    graph = next((outcome.graph for outcome in ports.searches if outcome.graph is not None), None)
    return None if graph is None else dict(graph)


def _unmentioned(record: AnswerRecord, preparation: Preparation) -> list[str]:
    """Words of the question that no cited source has; [] where none is cited, and for the summary of a file."""
    files, state = preparation.files, preparation.state
    question_text = state.standalone
    if files is not None and files.is_alone:
        if files.is_summary:
            return []
        question_text = files.file_question.text
    chunks = {citation.chunk_id for citation in record.cited}
    texts = [f"{source.passage.title}\n{source.text}" for source in state.sources if source.passage.chunk in chunks]
    return unmentioned_words(question_text, texts, model_registry.tokenizer()) if texts else []


def search_evidence(state: AnswerState) -> Coverage | None:
    """How much evidence the last search brought, as loops judge each of theirs; None where nothing was searched."""
    if state.result is None:
        return None
    ranked = state.result.ranked if state.result.relevant else ()
    return compute_coverage(state.query, ranked, model_registry.tokenizer())


def _search_history(searches: Sequence[SearchOutcome]) -> list[dict[str, Any]]:
    """What each search brought, in their order, as a loop tells of its own."""
    return [
        {
            "round": number,
            "query": outcome.retrieved.state.query.text,
            "chunks": [passage.chunk for passage, _candidate in outcome.hits],
            "relevant": outcome.retrieved.relevant,
        }
        for number, outcome in enumerate(searches, start=1)
    ]


def build_reasoning(
    state: AnswerState, draft: Draft, searches: Sequence[SearchOutcome] = (), evidence: Coverage | None = None
) -> dict[str, Any]:
    """What was understood and done on the way, in plain values, under the names of the API.

    `searches`, `evidence`: of an answer whose searches no loop has judged.
    """
    steps = [*state.steps, *([tier_step(draft.choice, draft.tier)] if draft.choice else [])]
    loop = state.stats.get("loop.self_rag") or state.stats.get("loop.agentic") or {}
    return {
        "query_analysis": to_plain(state.analysis) if state.analysis is not None else {},
        "agentic_steps": [to_plain(step) for step in steps],
        "iteration_details": list(loop.get("details", ())),
        "iterations": int(loop.get("iterations", 1)),
        "quality_score": loop.get("quality_score"),
        "evidence": loop.get("evidence") or (evidence.figures() if evidence is not None else None),
        "retrieval_history": list(loop.get("searches", ())) or _search_history(searches),
        "compression_stats": dict(state.stats.get("compress", {})),
        "standalone": dict(state.stats.get("understand.standalone", {})),
        "stages": [to_plain(record) for record in state.records],
    }


def unused_options(request: AnswerRequest, config: AnswerConfig) -> list[str]:
    """Options that the client sent and that had no effect on this answer.

    Where no model is chosen by tier, or all are of one kind, none is preferred; without a limit of cost no tokens are
    estimated.
    """
    kinds = {tier.is_local for tier in model_registry.tiers()} if is_routed(config) else set()
    has_estimate = request.constraints.estimated_tokens is not None
    unused = {
        "system_prompt": bool(request.system_prompt) and not config.system_prompt,
        # Self-RAG has iterations of its own
        "use_agentic_rag": request.use_agentic_rag is not None and config.options.strategy == "self_rag",
        "rerank": "rerank" in request.given and request.rerank and setup_now().reranker.client == "none",
        "prefer_api_models": "prefer_api_models" in request.given and request.prefer_api_models and len(kinds) < 2,
        "constraints.estimated_tokens": has_estimate and not (is_cost_limited(config) and is_routed(config)),
    }
    return sorted(name for name, is_unused in unused.items() if is_unused)


def _unused(context: AnswerContext, ports: AnswerPorts) -> tuple[str, ...]:
    """The same with what only the searches know: whether the graph had anything to add."""
    request = context.request
    names = unused_options(request, context.config)
    if "enable_kg_enhancement" in request.given and request.enable_kg_enhancement and _graph(ports) is None:
        names.append("enable_kg_enhancement")
    return tuple(sorted(names))


def observe_metrics(metadata: AnswerMetadata, record: AnswerRecord, entries: Sequence[UsageEntry]) -> None:
    """Add an answer to the figures for Prometheus; tokens count for the model that used them."""
    times = {
        "total": metadata.total_time,
        "rewrite": metadata.rewrite_time,
        "retrieve": metadata.retrieve_time,
        "rerank": metadata.rerank_time,
        "generate": metadata.generate_time,
    }
    for stage, seconds in times.items():
        if seconds is not None:
            metrics.STAGE_SECONDS.labels(stage).observe(seconds)
    for entry in entries:
        metrics.TOKENS.labels("prompt", entry.model).inc(entry.usage.prompt_tokens)
        metrics.TOKENS.labels("completion", entry.model).inc(entry.usage.completion_tokens)
        if entry.cost is not None:
            metrics.COST.labels(entry.model).inc(float(entry.cost))
    metrics.CHUNKS.observe(metadata.chunks_found)
    for citation in record.cited:
        metrics.CITATIONS.labels("weak" if citation.weak else "strong").inc()


def _usage_entries(state: AnswerState, ports: AnswerPorts, draft: Draft) -> list[UsageEntry]:
    """What all requests to models used, each once, also those for texts that were not shown."""
    final = [] if state.answer_text is not None else draft.spent  # a loop's texts are counted with the loop
    return [entry for entry in (*ports.usage_entries, *final) if entry.usage.total_tokens]


def _metadata(
    context: AnswerContext,
    preparation: Preparation,
    ports: AnswerPorts,
    draft: Draft,
    entries: Sequence[UsageEntry],
    seconds: float,
) -> AnswerMetadata:
    state, searches = preparation.state, ports.searches
    return AnswerMetadata(
        total_time=round(seconds, 4),
        rewrite_time=_seconds(state, "rewrite"),
        retrieve_time=round(sum(outcome.seconds for outcome in searches), 4) if searches else None,
        rerank_time=_sum_known([outcome.rerank_seconds for outcome in searches]),
        generate_time=round(draft.seconds, 4) if draft.model else None,
        first_token_time=draft.first_words_seconds,
        thinking_time=_thinking_seconds(ports, draft),
        stage_times={record.stage: round(record.seconds, 4) for record in state.records},
        chunks_found=len(state.sources),
        model=draft.model,
        usage=usage_counts(total_usage(entries)),
        cost=_money(total_cost(entries)),
        usage_by_purpose={
            purpose: {**usage_counts(total_usage(part)), "cost": _money(total_cost(part))}
            for purpose, part in group_by_purpose(entries).items()
        },
        choice=(*state.stats.get("plan.adaptive", {}).get("reasons", ()), *draft.choice),
        tier=draft.tier or None,
        strategy=preparation.strategy,
        mode_used=preparation.mode,
        understood=state.standalone if state.standalone not in ("", state.question.text) else None,
        rewritten_queries=tuple(ports.other_forms(state.standalone)),
        options_sha256=context.config.sha256(),
        error_message=draft.degraded,
        stopped=draft.stopped,
        is_cut=draft.is_cut,
        unused_options=_unused(context, ports),
        skipped_stages={record.stage: record.error for record in state.records if record.error},
        warnings=tuple(searches[0].retrieved.warnings) if searches else (),
        notes=tuple(draft.warnings),
    )


def _seconds(state: AnswerState, timing: str) -> float | None:
    """Seconds of the stages that declare this timing; None where none ran."""
    infos = answer_stage_infos()
    spent = [record.seconds for record in state.records if infos[record.stage].timing == timing]
    return round(sum(spent), 4) if spent else None


def _thinking_seconds(ports: AnswerPorts, draft: Draft) -> float | None:
    """Of the models that wrote this answer, also for texts that were not shown; None where none thought."""
    seconds = ports.thinking_seconds + (draft.thinking_seconds or 0.0)
    return round(seconds, 4) if seconds else None


def _sum_known(values: list[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return round(sum(numbers), 4) if numbers else None


def usage_counts(usage: Usage) -> dict[str, int]:
    """Tokens as answers tell them."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "total_tokens": usage.total_tokens,
    }


def _money(cost: Decimal | None) -> float | None:
    return None if cost is None else float(cost)


# ── the trace of a search ───────────────────────────────────────────────────────────────────────


def build_trace(outcome: SearchOutcome, *, complete: bool = False) -> dict[str, Any]:
    """What happened in the search, in plain values; passages by id, so that rights are checked when they are shown.

    `complete`: with the scores of what was dropped after the fusion, which are too many to be stored with every answer.
    """
    state = outcome.retrieved.state
    return {
        "stages": [_plain(to_plain(record)) for record in state.records],
        "candidates": [_candidate(candidate) for candidate in state.candidates],
        "dropped": [_dropped(drop, state, complete=complete) for drop in state.drops],
        "timings_ms": dict(outcome.retrieved.timings_ms),
        "searched": outcome.retrieved.searched,
        "epoch": outcome.retrieved.epoch,
        **_options(outcome.retrieved.options, "options", "origins"),
    }


def asked_with(context: AnswerContext) -> dict[str, Any]:
    """What an answer was made with, for a replay: options with their layers, fingerprints of prompts, models."""
    config = context.config
    names = ("answer_system", "answer_user", f"style_{config.options.style}")
    model = model_registry.chat_model()
    return {
        "question": context.question.text,
        **_options(Resolved(config.options, config.origin), "answer_options", "answer_origins"),
        "prompts": {name: load(name).sha256 for name in names},
        "model": model.name if model else "",
        "embedder": setup_now().embedder.client,
        "reranker": setup_now().reranker.client,
    }


def _options(resolved: Resolved[Any] | None, values: str, origins: str) -> dict[str, Any]:
    """All values, and the layers of those that are not the default."""
    if resolved is None:
        return {}
    from_layers = {name: layer for name, layer in resolved.origin.items() if layer != "default"}
    return {values: _plain(to_plain(resolved.value)), origins: from_layers}


def _candidate(candidate: Candidate) -> dict[str, Any]:
    """A candidate with every score and rank, and what stages noted of it."""
    detail = _plain(candidate.detail)
    return {
        "chunk_id": candidate.chunk,
        "document_id": candidate.document,
        "score": candidate.last_score,
        "scores": dict(candidate.scores),
        "ranks": dict(candidate.ranks),
        "representation": candidate.representation,
        "via": detail.pop("via", {}),  # arm -> the entry by which it found the passage, where it was not its body
        "boost": detail.pop("boost", None),  # factor, score before it, and why
        "detail": detail,
    }


def _dropped(drop: Drop, state: State, *, complete: bool) -> dict[str, Any]:
    """What left at one stage. What the user may not see any more is only counted."""
    chunks = () if drop.stage == UNSEEN_STAGE else drop.chunks[:TRACED_DROPS]
    why = {"reason": drop.reason, "code": drop.code, "data": dict(drop.data)}
    entry = {"stage": drop.stage, **why, "count": len(drop.chunks), "chunk_ids": list(chunks)}
    if not complete:
        return entry
    return {**entry, "candidates": [_candidate(state.fallen[chunk]) for chunk in chunks if chunk in state.fallen]}


def _plain(value: Any) -> Any:
    """Only what JSON knows; stages may note anything."""
    if value is None or isinstance(value, (str, float, int)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(inner) for inner in value]
    return value.item() if hasattr(value, "item") else str(value)
