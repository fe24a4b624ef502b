"""Reads the whole of two editions that a question compares."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from chat.answering.context import AnswerContext
from chat.answering.retrieval import read_documents, sources_behind
from ragcore.extractive.edition_changes import compared_editions
from ragcore.text.question_core import question_core
from ragcore.types.answering import AnswerState

MOST_PASSAGES = 60  # of one edition


async def complete_editions(context: AnswerContext, state: AnswerState) -> AnswerState:
    """The state with the other passages of the two editions as further sources, where a question compares these.

    An optional part: without the database the sources stay as they are.
    """
    if not state.sources:
        return state
    in_state = [*(source.passage for source in state.sources), *(ranked.passage for ranked in state.passages)]
    editions = compared_editions(question_core(state.query), in_state)
    if editions is None:
        return state
    first = {passage.document: passage.chunk for passage in reversed(in_state)}
    chunks = [first[edition.document] for edition in editions]
    passages = await read_documents(context, state.query, chunks, most=MOST_PASSAGES)
    if passages is None:
        return state
    counts = Counter(passage.version for passage in passages)
    whole = {version for version, number in counts.items() if number < MOST_PASSAGES}
    further = sources_behind((*state.sources, *state.further_sources), passages)
    return replace(
        state, further_sources=(*state.further_sources, *further), whole_versions=state.whole_versions | whole
    )
