"""Replays a stored question as it was understood, with its options, within the rights of asker and viewer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from accounts.scope import Scope
from accounts.selectors import scope_for
from chat.answering.approved import approved_record
from chat.answering.context import AnswerContext, build_context
from chat.answering.pipeline import compute_answer
from chat.answers.rights import question_shown
from chat.attachments.search import Attached
from chat.concurrency.executors import run_cpu, run_db
from chat.models import Message
from chat.types import AnswerRecord, AnswerRequest, Constraints, ignore_event
from knowledge import model_registry
from knowledge.options_draft import NO_DRAFT, OptionsDraft
from knowledge.selectors import sets_listed
from knowledge.types import Filters
from ragcore.options import AnswerOptions
from ragcore.text.request_cache import request_cache
from ragcore.types import Passage

MOST_PASSAGES = 20  # of an answer without cut-off: what a prompt has room for
NOT_ASKED_AGAIN = ("filters", "constraints", "history", "given", "conversation_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervention:
    """What is changed about a question that is asked again, to see where its answer recovers. Nothing by default."""

    keeps_all: bool = False  # as many passages as possible go on, without a cut-off
    document: int | None = None  # alone in the search
    passage: Passage | None = None  # among the sources, before all others; its `chunk` is below 0
    sets: tuple[int, ...] = ()  # that are asked in place of those of then; of them only what asker and viewer may read
    draft: OptionsDraft = NO_DRAFT  # in the place of what sets have


async def answer_again(
    *, message: Message, viewer: Scope, with_old_options: bool = False, intervention: Intervention | None = None
) -> AnswerRecord:
    """Search and write anew, or take the answer that is approved by now; nothing is stored, no cache is read or filled.

    The question stands alone, as it was understood then where the viewer may read what that rests on, with what the
    client sent. Settings of site and knowledge set
    are those of today, or with `with_old_options` those of then. Everything that is found may be read by the asker and
    by the viewer. An `intervention` changes how the question is computed; no approved answer is taken then.
    `message`: with its conversation and user; the caller has checked that the viewer may see it.
    Raises what `chat.answering.pipeline.compute_answer` raises.
    """
    asker = message.conversation.user
    scope = await run_db(scope_for, asker)
    request = await run_db(_request_of, message, scope, viewer)
    if intervention is not None:
        request = _changed(request, intervention)
    with request_cache():
        context = await build_context(scope=scope, user=asker, request=request, message=message, events=ignore_event)
        shared = scope.limited_to(viewer)
        context = replace(context, scope=shared, attached=None, summary="", message_id=None, renders_blocks=False)
        if intervention is not None:
            attached = await run_cpu(_attached, intervention.passage) if intervention.passage is not None else None
            return await compute_answer(replace(context, attached=attached))
        if with_old_options:
            return await compute_answer(_as_then(context, message))
        return await approved_record(context, counts=False) or await compute_answer(context)


def _request_of(message: Message, scope: Scope, viewer: Scope) -> AnswerRequest:
    """The stored request, without sets that are gone and without its conversation."""
    stored: Mapping[str, Any] = message.request
    set_ids = [int(pk) for pk in stored.get("sets") or ()]
    names = {f.name for f in fields(AnswerRequest)} - {*NOT_ASKED_AGAIN, "query", "sets", "cache"}
    return AnswerRequest(
        **{name: stored[name] for name in names if name in stored},
        query=question_shown(scope=viewer, message=message),
        sets=tuple(sets_listed(scope=scope).filter(pk__in=set_ids).order_by("pk").values_list("pk", flat=True)),
        filters=stored_filters(stored.get("filters") or {}),
        constraints=Constraints(**(stored.get("constraints") or {})),
        given=frozenset(stored.get("given") or ()),
        cache=False,
    )


def _changed(request: AnswerRequest, intervention: Intervention) -> AnswerRequest:
    if intervention.keeps_all:
        fields_sent = request.given | {"top_k", "max_chunks"}
        return replace(request, top_k=MOST_PASSAGES, max_chunks=MOST_PASSAGES, given=fields_sent)
    if intervention.document is not None:
        return replace(request, filters=Filters(documents=(intervention.document,)), sets=())
    return replace(request, draft=intervention.draft, sets=intervention.sets or request.sets)


def _attached(passage: Passage) -> Attached:
    vector = model_registry.embedder().embed_documents([passage.text])
    return Attached(passages=[passage], vectors=np.asarray(vector, dtype=np.float32), is_new=True, is_trial=True)


def stored_filters(stored: Mapping[str, Any]) -> Filters:
    """The filters of a stored request."""
    return Filters(
        axis=stored.get("axis") or None,
        capability=tuple(stored.get("capability") or ()),
        organisation=tuple(stored.get("organisation") or ()),
        tags=tuple(stored.get("tags") or ()),
        metadata=dict(stored.get("metadata") or {}),
        documents=tuple(stored.get("documents") or ()),
        related_to=stored.get("related_to"),
        relations=tuple(stored.get("relations") or ()),
    )


def _as_then(context: AnswerContext, message: Message) -> AnswerContext:
    """The recorded options in place of today's; those that are not known any more are left out."""
    recorded = message.trace.get("asked") or {}
    names = {f.name for f in fields(AnswerOptions)}
    values = {name: value for name, value in (recorded.get("answer_options") or {}).items() if name in names}
    config = replace(
        context.config,
        options=replace(context.config.options, **values),
        preset_retrieval=dict(message.trace.get("options") or {}),
    )
    return replace(context, config=config)
