"""The search for an answer: the request, its time limit, what the reader sees of it; and the rest of what was found."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import Error as DatabaseFailure
from django.db import InterfaceError, OperationalError
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.scope import Scope
from chat.answering.context import AnswerContext
from chat.concurrency.executors import run_cpu, run_db
from chat.errors import AnswerTimeoutError
from chat.types import EventSink, ignore_event
from knowledge import model_registry
from knowledge.errors import RetrievalUnavailableError
from knowledge.search_profile import Retrieved
from knowledge.services import retrieve
from knowledge.services.retrieval import document_passages
from knowledge.types import RetrievalRequest
from ragcore.errors import RagError
from ragcore.extractive.handling import asks_handling, find_handling
from ragcore.extractive.sentences import read_statements
from ragcore.extractive.step_lookup import source_of_procedure, step_wish
from ragcore.extractive.table_lookup import wants_rows
from ragcore.text.question_core import question_core
from ragcore.types import Candidate, Passage, Source, StageRecord
from ragcore.types.answering import AnswerState, Rewrite

LIMIT_SECONDS = 10
DOCUMENTS_OF_VARIANT = 3  # the first ones of each variant of a question
MOST_TABLES = 3  # documents whose tables are completed, those of the best sources
MOST_PASSAGES = 60  # of one document; the rows of a longer one are not counted
logger = logging.getLogger(__name__)

# Methods whose rewrites are other questions: parts of it, the next hop, and the original beside a refined one.
OTHER_QUESTIONS = frozenset({"decompose", "hop", "original"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOutcome:
    """What a search brought and how long it took."""

    retrieved: Retrieved
    seconds: float

    @property
    def hits(self) -> list[tuple[Passage, Candidate]]:
        """Candidates with their passages, best first."""
        return [(c.passage, c) for c in self.retrieved.state.candidates if c.passage is not None]

    @property
    def queries(self) -> list[str]:
        """The forms in which the question was asked, where there were several."""
        notes = (record.note for record in self.retrieved.state.records)
        return next((list(note["queries"]) for note in notes if "queries" in note), [])

    @property
    def silent_models(self) -> set[str]:
        """Embedding models of sets that did not answer: the site's model has searched in their place (decision 041)."""
        notes = (note for record in self.retrieved.state.records for note in record.note.get("set_models", ()))
        return {note["model"] for note in notes if note.get("way") == "unavailable"}

    @property
    def graph(self) -> Mapping[str, Any] | None:
        """What the graph of entities told, where it knows an entity of the question."""
        graph_note = self.retrieved.state.graph
        return graph_note if graph_note.get("query_entities") else None

    @property
    def rerank_seconds(self) -> float | None:
        milliseconds = self.retrieved.timings_ms.get("rerank")
        return None if milliseconds is None else milliseconds / 1000


async def search_for_answer(
    context: AnswerContext,
    query: str,
    rewrites: Sequence[Rewrite] = (),
    *,
    top_k: int | None = None,
    focus: tuple[int, ...] = (),
) -> SearchOutcome:
    """Search for a question and its other forms within ten seconds, reporting to the reader.

    The style of the answer steers the search, too. `focus`: see RetrievalRequest.

    Raises AnswerTimeoutError, RetrievalUnavailableError, and what `knowledge.services.retrieve` raises.
    """
    events = context.events
    await events("step", name="search", detail=_("Searching"))
    start = time.perf_counter()
    request = replace(build_search_request(context, query, rewrites, top_k=top_k), focus=focus)
    retrieved = await run_search(
        scope=context.scope,
        request=replace(request, profile=context.profile),
        on_stage=_reporter(events),
    )
    detail = ngettext("%(n)s passage searched", "%(n)s passages searched", retrieved.searched)
    await events("step", name="searched", detail=detail % {"n": f"{retrieved.searched:,}"}, count=retrieved.searched)
    return SearchOutcome(retrieved=retrieved, seconds=time.perf_counter() - start)


def build_search_request(
    context: AnswerContext, query: str, rewrites: Sequence[Rewrite] = (), *, top_k: int | None = None
) -> RetrievalRequest:
    """The search for an answer; a mode or preset says what the client did not."""
    request, config = context.request, context.config
    fields = request.given
    mode = request.retrieval_mode if "retrieval_mode" in fields or not config.retrieval_mode else config.retrieval_mode
    options = {key: value for key, value in config.retrieval_above_set.items() if key not in fields}
    if "enable_kg_enhancement" in fields:
        options["graph"] = "on" if request.enable_kg_enhancement else "off"
    search = RetrievalRequest(
        query=query,
        sets=request.sets,
        filters=request.filters,
        top_k=top_k or (request.top_k if "top_k" in fields else None),
        mode=mode,
        rerank=request.rerank if "rerank" in fields else None,
        # the cliff is on for answers, and a context has no room for the same twice
        defaults={"cliff": True, "deduplicate": True, **config.mode_retrieval},
        options=options,
        style=config.options.style,
        draft=request.draft,
    )
    return with_rewrites(search, rewrites)


def with_rewrites(request: RetrievalRequest, rewrites: Sequence[Rewrite]) -> RetrievalRequest:
    """The search, asked in other forms, too: of the same question, of questions of their own, of possible answers."""
    questions = [rewrite for rewrite in rewrites if not rewrite.is_hypothetical]
    return replace(
        request,
        forms=tuple(rewrite.text for rewrite in questions if rewrite.method not in (*OTHER_QUESTIONS, "history")),
        context=next((rewrite.text for rewrite in questions if rewrite.method == "history"), ""),
        parts=tuple(rewrite.text for rewrite in questions if rewrite.method in OTHER_QUESTIONS),
        documents_each=DOCUMENTS_OF_VARIANT if any(form.method == "variants" for form in questions) else None,
        hypothetical=tuple(rewrite.text for rewrite in rewrites if rewrite.is_hypothetical),
    )


async def run_search(*, scope: Scope, request: RetrievalRequest, on_stage: Any = None) -> Retrieved:
    """`knowledge.services.retrieve` in a thread, with a limit; a database that fails becomes an expected error."""
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            return await run_db(retrieve, scope=scope, request=request, on_stage=on_stage)
    except TimeoutError:
        raise AnswerTimeoutError("search") from None
    except (OperationalError, InterfaceError) as error:
        raise RetrievalUnavailableError from error


def _reporter(events: EventSink) -> Any:
    """A callback for the thread that searches: reports reranking to the reader."""
    loop = asyncio.get_running_loop()

    if events is ignore_event:
        return None

    def on_stage(record: StageRecord) -> None:
        if record.stage.startswith("rerank") and record.error is None:
            detail = ngettext("%(n)s passage reranked", "%(n)s passages reranked", record.before)
            step = events("step", name="rerank", detail=detail % {"n": record.before}, count=record.before)
            asyncio.run_coroutine_threadsafe(step, loop)  # type: ignore[arg-type]

    return on_stage


async def complete_tables(context: AnswerContext, state: AnswerState) -> AnswerState:
    """The state with the other passages of tables as further sources, where all rows of a kind are wanted.

    A long table stands in several passages, and a search brings the nearest of them: what is listed or counted from
    these would be a part that looks like all. An optional part: without the database the sources stay as they are.
    """
    if state.further_sources or not wants_rows(question_core(state.query)):
        return state
    if not (first := _with_tables(state)):
        return state
    passages = await read_documents(
        context, state.query, [source.passage.chunk for source in first], most=MOST_PASSAGES
    )
    return state if passages is None else await run_cpu(_joined, state, first, passages)


async def complete_procedures(context: AnswerContext, state: AnswerState) -> AnswerState:
    """The state with the other passages of a procedure's document as further sources, where a step is asked for."""
    if step_wish(question_core(state.query)) is None or (source := await run_cpu(_procedure, state)) is None:
        return state
    passages = await read_documents(context, state.query, [source.passage.chunk], most=MOST_PASSAGES)
    return state if not passages else replace(state, further_sources=sources_behind(state.sources, passages))


async def complete_handling(context: AnswerContext, state: AnswerState) -> AnswerState:
    """The state with what a search for the name of a thing brings, where its row does not tell how it is handled."""
    if not asks_handling(question_core(state.query)) or not (names := await run_cpu(_names_without_handling, state)):
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


def _procedure(state: AnswerState) -> Source | None:
    tokenizer = model_registry.tokenizer()
    return source_of_procedure(question_core(state.query), read_statements(state.sources, tokenizer), tokenizer)


def _names_without_handling(state: AnswerState) -> tuple[str, ...]:
    tokenizer = model_registry.tokenizer()
    handling = find_handling(question_core(state.query), read_statements(state.sources, tokenizer), tokenizer)
    return handling.names[1:] if handling is not None and handling.is_missing else ()  # its code was searched for


async def read_documents(
    context: AnswerContext, query: str, chunks: Sequence[int], *, most: int
) -> list[Passage] | None:
    """The passages of the documents in which these stand, within rights and filters, at most so many of each.

    An optional part of an answer: None, and a line in the log, where they cannot be read now.
    """
    request = build_search_request(context, query)
    try:
        return await run_db(
            document_passages,
            scope=context.scope,
            request=request,
            chunks=list(chunks),
            most=most,
        )
    except (RagError, DatabaseFailure):
        logger.exception("documents of an answer could not be read whole")
        return None


def _with_tables(state: AnswerState) -> list[Source]:
    """The first source with rows of a table of each of the best documents."""
    rows = (statement for statement in read_statements(state.sources, model_registry.tokenizer()) if statement.head)
    first_of_version: dict[int, Source] = {}
    for row in rows:
        first_of_version.setdefault(row.source.passage.version, row.source)
    return list(first_of_version.values())[:MOST_TABLES]


def _joined(state: AnswerState, first: list[Source], passages: list[Passage]) -> AnswerState:
    """The state with further sources: the passages with a table that is not among its sources.

    Whole is a document that is all there and none of whose rows stands without the names of its columns.
    """
    tables: list[Passage] = []
    parts: set[int] = set()
    for source in sources_behind((), passages):
        rows = [statement for statement in read_statements([source], model_registry.tokenizer()) if statement.is_row]
        if not all(row.head for row in rows):
            parts.add(source.passage.version)
        if rows:
            tables.append(source.passage)
    counts = Counter(passage.version for passage in passages)
    whole = {source.passage.version for source in first if counts[source.passage.version] < MOST_PASSAGES} - parts
    return replace(state, further_sources=sources_behind(state.sources, tables), whole_versions=frozenset(whole))


def sources_behind(sources: Sequence[Source], passages: Sequence[Passage]) -> tuple[Source, ...]:
    """The passages that are not among the sources, numbered on behind them and with the least of their scores."""
    chunks = {source.passage.chunk for source in sources}
    least = min((source.score for source in sources), default=0.0)
    added = [passage for passage in passages if passage.chunk not in chunks]
    last = max((source.number for source in sources), default=0)
    return tuple(
        Source(number=number, passage=passage, text=passage.text.strip(), score=least)
        for number, passage in enumerate(added, start=last + 1)
    )
