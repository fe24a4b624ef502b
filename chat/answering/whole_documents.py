"""Reads the whole of a document that the question wants summed up."""

from __future__ import annotations

from collections.abc import Sequence

from chat.answering.answer_config import is_quoting
from chat.answering.answerability import Verdict
from chat.answering.context import AnswerContext
from chat.answering.retrieval import read_documents
from chat.concurrency.executors import run_cpu
from knowledge import model_registry
from knowledge.model_counters import writing_counter
from ragcore.answerability.confidence import answer_confidence
from ragcore.extractive.section_overview import overview_passages
from ragcore.extractive.summary import summary_passages
from ragcore.extractive.summary_wish import is_same_text, names_document, summary_points, wants_summary
from ragcore.grounding.context import build_context
from ragcore.types import Passage, Source
from ragcore.types.answering import AnswerState

MOST_PASSAGES = 60  # of one document, from its beginning
MOST_DOCUMENTS = 4  # the best of the search: one may be meant, with others of its thread
SUMMARY_SCORE = 0.9  # that a summary of a document answers the wish for one


def summary_verdict() -> Verdict:
    """That of the summary of a document which the question names."""
    return Verdict(is_answerable=True, most_confidence=answer_confidence(SUMMARY_SCORE))


async def sources_to_sum_up(context: AnswerContext, state: AnswerState) -> tuple[Source, ...]:
    """Sources from the whole of the document that the question wants summed up; () where it asks for something else.

    They are the passages in which the summary stands, with the first one and those that the search has found, in
    reading order. () also where the document cannot be read now: what was found is answered from.
    """
    if state.answer_text is not None or not state.sources or not wants_summary(state.query):
        return ()
    passages = [source.passage for source in state.sources if source.passage.chunk >= 0]
    documents = list(dict.fromkeys(passage.document for passage in passages))[:MOST_DOCUMENTS]
    passages = [passage for passage in passages if passage.document in documents]
    chunks = [passage.chunk for passage in passages]
    whole = await read_documents(context, state.query, chunks, most=MOST_PASSAGES)
    if whole is None:
        return ()
    chosen = await run_cpu(_chosen, state.query, documents, passages, whole)
    return await run_cpu(_numbered, chosen, context.config.options.context_tokens)


def _chosen(
    question: str, documents: Sequence[int], passages: Sequence[Passage], whole: Sequence[Passage]
) -> list[Passage]:
    """The passages for the summary of the first document that the question names, and of its thread."""
    tokenizer = model_registry.tokenizer()
    for document in documents:
        first = next((passage for passage in whole if passage.document == document), None)
        if first is None:
            continue
        of_thread = [passage for passage in whole if passage.document != document and is_same_text(passage, first)]
        every = [*(passage for passage in whole if passage.document == document), *of_thread]
        parts = [passage for passage in passages if is_same_text(passage, first)]
        if not names_document(question, parts, tokenizer, first=first):
            continue
        points = summary_passages(every, tokenizer, most=summary_points(question), wish=question)
        subsections = overview_passages(question, every, tokenizer)
        chunks = {passage.chunk for passage in (first, *points, *subsections, *parts)}
        return [passage for passage in every if passage.chunk in chunks]
    return []


def _numbered(passages: Sequence[Passage], budget_tokens: int) -> tuple[Source, ...]:
    """In reading order; for a language model that writes those that fit into the context."""
    scored = [(passage, 1.0 - place * 1e-3) for place, passage in enumerate(passages)]
    if not is_quoting():
        return tuple(build_context(scored, budget_tokens=budget_tokens, counter=writing_counter()))
    return tuple(
        Source(number=number, passage=passage, text=passage.text.strip(), score=score)
        for number, (passage, score) in enumerate(scored, start=1)
    )
