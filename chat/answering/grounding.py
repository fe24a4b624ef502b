"""From a draft to a checked answer: citations, support, confidence, and the HTML of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chat.answering.fallback import refusal_sentences
from chat.answering.metadata import build_trace
from chat.answering.retrieval import SearchOutcome
from chat.concurrency.executors import run_cpu
from chat.rendering import render_markdown
from chat.types import AnswerRecord, CitationRecord, to_plain
from knowledge import model_registry
from ragcore.answerability import RelevanceJudge
from ragcore.embedding.vectors import CachingEmbedder
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.grounding.citations import answer_confidence, extract_citations
from ragcore.grounding.source_texts import SourceSimilarity
from ragcore.grounding.support import SUPPORTED_FROM, judge_undecided, support_states
from ragcore.llm.client import LlmClient
from ragcore.options import AnswerOptions
from ragcore.prompts.refusals import is_refusal
from ragcore.types import Citation, Sentence, Source, State
from ragcore.types.answering import AnswerState

logger = logging.getLogger(__name__)

EXCERPT_CHARACTERS = 200
STRICTER = 0.6  # support from which nothing is left to a language model, where one judges what is doubtful
UNCHECKED = "unchecked"  # code of a note: citations and support could not be found out


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedText:
    """A text with what was found out about it."""

    text: str
    status: str
    citations: Sequence[Citation] = ()
    sentences: Sequence[Sentence] = ()
    sources: Sequence[Source] = ()  # those that are not cited are listed, too
    confidence: float = 0.0  # by rules
    relevance: Mapping[int, float] = field(default_factory=dict)  # number of a source -> that it answers the question


async def ground(
    check: Callable[[], CheckedText], *, unchecked: CheckedText, outcome: SearchOutcome, llm: LlmClient | None = None
) -> tuple[AnswerRecord, tuple[str, ...]]:
    """The record of what `check` finds, and codes of what failed: then `unchecked` is the answer.

    `llm`: a model that decides about sentences that the rules leave open; None: rules alone.
    """
    try:
        if llm is None:
            return await run_cpu(_checked_record, check, outcome), ()
        checked = await run_cpu(check)
        sentences = await judge_undecided(checked.sentences, checked.sources, llm)
        return await run_cpu(build_record, replace(checked, sentences=sentences), outcome), ()
    except Exception:
        logger.exception("an answer could not be checked against its sources")
        return await run_cpu(build_record, unchecked, outcome), (UNCHECKED,)


def _checked_record(check: Callable[[], CheckedText], outcome: SearchOutcome) -> AnswerRecord:
    return build_record(check(), outcome)


def relevance_judge(question: str, outcome: SearchOutcome) -> RelevanceJudge:
    """Judges what answers the question, with the weights that the search gave its terms."""
    weights = outcome.retrieved.state.query.weights
    embedder = CachingEmbedder(model_registry.embedder())
    return RelevanceJudge(question=question, tokenizer=model_registry.tokenizer(), idf=weights, embedder=embedder)


def check_answer(
    text: str,
    sources: Sequence[Source],
    *,
    options: AnswerOptions,
    status: str,
    judge: RelevanceJudge | None = None,
    is_quoted: bool = False,
) -> CheckedText:
    """Citations and support of an answer. Computes; does not touch the database.

    A text that only refuses has the status "refused" and no citations. `judge`: says which cited sources answer the
    question; `is_quoted`: and which sentences, for a text that is put together from quotations.
    """
    similarity = SourceSimilarity(sources, model_registry.tokenizer(), model_registry.embedder())
    if is_refusal(text):
        return CheckedText(text=text, status="refused", confidence=answer_confidence([], []))
    extracted = extract_citations(text, sources, tokenizer=model_registry.tokenizer(), similarity=similarity)
    sentences = support_states(
        extracted.text,
        sources,
        tokenizer=model_registry.tokenizer(),
        similarity=similarity,
        refusals=refusal_sentences(),
        threshold=STRICTER if options.judge_support else SUPPORTED_FROM,
    )
    if judge is not None and is_quoted:
        sentences = judge.of_quotations(extracted.text, sentences, sources)
    return CheckedText(
        text=extracted.text,
        status=status,
        citations=extracted.citations,
        sentences=sentences,
        sources=sources,
        confidence=answer_confidence(extracted.citations, sentences),
        relevance=_relevance([citation.source for citation in extracted.citations], judge),
    )


def _relevance(sources: Sequence[Source], judge: RelevanceJudge | None) -> dict[int, float]:
    return {source.number: judge.of_source(source) for source in sources} if judge is not None else {}


def check_search_results(
    text: str, sources: Sequence[Source], *, options: AnswerOptions, judge: RelevanceJudge | None = None
) -> CheckedText:
    """Citations of a page of search results: it claims nothing, so no sentence is judged."""
    extracted = extract_citations(text, sources, tokenizer=model_registry.tokenizer())
    return CheckedText(
        text=extracted.text,
        status="search_results",
        citations=extracted.citations,
        sources=sources,
        relevance=_relevance(sources, judge),
    )


def unchecked_text(text: str, sources: Sequence[Source], *, status: str) -> CheckedText:
    """A text that could not be checked, and the sources, none of which counts as cited."""
    confidence = 0.0 if status == "search_results" else answer_confidence([], [])
    return CheckedText(text=text, status=status, sources=sources, confidence=confidence)


def sources_of_text(model: str, state: AnswerState, numbering: Mapping[int, int]) -> tuple[Source, ...]:
    """The sources that a text may rest on: with the further ones where it is quoted, or cites one of these.

    Cited ones come first, with the numbers that the text has for them (`numbering`), the others are numbered on.
    """
    is_used = model == ExtractiveGenerator.name or any(source.number in numbering for source in state.further_sources)
    sources = (*state.sources, *state.further_sources) if is_used else state.sources
    cited = sorted((s for s in sources if s.number in numbering), key=lambda source: numbering[source.number])
    uncited = [source for source in sources if source.number not in numbering]
    return numbered_on([*cited, *uncited])


def numbered_on(sources: Sequence[Source]) -> tuple[Source, ...]:
    """The sources with the numbers 1, 2, … in this order."""
    return tuple(replace(source, number=at) for at, source in enumerate(sources, start=1))


def build_record(checked: CheckedText, outcome: SearchOutcome) -> AnswerRecord:
    """The record of a checked text, apart from its metadata. Its HTML is rendered here, once."""
    cited = {citation.number for citation in checked.citations}
    linked = {source.number for source in checked.sources} if checked.status == "search_results" else cited
    html = render_markdown(
        checked.text,
        citations=linked,
        sentences=[to_plain(sentence) for sentence in checked.sentences],
        with_places=True,
        with_languages=True,
    )
    return AnswerRecord(
        text=checked.text,
        html=html,
        status=checked.status,
        confidence=round(checked.confidence, 4),
        citations=(
            *(_cited(citation, checked.relevance) for citation in checked.citations),
            *(_uncited(source, checked.relevance) for source in checked.sources if source.number not in cited),
        ),
        sentences=tuple(checked.sentences),
        retrieval_stats=_stats(outcome.retrieved.state, checked.sources),
        trace=build_trace(outcome),
    )


def small_talk_record(text: str) -> AnswerRecord:
    """The record of a reply that rests on no document; its status says so."""
    return AnswerRecord(text=text, html=render_markdown(text, citations=()), status="conversation", confidence=0.0)


def _cited(citation: Citation, relevance: Mapping[int, float]) -> CitationRecord:
    return _citation(
        citation.source,
        relevance=relevance.get(citation.number),
        confidence=round(citation.confidence, 4),
        position=citation.position,
        segment=citation.segment,
        weak=citation.weak,
    )


def _uncited(source: Source, relevance: Mapping[int, float]) -> CitationRecord:
    return _citation(
        source, relevance=relevance.get(source.number), confidence=0.0, position=0, segment="", weak=True, cited=False
    )


def _citation(source: Source, **values: Any) -> CitationRecord:
    passage = source.passage
    is_fact = passage.fact is not None
    return CitationRecord(
        number=source.number,
        chunk_id=passage.chunk,
        document_id=passage.document,
        version_id=passage.version,
        version=0,  # its number is read when the record is bound to the stored chunks
        external_id=passage.external_id,
        title=passage.title,
        page=passage.page,
        content=passage.text if is_fact else passage.text[passage.start : passage.start + EXCERPT_CHARACTERS],
        score=round(source.score, 4),
        attachment=passage.external_id if passage.chunk < 0 and not is_fact else "",
        fact=passage.fact or 0,
        **values,
    )


def _stats(state: State, sources: Sequence[Source]) -> dict[str, int]:
    return {
        "total_retrieved": max((record.after for record in state.records), default=0),
        "after_dedup": len(state.candidates),
        "final_count": len(sources),
    }
