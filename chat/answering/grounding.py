"""From a draft to a checked answer: citations, support, confidence, HTML."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from chat.answering.answer_config import Manner, refusal_sentences
from chat.answering.retrieval import Found, final_score
from chat.executors import run_cpu
from chat.rendering import render_markdown
from chat.types import AnswerRecord, AnswerRequest, CitationRecord
from knowledge import engines
from ragcore.grounding.citations import extract
from ragcore.grounding.confidence import answer_confidence
from ragcore.grounding.judging import judged_support
from ragcore.grounding.similarity import SourceSimilarity
from ragcore.grounding.support import support_states
from ragcore.llm.client import LlmClient
from ragcore.options import AnswerOptions
from ragcore.prompts.refusals import is_refusal
from ragcore.types import Candidate, Citation, Drop, Sentence, Source, State

logger = logging.getLogger(__name__)

EXCERPT_CHARACTERS = 200  # V7
UNCHECKED = "unchecked"  # code of a note: citations and support could not be found out
UNSEEN_STAGE = "load.passages"  # drops passages that were deleted or withdrawn since the search
TRACED_DROPS = 160  # chunk ids kept per stage and reason, best first; their number is always told


def grounded(
    text: str, sources: Sequence[Source], *, found: Found, options: AnswerOptions, status: str
) -> AnswerRecord:
    """The record of an answer, apart from its metadata. Computes; does not touch the database.

    An answer that only refuses has the status "refused" and no citations.
    """
    similarity = SourceSimilarity(sources, engines.tokenizer(), engines.embedder())
    if is_refusal(text):
        return _record(text, "refused", [], [], [], found)
    extracted = extract(
        text, sources, tokenizer=engines.tokenizer(), similarity=similarity, threshold=options.citation_threshold
    )
    sentences = support_states(
        extracted.text,
        sources,
        tokenizer=engines.tokenizer(),
        similarity=similarity,
        refusals=refusal_sentences(),
        threshold=options.support_threshold,
    )
    return _record(extracted.text, status, extracted.citations, sentences, sources, found)


def uncited(text: str, sources: Sequence[Source], *, found: Found, status: str) -> AnswerRecord:
    """The record of an answer that could not be checked: its text, and the sources, none of which counts as cited."""
    return _record(text, status, [], [], sources, found)


async def checked(
    check: Callable[[], AnswerRecord],
    text: str,
    sources: Sequence[Source],
    *,
    found: Found,
    status: str,
    asker: LlmClient | None = None,
) -> tuple[AnswerRecord, tuple[str, ...]]:
    """What `check` finds, and codes of what failed: an answer that is written stays, then without citations (V7).

    `asker`: of a model that has a word on what the rules leave open; None: rules alone.
    """
    try:
        record = await run_cpu(check)
        return (await support_judged(record, sources, asker) if asker is not None else record), ()
    except Exception:
        logger.exception("an answer could not be checked against its sources")
        return await run_cpu(uncited, text, sources, found=found, status=status), (UNCHECKED,)


async def support_judged(record: AnswerRecord, sources: Sequence[Source], asker: LlmClient) -> AnswerRecord:
    """The record with a model's word on the sentences that the rules left open."""
    sentences = [Sentence(**{**one, "citations": tuple(one["citations"])}) for one in record.sentences]
    judged = [asdict(sentence) for sentence in await judged_support(sentences, sources, asker)]
    if judged == [dict(one) for one in record.sentences]:
        return record
    html = render_markdown(record.text, citations={citation.number for citation in record.cited}, sentences=judged)
    return replace(record, sentences=tuple(judged), html=html)


def listed(text: str, sources: Sequence[Source], *, found: Found, options: AnswerOptions) -> AnswerRecord:
    """The record of a page of search results: it claims nothing, so no sentence is judged."""
    extracted = extract(text, sources, tokenizer=engines.tokenizer(), threshold=options.citation_threshold)
    return _record(extracted.text, "search_results", extracted.citations, [], sources, found)


def _record(
    text: str,
    status: str,
    citations: Sequence[Citation],
    sentences: Sequence[Sentence],
    sources: Sequence[Source],
    found: Found,
) -> AnswerRecord:
    judged = [asdict(sentence) for sentence in sentences]
    cited = {citation.number for citation in citations}
    opened = {source.number for source in sources} if status == "search_results" else cited
    confidence = answer_confidence(citations, sentences) if status != "search_results" else 0.0
    return AnswerRecord(
        text=text,
        html=render_markdown(text, citations=opened, sentences=judged),
        status=status,
        confidence=round(confidence, 4),
        citations=(
            *(_cited(citation) for citation in citations),
            *(_uncited(source) for source in sources if source.number not in cited),
        ),
        sentences=tuple(judged),
        retrieval_stats=_stats(found.retrieved.state, sources),
        trace=trace_of(found),
    )


def _cited(citation: Citation) -> CitationRecord:
    return _citation(
        citation.source,
        confidence=round(citation.confidence, 4),
        position=citation.position,
        segment=citation.segment,
        weak=citation.weak,
    )


def _uncited(source: Source) -> CitationRecord:
    return _citation(source, confidence=0.0, position=0, segment="", weak=True, cited=False)


def _citation(source: Source, **values: Any) -> CitationRecord:
    passage = source.passage
    return CitationRecord(
        number=source.number,
        chunk_id=passage.chunk,
        document_id=passage.document,
        version_id=passage.version,
        version=0,  # its number is read when the record is bound to the stored chunks
        external_id=passage.external_id,
        title=passage.title,
        page=passage.page,
        content=passage.text[passage.start : passage.start + EXCERPT_CHARACTERS],
        score=round(source.score, 4),
        **values,
    )


def _stats(state: State, sources: Sequence[Source]) -> dict[str, int]:
    return {
        "total_retrieved": max((record.after for record in state.records), default=0),
        "after_dedup": len(state.candidates),
        "final_count": len(sources),
    }


def trace_of(found: Found, *, complete: bool = False) -> dict[str, Any]:
    """What happened in the search, in plain values; passages by id, so that rights are checked when they are shown.

    `complete`: with the scores of what was dropped after the fusion, which are too many to be stored with every answer.
    """
    state = found.retrieved.state
    return {
        "stages": [_plain(asdict(record)) for record in state.records],
        "candidates": [_traced(candidate) for candidate in state.candidates],
        "dropped": [_dropped(drop, state, complete=complete) for drop in state.drops],
        "timings_ms": dict(found.retrieved.timings_ms),
        "searched": found.retrieved.searched,
    }


def _traced(candidate: Candidate) -> dict[str, Any]:
    """A candidate with every score and rank, and what stages noted of it."""
    detail = _plain(candidate.detail)
    return {
        "chunk_id": candidate.chunk,
        "document_id": candidate.document,
        "score": final_score(candidate),
        "scores": dict(candidate.scores),
        "ranks": dict(candidate.ranks),
        "representation": candidate.representation,
        "via": detail.pop("via", {}),  # arm -> the entry by which it found the passage, where it was not its body
        "boost": detail.pop("boost", None),  # factor, score before it, and why
        "detail": detail,
    }


def _dropped(drop: Drop, state: State, *, complete: bool) -> dict[str, Any]:
    """What left at one stage. What the asker may not see any more is only counted."""
    chunks = () if drop.stage == UNSEEN_STAGE else drop.chunks[:TRACED_DROPS]
    shown = {"stage": drop.stage, "reason": drop.reason, "count": len(drop.chunks), "chunk_ids": list(chunks)}
    if not complete:
        return shown
    return {**shown, "candidates": [_traced(state.fallen[chunk]) for chunk in chunks if chunk in state.fallen]}


def _plain(value: Any) -> Any:
    """Only what JSON knows; stages may note anything."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(inner) for inner in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return value.item() if hasattr(value, "item") else str(value)


def unused_options(request: AnswerRequest, manner: Manner) -> list[str]:
    """Options that the client sent and that had no effect on this answer, so that nobody believes they had."""
    idle = {
        "system_prompt": bool(request.system_prompt) and not manner.system_prompt,
        # Self-RAG has rounds of its own
        "use_agentic_rag": request.use_agentic_rag is not None and manner.options.strategy == "self_rag",
        "enable_kg_enhancement": "enable_kg_enhancement" in request.given and request.enable_kg_enhancement,
    }
    return sorted(name for name, asked in idle.items() if asked)


def conversed(text: str) -> AnswerRecord:
    """The record of a reply that rests on no document; it is marked as such (V10)."""
    return AnswerRecord(text=text, html=render_markdown(text, citations=()), status="conversation", confidence=0.0)
