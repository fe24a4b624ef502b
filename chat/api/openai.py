"""`/v1`: the OpenAI-compatible API.

The model `ragsite` asks everything that the caller may read, `ragsite/<set code>` one set; a mode or preset behind a
colon is a variant (`ragsite:agentic`, `ragsite/radio:fast`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, get_args

from django.http import HttpRequest, StreamingHttpResponse
from ninja import Router

from accounts.key_scopes import KeyScope
from accounts.scope import Scope
from chat.api.auth import CallerAuth, caller_of
from chat.api.embeddings import EmbeddingsIn, embeddings_of
from chat.api.openai_forms import Chunks, answer_context, completion, error_chunk, finish_reason
from chat.api.openai_schemas import MODEL, CompletionIn, MessageIn
from chat.api.openai_tools import tool_completion
from chat.api.pictures import serialize_pictures, serialize_pictures_now
from chat.api.questions import answer_question, start_turn
from chat.api.responses import CompletionOut, EmbeddingsOut, ModelOut, ModelsOut, response_schema
from chat.api.sse import event_stream
from chat.api.stop_texts import StopTexts
from chat.concurrency.executors import run_db
from chat.errors import UnknownModelError
from chat.models import Message
from chat.serializers import serialize_citation, shown_citations, shown_text
from chat.types import MAX_QUERY_CHARACTERS, AnswerRequest, Event, Mode, Preset
from knowledge.models import KnowledgeSet
from knowledge.selectors import sets_readable
from ragcore.types.answering import Turn
from ragcore.understanding.prompt_question import prompt_question

MODES, PRESETS = get_args(Mode), get_args(Preset)
VARIANTS = (*MODES, *PRESETS)

ASKING = CallerAuth(KeyScope.ASK)

openai_router = Router(tags=["OpenAI-compatible"], auth=CallerAuth())


@openai_router.get("/models", auth=ASKING, summary="Models", openapi_extra=response_schema(ModelsOut))
async def models(request: HttpRequest) -> dict[str, Any]:
    """`ragsite`, which asks everything that the caller may read, also with each mode and preset (`ragsite:fast`), and
    one model for each of those sets (`ragsite/CODE`, which takes a mode or preset, too: `ragsite/CODE:fast`)."""
    names = await run_db(model_names, caller_of(request).scope)
    return {"object": "list", "data": [_model(name) for name in names]}


@openai_router.get("/models/{path:name}", auth=ASKING, summary="Model", openapi_extra=response_schema(ModelOut))
async def model(request: HttpRequest, name: str) -> dict[str, Any]:
    """One of the models."""
    if name not in await run_db(model_names, caller_of(request).scope, every=True):
        raise UnknownModelError("forbidden", model=name)
    return _model(name)


@openai_router.post(
    "/chat/completions", auth=ASKING, summary="Chat completion", openapi_extra=response_schema(CompletionOut)
)
async def chat_completions(request: HttpRequest, body: CompletionIn) -> Any:
    """An answer from the knowledge base; its sources stand in `message.context`.

    With `tools` or a `response_format` a language model writes or calls, and gets the passages that the question finds.
    What OpenAI takes and this cannot do (several choices) is refused; what would only colour the wording (`top_p`,
    penalties, `seed`) is named in `context.unused_options`.
    """
    caller = caller_of(request)
    value = await run_db(request_of, caller.scope, body)
    if body.model_fields_sent():
        return await tool_completion(caller, value, body)
    if body.stream:
        return await _streamed(caller.scope, await start_turn(caller, value), body)
    stored = await answer_question(caller, value)
    record = stored.record
    context = answer_context(
        body,
        citations=[serialize_citation(citation) for citation in shown_citations(record, value)],
        status=record.status,
        message_id=str(stored.message.pk),
        error_message=record.metadata.error_message,
        pictures=await serialize_pictures_now(scope=caller.scope, stored=stored),
    )
    content = StopTexts(body.stop).whole(shown_text(record, value))
    message = {"role": "assistant", "content": content, "context": context}
    reason = finish_reason(record.metadata.is_cut)
    return completion(body, stored.message.pk, message=message, reason=reason, usage=record.metadata.usage)


@openai_router.post("/embeddings", auth=ASKING, summary="Embeddings", openapi_extra=response_schema(EmbeddingsOut))
async def embeddings(request: HttpRequest, body: EmbeddingsIn) -> dict[str, Any]:
    """Vectors of the site's embedding model, normalised: of passages, or of questions (`ragsite-embedding:query`)."""
    caller = caller_of(request)
    return await embeddings_of(caller.user, body, key=caller.key_tag)


# ── in their form ───────────────────────────────────────────────────────────────────────────────


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": MODEL}


async def _streamed(scope: Scope, message: Message, body: CompletionIn) -> StreamingHttpResponse:
    chunks = Chunks(body, message.pk)
    citations: list[Any] = []
    stops = StopTexts(body.stop)

    async def translate(event: Event) -> AsyncIterator[Mapping[str, Any]]:
        data = event.data
        if event.type == "context":
            yield chunks.choice({"role": "assistant", "content": ""})
        elif event.type == "chunk":
            if text := stops.feed(data["content"]):
                yield chunks.choice({"content": text})
        elif event.type == "citations":
            citations.extend(data["citations"])
        elif event.type == "error":
            yield error_chunk(data["code"], data["message"])
        elif event.type == "done":
            if rest := stops.flush():
                yield chunks.choice({"content": rest})
            metadata = data["metadata"]
            context = answer_context(
                body,
                citations=citations,
                status=data["status"],
                message_id=data["message_id"],
                error_message=metadata.get("error_message"),
                pictures=await serialize_pictures(scope=scope, message_id=message.pk),
            )
            yield chunks.choice({"context": context}, finish_reason(bool(metadata.get("is_cut"))))
            for chunk in chunks.usage(metadata["usage"]):
                yield chunk

    return await event_stream(message.pk, scope=scope, vocabulary=translate)


def model_names(scope: Scope, *, every: bool = False) -> list[str]:
    """`ragsite`, it in every variant, and the sets that the asker may read; `every`: those in every variant, too."""
    codes = sets_readable(scope=scope).order_by("code").values_list("code", flat=True)
    names = [f"{MODEL}/{code}" for code in codes]
    with_variants = [f"{name}:{variant}" for name in ([MODEL, *names] if every else [MODEL]) for variant in VARIANTS]
    return [MODEL, *with_variants, *names]


def request_of(scope: Scope, body: CompletionIn) -> AnswerRequest:
    """The request in our form. Raises UnknownModelError. Uses the ORM."""
    name, _, variant = body.model.partition(":")
    options = _variant_options(body.model, variant) if variant or body.model.endswith(":") else {}
    if body.temperature is not None:
        options["temperature"] = body.temperature
    if tokens := body.max_completion_tokens or body.max_tokens:
        options["max_tokens"] = tokens
    return AnswerRequest(
        query=body.question,
        sets=_sets(scope, name),
        filters=body.filters.value(),
        history=_exchanges(body.messages),
        given=frozenset(options),
        **options,
    )


def _variant_options(model: str, word: str) -> dict[str, Any]:
    if word in MODES:
        return {"mode": word}
    if word in PRESETS:
        return {"preset": word}
    suffixes = ", ".join(VARIANTS)
    raise UnknownModelError("suffix", model=model, known=suffixes)


def _sets(scope: Scope, model: str) -> tuple[int, ...]:
    """The set that a model name stands for. Raises UnknownModelError."""
    name, slash, code = model.partition("/")
    if name != MODEL:
        raise UnknownModelError("usual", model=model, usual=MODEL)
    if not slash:
        return ()
    row: KnowledgeSet | None = sets_readable(scope=scope).filter(code=code).first()
    if row is None:
        raise UnknownModelError("forbidden", model=model)
    return (row.pk,)


def _exchanges(messages: Sequence[MessageIn]) -> tuple[Turn, ...]:
    """Questions with the answers that follow them, without the last one; system messages are the product's business."""
    turns: list[Turn] = []
    question = ""
    for message in messages:
        if message.role == "user":
            question = prompt_question(message.text, most=MAX_QUERY_CHARACTERS)
        elif message.role == "assistant" and question and message.text:
            turns.append(Turn(question=question, answer=message.text))
            question = ""
    return tuple(turns)
