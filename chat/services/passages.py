"""Finding passages in other forms of a question, without an answer (V2, V3)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from accounts.models import User
from accounts.scope import Scope
from chat.services.finding import search
from chat.services.profiles import profile_of
from chat.services.prompting import Manner
from chat.services.questions import question_of
from chat.services.tooling import Tooling
from chat.threads import run_db
from chat.types import AnswerRequest, EventType
from knowledge.types import RetrievalRequest, Retrieved
from ragcore.understanding.rewriting import rewritten


async def passages_find(*, scope: Scope, user: User, request: RetrievalRequest, rewrite_method: str) -> Retrieved:
    """Passages for a question, also in the forms that the method makes of it; the asker's profile takes part.

    Raises AnswerTimeoutError, RetrievalUnavailableError, and what `knowledge.services.retrieve` raises.
    """
    profile = await run_db(profile_of, user, sets=request.sets)
    request = replace(request, profile=profile)
    if rewrite_method != "none":
        asked = AnswerRequest(query=request.query)
        tooling = Tooling(scope=scope, request=asked, manner=Manner(), emit=_unheard, profile=profile)
        question = question_of(asked, history=(), profile=profile, user=user)
        forms = await rewritten(question.text, rewrite_method, question=question, tools=tooling.tools)
        request = replace(
            request,
            forms=tuple(form.text for form in forms if not form.is_hypothetical),
            hypothetical=tuple(form.text for form in forms if form.is_hypothetical),
        )
    return await search(scope=scope, request=request)


async def _unheard(kind: EventType, /, **data: Any) -> None:
    """An `Emit` for searches that nobody watches."""
