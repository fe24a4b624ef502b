"""The entry of every question of the API: its options are checked, the question is counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accounts.scope import Scope
from chat.answering.answer_config import only_set, sent_options
from chat.api.auth import Caller
from chat.concurrency.executors import run_db
from chat.concurrency.limits import count_questions_or_raise
from chat.errors import InvalidAnswerRequestError
from chat.models import Conversation, Message
from chat.turns.lifecycle import StoredAnswer, answer_now, turn_start
from chat.types import AnswerRequest
from knowledge.selectors.options import QUERY_GROUPS, site_options
from ragcore.options import Conflict, Resolved, conflicts, resolve

CHECKED = frozenset({"top_k", "max_chunks", "max_tokens", "mode", "strategy"})  # options that may be in conflict
REQUEST = "request"


async def answer_question(caller: Caller, value: AnswerRequest) -> StoredAnswer:
    """Check the options, count the question, and answer it."""
    await check_answer_options(scope=caller.scope, request=value)
    await count_questions_or_raise(caller.user, key=caller.key_tag)
    return await answer_now(scope=caller.scope, user=caller.user, request=value, key=caller.key_tag)


async def start_turn(caller: Caller, value: AnswerRequest) -> Message:
    """Check the options, count the question, and start its turn."""
    await check_answer_options(scope=caller.scope, request=value)
    await count_questions_or_raise(caller.user, key=caller.key_tag)
    return await turn_start(
        scope=caller.scope, user=caller.user, request=value, key=caller.key_tag, channel=Conversation.Channel.API
    )


async def check_answer_options(*, scope: Scope, request: AnswerRequest) -> None:
    """Raises InvalidAnswerRequestError for options that the client sent and that cannot work with those in force."""
    if not CHECKED & request.given:
        return
    retrieval = {"top_k": request.top_k} if "top_k" in request.given else {}
    options_sent: dict[str, Mapping[str, Any]] = {"retrieval": retrieval, "answer": sent_options(request)}
    await run_db(_raise_on_conflicts, scope, request.sets, options_sent)


async def check_search_options(*, scope: Scope, sets: tuple[int, ...], top_k: int | None) -> None:
    """The same for a search."""
    if top_k is not None:
        await run_db(_raise_on_conflicts, scope, sets, {"retrieval": {"top_k": top_k}, "answer": {}})


def _raise_on_conflicts(scope: Scope, sets: tuple[int, ...], options_sent: Mapping[str, Mapping[str, Any]]) -> None:
    layers: list[tuple[str, Mapping[str, Any]]] = [("site", site_options(tenant_id=scope.tenant_id))]
    if alone := only_set(scope=scope, sets=sets):
        layers.append((f"set {alone.code}", alone.options))
    groups: dict[str, Resolved[Any]] = {
        code: resolve(
            group, *((name, of_layer.get(code, {})) for name, of_layer in layers), (REQUEST, options_sent.get(code, {}))
        )
        for code, group in QUERY_GROUPS.items()
    }
    names = {f"{code}.{name}" for code, values in options_sent.items() for name in values}
    clashes = [conflict for conflict in conflicts(groups) if {conflict.option, conflict.other} & names]
    if clashes:
        fields = [_fault(conflict, names) for conflict in clashes]
        raise InvalidAnswerRequestError("field", fields=fields, field=fields[0]["field"], problem=fields[0]["message"])


def _fault(conflict: Conflict, names: set[str]) -> dict[str, str]:
    """The fault at the field that the client sent."""
    at = conflict.option if conflict.option in names else conflict.other
    about = "" if at == conflict.option else f"{conflict.option}: "
    return {"field": at.partition(".")[2], "message": about + conflict.message}
