"""Passages beside those that a search brought, for what is answered by its place or its name.

The last step of a procedure stands in the last passage of its document, and how an alarm is handled stands under its
name, which a question with its code alone does not say.
"""

from __future__ import annotations

from dataclasses import replace

from chat.answering.context import AnswerContext
from chat.answering.retrieval import build_search_request, read_documents, run_search, sources_behind
from chat.concurrency.executors import run_cpu
from chat.errors import AnswerTimeoutError
from knowledge import model_registry
from knowledge.errors import RetrievalUnavailableError
from ragcore.extractive.handling import find_handling
from ragcore.extractive.sentences import read_statements
from ragcore.extractive.step_lookup import step_wish
from ragcore.text.question_core import question_core
from ragcore.types import Passage, Source
from ragcore.types.answering import AnswerState

MOST_DOCUMENTS = 3  # that are read for a step, those of the best sources
MOST_PASSAGES = 60  # of one document


async def complete_procedures(context: AnswerContext, state: AnswerState) -> AnswerState:
    """The state with the other passages of the best documents as further sources, where a step is asked for."""
    if not state.sources or step_wish(question_core(state.query)) is None:
        return state
    first: dict[int, Source] = {}
    for source in sorted(state.sources, key=lambda source: source.number):
        first.setdefault(source.passage.version, source)
    chunks = [source.passage.chunk for source in list(first.values())[:MOST_DOCUMENTS]]
    passages = await read_documents(context, state.query, chunks, most=MOST_PASSAGES)
    return state if not passages else replace(state, further_sources=sources_behind(state.sources, passages))


async def complete_handling(context: AnswerContext, state: AnswerState) -> AnswerState:
    """The state with what a search for the name of a thing brings, where its row does not tell how it is handled."""
    names = await run_cpu(_names_without_handling, state)
    if not names:
        return state
    try:
        request = build_search_request(context, " ".join(names))
        retrieved = await run_search(scope=context.scope, request=replace(request, profile=context.profile))
    except (AnswerTimeoutError, RetrievalUnavailableError):
        return state
    passages: list[Passage] = [c.passage for c in retrieved.state.candidates if c.passage is not None]
    return replace(state, further_sources=sources_behind(state.sources, passages)) if passages else state


def without_further(state: AnswerState) -> AnswerState:
    """The state with the sources of its search alone."""
    return replace(state, further_sources=()) if state.further_sources else state


def _names_without_handling(state: AnswerState) -> tuple[str, ...]:
    tokenizer = model_registry.tokenizer()
    handling = find_handling(question_core(state.query), read_statements(state.sources, tokenizer), tokenizer)
    return handling.names if handling is not None and handling.is_missing else ()
