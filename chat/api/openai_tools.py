"""Completions with the tools, or in the form, of another program; see `chat.answering.client_tools`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

from accounts.error_messages import error_message
from chat.answering.client_tools import ClientCompletion, ClientFields
from chat.api.auth import Caller
from chat.api.openai_forms import Chunks, answer_context, completion, error_chunk, finish_reason
from chat.api.openai_schemas import CompletionIn
from chat.api.questions import check_answer_options
from chat.api.sse import DONE, data_line, streamed_response
from chat.api.stop_texts import StopTexts
from chat.concurrency.admission import take_place
from chat.concurrency.executors import run_db
from chat.concurrency.limits import count_questions_or_raise
from chat.models import Conversation, Message
from chat.serializers import serialize_citation
from chat.turns.message_store import message_fail, message_finish, message_prepare
from chat.types import AnswerRequest
from ragcore.errors import RagError


async def tool_completion(caller: Caller, value: AnswerRequest, body: CompletionIn) -> Any:
    """The completion as JSON, or its stream. It counts as a question, and its message is kept with what was cited.

    Raises what `answer_question` and `ClientCompletion.stream` raise; of a stream what happens before its first chunk.
    """
    await check_answer_options(scope=caller.scope, request=value)
    await count_questions_or_raise(caller.user, key=caller.key_tag)
    message = await run_db(
        message_prepare, scope=caller.scope, user=caller.user, request=value, channel=Conversation.Channel.API
    )
    client = ClientFields(
        messages=tuple(m.message() for m in body.messages if m.role != "function"), fields=body.model_fields_sent()
    )
    run = ClientCompletion(scope=caller.scope, user=caller.user, request=value, client=client)
    pieces = _pieces(caller, run, message)
    if not body.stream:
        async with aclosing(pieces):
            text = "".join([piece async for piece in pieces])
        return _whole(run, message, body, text)
    first = await anext(pieces, None)
    return streamed_response(_lines(first, pieces, run, message, body), message.pk)


async def _pieces(caller: Caller, run: ClientCompletion, message: Message) -> AsyncGenerator[str, None]:
    """The pieces of the text, within a place among all answers; stores what came of it."""
    async with await take_place(caller.user, key=caller.key_tag):
        try:
            async with aclosing(run.stream()) as pieces:
                async for piece in pieces:
                    yield piece
        except RagError as error:
            await run_db(message_fail, message=message, error=error)
            raise
        assert run.record is not None
        run.record = await run_db(message_finish, message=message, record=run.record)


def _whole(run: ClientCompletion, message: Message, body: CompletionIn, text: str) -> dict[str, Any]:
    content: str | None = StopTexts(body.stop).whole(text)
    reply: dict[str, Any] = {"role": "assistant", "content": content, "context": _context(run, message, body)}
    if run.calls:
        reply |= {"content": content or None, "tool_calls": list(run.calls)}
    usage = run.record.metadata.usage if run.record is not None else {}
    return completion(body, message.pk, message=reply, reason=_reason(run), usage=usage)


async def _lines(
    first: str | None, pieces: AsyncGenerator[str, None], run: ClientCompletion, message: Message, body: CompletionIn
) -> AsyncIterator[str]:
    """The events of the stream; an error in its middle is one of them."""
    chunks, stops = Chunks(body, message.pk), StopTexts(body.stop)
    async with aclosing(pieces):
        yield data_line(chunks.choice({"role": "assistant", "content": stops.feed(first or "")}))
        try:
            async for piece in pieces:
                if text := stops.feed(piece):
                    yield data_line(chunks.choice({"content": text}))
        except RagError as error:
            yield data_line(error_chunk(error.code, error_message(error)))
            yield DONE
            return
        if rest := stops.flush():
            yield data_line(chunks.choice({"content": rest}))
        if run.calls:
            yield data_line(chunks.choice({"tool_calls": [{"index": n, **call} for n, call in enumerate(run.calls)]}))
        yield data_line(chunks.choice({"context": _context(run, message, body)}, _reason(run)))
        for chunk in chunks.usage(run.record.metadata.usage if run.record is not None else {}):
            yield data_line(chunk)
    yield DONE


def _reason(run: ClientCompletion) -> str:
    return "tool_calls" if run.calls else finish_reason(run.is_cut)


def _context(run: ClientCompletion, message: Message, body: CompletionIn) -> dict[str, Any]:
    record = run.record
    return answer_context(
        body,
        citations=[serialize_citation(citation) for citation in (record.cited if record is not None else ())],
        status=record.status if record is not None else "",
        message_id=str(message.pk),
        error_message=None,
    )
