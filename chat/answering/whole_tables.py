"""A question that wants all rows of a kind is answered from the whole table, not from the part that was found (A2).

A long table stands in several passages, and a search brings the nearest of them. What is listed or counted from these
would be a part that looks like all.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from django.db import Error as DatabaseFailure

from chat.answering.context import AnswerContext
from chat.answering.retrieval import build_search_request
from chat.executors import run_cpu, run_db
from knowledge import model_registry
from knowledge.services.retrieval import document_passages
from ragcore.errors import RagError
from ragcore.extractive.row_question import asks_rows
from ragcore.extractive.sentences import read_statements
from ragcore.text.question_core import question_core
from ragcore.types import Passage, Source
from ragcore.types.answering import AnswerState

MOST_TABLES = 3  # documents whose tables are completed, those of the best sources
MOST_PASSAGES = 60  # of one document; the rows of a longer one are not counted


async def complete_tables(context: AnswerContext, state: AnswerState) -> AnswerState:
    """The state with the other passages of tables behind its sources, where all rows of a kind are wanted.

    An optional part: without the database the sources stay as they are.
    """
    if model_registry.chat_model() is not None or not asks_rows(question_core(state.query)):
        return state
    first = await run_cpu(_with_tables, state)
    if not first:
        return state
    request = build_search_request(context, state.query)
    try:
        passages = await run_db(
            document_passages,
            scope=context.scope,
            request=request,
            chunks=[source.passage.chunk for source in first],
            most=MOST_PASSAGES,
            within=context.within,
        )
    except (RagError, DatabaseFailure):
        return state
    return await run_cpu(_joined, state, first, passages)


def _with_tables(state: AnswerState) -> list[Source]:
    """The first source with rows of a table of each of the best documents."""
    found: dict[int, Source] = {}
    for source in state.sources:
        rows = (statement for statement in read_statements([source], model_registry.tokenizer()) if statement.head)
        if next(rows, None) is not None:
            found.setdefault(source.passage.version, source)
    return list(found.values())[:MOST_TABLES]


def _joined(state: AnswerState, first: list[Source], passages: list[Passage]) -> AnswerState:
    """The sources, and behind them, numbered on, the passages with a table that is not among them.

    Whole is a document that is all there and none of whose rows stands without the names of its columns.
    """
    known = {source.passage.chunk for source in state.sources}
    least = min(source.score for source in state.sources)
    sources = list(state.sources)
    parts: set[int] = set()
    for passage in passages:
        source = Source(number=len(sources) + 1, passage=passage, text=passage.text.strip(), score=least)
        rows = [one for one in read_statements([source], model_registry.tokenizer()) if one.is_row]
        if not all(row.head for row in rows):
            parts.add(passage.version)
        if rows and passage.chunk not in known:
            sources.append(source)
    told = Counter(passage.version for passage in passages)
    whole = {one.passage.version for one in first if told[one.passage.version] < MOST_PASSAGES} - parts
    return replace(state, sources=tuple(sources), whole_versions=frozenset(whole))
