"""Model names of the OpenAI-compatible API, and requests in its form as our own.

`ragsite` asks everything that the caller may read, `ragsite/<set code>` one set; `:<mode or preset>` behind either says
how (`ragsite:agentic`, `ragsite/radio:fast`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from accounts.scope import Scope
from chat.api.openai_schemas import MODEL, CompletionIn, MessageIn
from chat.errors import UnknownModelError
from chat.types import AnswerRequest, Mode, Preset
from knowledge.models import KnowledgeSet
from knowledge.selectors import sets_readable
from ragcore.types.answering import Turn

MODES, PRESETS = get_args(Mode), get_args(Preset)
MANNERS = (*MODES, *PRESETS)


def model_names(scope: Scope, *, every: bool = False) -> list[str]:
    """`ragsite`, it in every manner, and the sets that the asker may read; `every`: those in every manner, too."""
    codes = sets_readable(scope=scope).order_by("code").values_list("code", flat=True)
    names = [f"{MODEL}/{code}" for code in codes]
    in_manners = [f"{name}:{manner}" for name in ([MODEL, *names] if every else [MODEL]) for manner in MANNERS]
    return [MODEL, *in_manners, *names]


def request_of(scope: Scope, body: CompletionIn) -> AnswerRequest:
    """The request in our form. Raises UnknownModelError. Uses the ORM."""
    name, _, manner = body.model.partition(":")
    given = _manner(body.model, manner) if manner or body.model.endswith(":") else {}
    if body.temperature is not None:
        given["temperature"] = body.temperature
    if tokens := body.max_completion_tokens or body.max_tokens:
        given["max_tokens"] = tokens
    *earlier, question = body.messages
    return AnswerRequest(
        query=question.text.strip(),
        sets=_sets(scope, name),
        filters=body.filters.value(),
        history=_exchanges(earlier),
        given=frozenset(given),
        **given,
    )


def _manner(model: str, word: str) -> dict[str, Any]:
    if word in MODES:
        return {"mode": word}
    if word in PRESETS:
        return {"preset": word}
    known = ", ".join(MANNERS)
    raise UnknownModelError("suffix", model=model, known=known)


def _sets(scope: Scope, model: str) -> tuple[int, ...]:
    """The set that a model name stands for. Raises UnknownModelError."""
    name, slash, code = model.partition("/")
    if name != MODEL:
        raise UnknownModelError("usual", model=model, usual=MODEL)
    if not slash:
        return ()
    found: KnowledgeSet | None = sets_readable(scope=scope).filter(code=code).first()
    if found is None:
        raise UnknownModelError("forbidden", model=model)
    return (found.pk,)


def _exchanges(messages: Sequence[MessageIn]) -> tuple[Turn, ...]:
    """Questions with the answers that follow them; system messages are the product's own business."""
    turns: list[Turn] = []
    question = ""
    for message in messages:
        if message.role == "user":
            question = message.text
        elif message.role == "assistant" and question:
            turns.append(Turn(question=question, answer=message.text))
            question = ""
    return tuple(turns)
