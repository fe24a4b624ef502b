"""The tools: thin, over the services that the HTTP API uses, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult

from chat.answering.context import profile_get
from chat.answering.retrieval import run_search
from chat.api.auth import Caller
from chat.errors import InvalidAnswerRequestError
from chat.executors import run_db
from chat.limits import Slot, questions_counted
from chat.mcp.callers import CallerOf
from chat.mcp.reading import sets_named, sets_out, source_out
from chat.mcp.results import result_of
from chat.mcp.schemas import (
    AnswerOut,
    ChunkId,
    DocumentId,
    HitOut,
    Offset,
    Question,
    SearchOut,
    Sets,
    SetsOut,
    SourceOut,
    TopK,
)
from chat.serializers import serialize_citation, serialize_hits, serialize_warnings, shown_citations, shown_text
from chat.turns.lifecycle import answer_now
from chat.types import AnswerRequest, Style
from knowledge.types import RetrievalRequest


@dataclass(frozen=True, slots=True)
class Tools:
    """Each tool acts with the rights of the caller whom `caller_of` finds."""

    caller_of: CallerOf

    async def search(
        self, ctx: Context[Any, Any], query: Question, sets: Sets = None, top_k: TopK = 10
    ) -> Annotated[CallToolResult, SearchOut]:
        """Passages of the organisation's documents, best first."""

        async def found() -> SearchOut:
            caller = await self.caller_of(ctx)
            named = await run_db(sets_named, scope=caller.scope, names=sets or ())
            return await searched(caller, query=query, sets=named, top_k=top_k)

        return await result_of(found())

    async def answer(
        self, ctx: Context[Any, Any], query: Question, sets: Sets = None, style: Style | None = None
    ) -> Annotated[CallToolResult, AnswerOut]:
        """An answer with citations, written from the documents only."""

        async def made() -> AnswerOut:
            caller = await self.caller_of(ctx)
            named = await run_db(sets_named, scope=caller.scope, names=sets or ())
            return await answered(caller, query=query, sets=named, style=style)

        return await result_of(made())

    async def fetch_source(
        self, ctx: Context[Any, Any], document_id: DocumentId = None, chunk_id: ChunkId = None, offset: Offset = 0
    ) -> Annotated[CallToolResult, SourceOut]:
        """The text behind a hit or a citation."""

        async def read() -> SourceOut:
            if document_id is None and chunk_id is None:
                raise InvalidAnswerRequestError("source_missing")
            scope = (await self.caller_of(ctx)).scope
            return await run_db(source_out, scope=scope, document_id=document_id, chunk_id=chunk_id, offset=offset)

        return await result_of(read())

    async def list_sets(self, ctx: Context[Any, Any]) -> Annotated[CallToolResult, SetsOut]:
        """Knowledge sets that can be named in `sets`."""

        async def listed() -> SetsOut:
            return await run_db(sets_out, scope=(await self.caller_of(ctx)).scope)

        return await result_of(listed())


async def searched(caller: Caller, *, query: str, sets: tuple[int, ...], top_k: int) -> SearchOut:
    """As `POST /api/v1/rag/retrieve`."""
    await questions_counted(caller.user)
    with Slot():
        profile = await run_db(profile_get, caller.user, sets=sets)
        request = RetrievalRequest(query=query, sets=sets, top_k=top_k, profile=profile)
        found = serialize_hits(await run_search(scope=caller.scope, request=request), trace=False)
    hits = [HitOut(**{name: hit[name] for name in HitOut.model_fields}) for hit in found["hits"]]
    return SearchOut(hits=hits, relevant=found["relevant"], warnings=found["warnings"])


async def answered(caller: Caller, *, query: str, sets: tuple[int, ...], style: Style | None) -> AnswerOut:
    """As `POST /api/v1/rag/generate`."""
    given: dict[str, Any] = {} if style is None else {"style": style}
    await questions_counted(caller.user)
    request = AnswerRequest(query=query, sets=sets, given=frozenset(given), **given)
    stored = await answer_now(scope=caller.scope, user=caller.user, request=request)
    record = stored.record
    return AnswerOut(
        answer=shown_text(record, request),
        status=record.status,
        confidence=record.confidence,
        citations=[serialize_citation(citation) for citation in shown_citations(record, request)],
        warnings=serialize_warnings(record.metadata.warnings),
        message_id=str(stored.message.pk),
    )
