"""Finding passages in other forms of a question and in a conversation, without an answer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from chat.answering.answer_config import AnswerConfig
from chat.answering.context import AnswerContext, build_question, profile_get
from chat.answering.retrieval import SearchOutcome, run_search, with_rewrites
from chat.answering.stage_ports import AnswerPorts
from chat.concurrency.executors import run_db
from chat.conversations.memory import session_history
from chat.selectors import conversation_get
from chat.types import AnswerRequest, ignore_event
from knowledge.search_profile import Retrieved
from knowledge.selectors.relations import successors
from knowledge.types import RetrievalRequest
from ragcore.answering.pipeline import build_stages, run_stages
from ragcore.types import Profile
from ragcore.types.answering import AnswerState, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderstoodQuery:
    """What was searched with."""

    understood: str | None = None  # the question without its conversation, where that is another one
    queries: tuple[str, ...] = ()  # other forms, that one first
    method: str = "none"  # that made them
    turns: int = 0  # of the conversation that it was understood with


async def passages_find(
    *,
    scope: Scope,
    user: User,
    request: RetrievalRequest,
    rewrite_method: str,
    history: Sequence[Turn] = (),
) -> tuple[Retrieved, UnderstoodQuery]:
    """Passages for a question, also in the forms that the method makes of it; the user's profile takes part.

    `history`: earlier turns, oldest first; the question is understood with them as `generate` does, and the method
    "auto" asks it with the words of its conversation, too.

    Raises AnswerTimeoutError, RetrievalUnavailableError, and what `knowledge.services.retrieve` raises.
    """
    profile = await run_db(profile_get, user, sets=request.sets)
    request = replace(request, profile=profile)
    state = await _understand(scope, user, request.query, rewrite_method, history, profile)
    query = state.standalone or request.query
    retrieved = await run_search(scope=scope, request=with_rewrites(replace(request, query=query), state.rewrites))
    retrieved = await with_successors(scope, retrieved)
    forms = [form.text for form in state.rewrites]
    forms += SearchOutcome(retrieved=retrieved, seconds=0.0).queries[1:]
    understood = state.standalone if state.standalone not in ("", state.question.text) else None
    return retrieved, UnderstoodQuery(
        understood=understood,
        queries=tuple(dict.fromkeys([understood, *forms] if understood else forms)),
        method=state.stats.get("rewrite", {}).get("method", "none"),
        turns=len(history),
    )


async def with_successors(scope: Scope, retrieved: Retrieved) -> Retrieved:
    """The hits with what replaces them, where the asker may open that, too."""
    if retrieved.profile is None or not retrieved.profile.visible.has_editions:
        return retrieved
    return await run_db(_with_successors, scope, retrieved)


def _with_successors(scope: Scope, retrieved: Retrieved) -> Retrieved:
    hits = {candidate.document for candidate in retrieved.state.candidates}
    newer = successors(scope=scope, document_ids=hits)
    return replace(retrieved, replaced_by={pk: edition.named for pk, edition in newer.items()})


async def conversation_turns(*, scope: Scope, conversation_id: str) -> tuple[Turn, ...]:
    """The turns of one of the user's conversations, oldest first; () where nothing was said under this id yet."""
    with suppress(NotFoundError):
        conversation = await run_db(conversation_get, scope=scope, conversation_id=conversation_id)
        return await session_history(user_id=scope.user_id, conversation_id=conversation.pk, until=conversation.leaf_id)
    return ()


async def _understand(
    scope: Scope, user: User, query: str, method: str, history: Sequence[Turn], profile: Profile | None
) -> AnswerState:
    """The question on its own and its other forms, by the stages of an answer."""
    question = build_question(query, history=history, profile=profile, user=user)
    state = AnswerState(question=question)
    rewrites = method != "none"
    steps: list[tuple[str, dict[str, Any]]] = []
    if history or method == "auto":
        steps.append(("understand.standalone", {"related": rewrites}))
    if rewrites:
        steps.append(("rewrite", {"method": method}))
    request = AnswerRequest(query=query)
    context = AnswerContext(scope=scope, request=request, config=AnswerConfig(), question=question, events=ignore_event)
    return await run_stages(build_stages(steps), state, AnswerPorts(context=context).stage_ports) if steps else state
