"""Completions in which the tools or the form of another program take part.

The model gets the passages that the question finds, the program's own messages, and its tools; it may call them, or
write in the form that was asked for. The product's own rules of writing hold for answers to people, not here: what is
cited is checked and kept all the same.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, cast

from accounts.models import User
from accounts.scope import Scope
from chat.answering.grounding import build_record, check_answer
from chat.answering.metadata import usage_counts
from chat.answering.model_routing import OTHER_LANGUAGE, price_of
from chat.answering.passage_search import passages_find
from chat.answering.retrieval import SearchOutcome
from chat.concurrency.executors import run_cpu
from chat.errors import InvalidAnswerRequestError
from chat.types import AnswerMetadata, AnswerRecord, AnswerRequest
from knowledge import model_registry
from knowledge.model_counters import counter_of_model
from knowledge.types import RetrievalRequest
from ragcore.errors import ModelUnavailableError
from ragcore.grounding.context import build_context, render_context
from ragcore.llm.generators import EndEvent
from ragcore.llm.model_profile import profile_of
from ragcore.llm.request_fields import with_fields
from ragcore.options import AnswerOptions
from ragcore.ports import ChatMessage, ChatModel, GenerationEvent
from ragcore.prompts import load
from ragcore.prompts.languages import language_name
from ragcore.text.scripts import language_of
from ragcore.types import Source

FORMS = ("json_object", "json_schema")
READ_SECONDS = 8.0  # of the passages, at most


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFields:
    """What a program sends besides a question. `messages`: all of them; `fields`: for the model, as they were sent."""

    messages: tuple[ChatMessage, ...]
    fields: Mapping[str, Any]

    @property
    def needs_json(self) -> bool:
        return (self.fields.get("response_format") or {}).get("type") in FORMS

    @property
    def needs_call(self) -> bool:
        choice = self.fields.get("tool_choice")
        return choice == "required" or isinstance(choice, Mapping)


@dataclass(slots=True, kw_only=True)
class ClientCompletion:
    """One completion. After `stream` its `calls`, `is_cut` and `record` are those of the whole reply."""

    scope: Scope
    user: User
    request: AnswerRequest
    client: ClientFields
    calls: tuple[Mapping[str, Any], ...] = ()
    is_cut: bool = False
    record: AnswerRecord | None = None
    _parts: list[str] = field(default_factory=list)

    async def stream(self) -> AsyncGenerator[str, None]:
        """The pieces of the text. Raises InvalidAnswerRequestError without a language model; ModelUnavailableError
        where it fails, breaks off, or does not keep to a form that had to be kept; and what a search raises.
        """
        model = model_registry.chat_model()
        if model is None:
            name = "response_format" if "response_format" in self.client.fields else "tools"
            raise InvalidAnswerRequestError("needs_model", field=name)
        begun = time.monotonic()
        outcome = await self._search()
        searched = time.monotonic()
        sources = await run_cpu(_sources, outcome, model)
        end = EndEvent()
        async with aclosing(self._events(model, sources)) as events:
            async for event in events:
                if event.text:
                    self._parts.append(event.text)
                    yield event.text
                if isinstance(event, EndEvent):
                    end = event
        self.calls, self.is_cut = end.tool_calls, end.is_cut
        self._check(end)
        ended = time.monotonic()
        metadata = AnswerMetadata(
            total_time=round(ended - begun, 3),
            retrieve_time=round(searched - begun, 3),
            generate_time=round(ended - searched, 3),
            chunks_found=len(outcome.hits),
            model=end.model or model.name,
            usage=usage_counts(end.usage),
            cost=_cost(end, model),
            mode_used="basic",
            is_cut=end.is_cut,
        )
        self.record = replace(await run_cpu(self._record, sources, outcome), metadata=metadata)

    async def _search(self) -> SearchOutcome:
        request = self.request
        search = RetrievalRequest(query=request.query, sets=request.sets, filters=request.filters)
        retrieved, _understood = await passages_find(
            scope=self.scope, user=self.user, request=search, rewrite_method="none", history=request.history
        )
        return SearchOutcome(retrieved=retrieved, seconds=0.0)

    def _events(self, model: ChatModel, sources: tuple[Source, ...]) -> AsyncGenerator[GenerationEvent, None]:
        system = load("client_tools").render(
            context=render_context(sources),
            language=language_name(language_of(self.request.query), otherwise=OTHER_LANGUAGE),
        )
        messages = (ChatMessage(role="system", content=system), *self.client.messages)
        caller = with_fields(model, self.client.fields)
        events = caller.stream(messages, temperature=self.request.temperature, max_tokens=self.request.max_tokens)
        return cast(AsyncGenerator[GenerationEvent, None], events)

    def _check(self, end: EndEvent) -> None:
        """Raises ModelUnavailableError where the reply is not what had to come."""
        if end.interrupted:
            raise ModelUnavailableError("cut")
        if self.client.needs_call and not self.calls:
            raise ModelUnavailableError("no_call")
        if self.client.needs_json and not self.calls and not self.is_cut and not _is_json("".join(self._parts)):
            raise ModelUnavailableError("no_json")

    def _record(self, sources: tuple[Source, ...], outcome: SearchOutcome) -> AnswerRecord:
        """Its text with its citations; calls are kept as the lines of a block of code."""
        text = "".join(self._parts)
        if self.client.needs_json or self.calls:
            lines = [f"{call['function']['name']}({call['function']['arguments']})" for call in self.calls]
            text = "\n\n".join(filter(None, (text, "```\n" + "\n".join(lines) + "\n```" if lines else "")))
        checked = check_answer(text, sources, options=AnswerOptions(), status="answered")
        return build_record(checked, outcome)


def _sources(outcome: SearchOutcome, model: ChatModel) -> tuple[Source, ...]:
    """The best passages that the model reads within its time."""
    options = AnswerOptions()
    tokens = profile_of(model).source_tokens(options.context_tokens, seconds=READ_SECONDS)
    scored = [(passage, candidate.last_score) for passage, candidate in outcome.hits[: options.max_chunks]]
    return tuple(build_context(scored, budget_tokens=tokens, counter=counter_of_model(model.name)))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _cost(end: EndEvent, model: ChatModel) -> float | None:
    cost = end.cost if end.cost is not None else price_of(end.model or model.name, end.usage)
    return float(cost) if cost is not None else None
