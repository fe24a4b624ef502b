"""The tools, over the services of the HTTP API, and who calls them.

A tool never returns more than a search of its caller would.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult

from accounts.authentication import api_key_admit, scope_require
from accounts.errors import NotAuthenticatedError, NotFoundError
from accounts.key_scopes import KeyScope
from accounts.scope import Scope
from accounts.selectors import scope_for
from chat.answering.context import profile_get
from chat.answering.passage_search import with_successors
from chat.answering.retrieval import run_search
from chat.api.auth import Caller
from chat.api.pictures import serialize_pictures_now
from chat.concurrency.admission import take_place
from chat.concurrency.executors import run_db
from chat.concurrency.limits import count_questions_or_raise
from chat.errors import InvalidAnswerRequestError
from chat.mcp.schemas import (
    SOURCE_CHARACTERS,
    AnswerOut,
    ChunkId,
    DocumentId,
    HitOut,
    Offset,
    Question,
    SearchOut,
    SetOut,
    Sets,
    SetsOut,
    SourceOut,
    TopK,
    result_of,
)
from chat.selectors import is_cited_for
from chat.serializers import serialize_citation, serialize_hits, serialize_warnings, shown_citations, shown_text
from chat.turns.lifecycle import answer_now
from chat.types import AnswerRequest, Style
from knowledge.models import Chunk, Document
from knowledge.selectors import chunk_get, document_openable, documents_askable, sets_listed, sets_readable
from knowledge.types import RetrievalRequest

TOOL_SCOPES = {  # that the key of the caller needs
    "search": KeyScope.ASK,
    "answer": KeyScope.ASK,
    "fetch_source": KeyScope.READ,
    "list_sets": KeyScope.ASK,
}
CALLER = "ragsite.caller"  # in the ASGI scope of a request

CallerOf = Callable[[Context[Any, Any]], Awaitable[Caller]]


def caller_of_key(key: str) -> Caller:
    """Uses the ORM. Raises NotAuthenticatedError, RateLimitedError."""
    row = api_key_admit(key)
    return Caller(row.user, scope_for(row.user), row)


def caller_of_fixed_key(key: str) -> CallerOf:
    """The same key for every call. It is read again each time, so that a revoked one ends a running server, too."""

    async def caller(context: Context[Any, Any]) -> Caller:
        return await run_db(caller_of_key, key)

    return caller


async def caller_of_request(context: Context[Any, Any]) -> Caller:
    """The caller whom `chat.mcp.server` let in with this very request. Raises NotAuthenticatedError."""
    request = context.request_context.request
    caller = None if request is None else request.scope.get(CALLER)
    if not isinstance(caller, Caller):
        raise NotAuthenticatedError
    return caller


@dataclass(frozen=True, slots=True)
class Tools:
    """Each tool acts with the rights of the caller whom `caller_of` finds."""

    caller_of: CallerOf

    async def _caller(self, ctx: Context[Any, Any], tool: str) -> Caller:
        """Raises MissingScopeError, and what `caller_of` raises."""
        caller = await self.caller_of(ctx)
        scope_require(caller.key, TOOL_SCOPES.get(tool))
        return caller

    async def search(
        self, ctx: Context[Any, Any], query: Question, sets: Sets = None, top_k: TopK = 10
    ) -> Annotated[CallToolResult, SearchOut]:
        """Passages of the organisation's documents, best first."""

        async def call() -> SearchOut:
            caller = await self._caller(ctx, "search")
            set_ids = await run_db(resolve_sets, scope=caller.scope, names=sets or ())
            return await search_passages(caller, query=query, sets=set_ids, top_k=top_k)

        return await result_of(call())

    async def answer(
        self, ctx: Context[Any, Any], query: Question, sets: Sets = None, style: Style | None = None
    ) -> Annotated[CallToolResult, AnswerOut]:
        """An answer with citations, written from the documents only."""

        async def call() -> AnswerOut:
            caller = await self._caller(ctx, "answer")
            set_ids = await run_db(resolve_sets, scope=caller.scope, names=sets or ())
            return await answer_question(caller, query=query, sets=set_ids, style=style)

        return await result_of(call())

    async def fetch_source(
        self, ctx: Context[Any, Any], document_id: DocumentId = None, chunk_id: ChunkId = None, offset: Offset = 0
    ) -> Annotated[CallToolResult, SourceOut]:
        """The text behind a hit or a citation."""

        async def call() -> SourceOut:
            if document_id is None and chunk_id is None:
                raise InvalidAnswerRequestError("source_missing")
            scope = (await self._caller(ctx, "fetch_source")).scope
            return await run_db(read_source, scope=scope, document_id=document_id, chunk_id=chunk_id, offset=offset)

        return await result_of(call())

    async def list_sets(self, ctx: Context[Any, Any]) -> Annotated[CallToolResult, SetsOut]:
        """Knowledge sets that can be named in `sets`."""

        async def call() -> SetsOut:
            return await run_db(list_readable_sets, scope=(await self._caller(ctx, "list_sets")).scope)

        return await result_of(call())


async def search_passages(caller: Caller, *, query: str, sets: tuple[int, ...], top_k: int) -> SearchOut:
    """As `POST /api/v1/rag/retrieve`."""
    await count_questions_or_raise(caller.user, key=caller.key_tag)
    async with await take_place(caller.user, key=caller.key_tag):
        profile = await run_db(profile_get, caller.user, sets=sets)
        request = RetrievalRequest(query=query, sets=sets, top_k=top_k, profile=profile)
        retrieved = await with_successors(caller.scope, await run_search(scope=caller.scope, request=request))
    result = serialize_hits(retrieved, trace=False)
    hits = [HitOut(**{name: hit[name] for name in HitOut.model_fields}) for hit in result["hits"]]
    return SearchOut(hits=hits, relevant=result["relevant"], warnings=result["warnings"])


async def answer_question(caller: Caller, *, query: str, sets: tuple[int, ...], style: Style | None) -> AnswerOut:
    """As `POST /api/v1/rag/generate`."""
    fields: dict[str, Any] = {} if style is None else {"style": style}
    await count_questions_or_raise(caller.user, key=caller.key_tag)
    request = AnswerRequest(query=query, sets=sets, given=frozenset(fields), **fields)
    stored = await answer_now(scope=caller.scope, user=caller.user, request=request, key=caller.key_tag)
    record = stored.record
    return AnswerOut(
        answer=shown_text(record, request),
        status=record.status,
        confidence=record.confidence,
        citations=[serialize_citation(citation) for citation in shown_citations(record, request)],
        pictures=await serialize_pictures_now(scope=caller.scope, stored=stored),
        warnings=serialize_warnings(record.metadata.warnings),
        message_id=str(stored.message.pk),
    )


def resolve_sets(*, scope: Scope, names: Sequence[int | str]) -> tuple[int, ...]:
    """Ids of sets that are named by id or code, each once. Raises NotFoundError for one that does not exist."""
    listed = dict(sets_listed(scope=scope).filter(tenant_id=scope.tenant_id).values_list("code", "pk"))
    readable = set(listed.values())
    numbers = [listed.get(name) if isinstance(name, str) else name for name in names]
    for name, number in zip(names, numbers, strict=True):
        if number not in readable:
            raise NotFoundError("set", set=name)
    return tuple(dict.fromkeys(number for number in numbers if number is not None))


def list_readable_sets(*, scope: Scope) -> SetsOut:
    """The sets that the caller may read, by code."""
    rows = sets_readable(scope=scope).order_by("code")
    return SetsOut(
        sets=[
            SetOut(id=row.pk, code=row.code, name=row.name, axis=row.axis, description=row.description) for row in rows
        ]
    )


def read_source(*, scope: Scope, document_id: int | None, chunk_id: int | None, offset: int) -> SourceOut:
    """The text of a document, or of one passage of it. Raises NotFoundError, OriginalsWithheldError."""
    if chunk_id is not None:
        chunk = _chunk(scope=scope, chunk_id=chunk_id)
        document, text = chunk.version.document, chunk.text
        if document_id is not None and document.pk != document_id:
            raise NotFoundError("passage", chunk=chunk_id)
        page, headings = chunk.page, list(chunk.heading_path)
    else:
        document = _document(scope=scope, document_id=document_id or 0)
        if document.live_version is None:
            raise NotFoundError("no_text", document=document.pk)
        text, page, headings = document.live_version.markdown, None, []
    end = offset + SOURCE_CHARACTERS
    return SourceOut(
        document_id=document.pk,
        chunk_id=chunk_id,
        external_id=document.external_id,
        title=document.title,
        page=page,
        heading_path=headings,
        text=text[offset:end],
        offset=offset,
        next_offset=end if end < len(text) else None,
        total_characters=len(text),
    )


def _document(*, scope: Scope, document_id: int) -> Document:
    document = document_openable(scope=scope, document_id=document_id)
    if not documents_askable(scope=scope).filter(pk=document_id).exists():
        raise NotFoundError("document", document=document_id)
    return document


def _chunk(*, scope: Scope, chunk_id: int) -> Chunk:
    """A passage that the caller may open, or that an answer to the caller cites: it may have been replaced since."""
    chunk = chunk_get(scope=scope, chunk_id=chunk_id, is_cited=is_cited_for(scope=scope, chunk_id=chunk_id))
    if not documents_askable(scope=scope).filter(pk=chunk.version.document_id).exists():
        raise NotFoundError("passage", chunk=chunk_id)
    return chunk
