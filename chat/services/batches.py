"""Many questions in one request (V12)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

from accounts.models import User
from accounts.scope import Scope
from chat.errors import BusyError, TurnFailedError
from chat.services.turns import answer_now
from chat.types import AnswerRequest
from ragcore.errors import RagError

logger = logging.getLogger(__name__)

CONCURRENT = 4
BUSY_TRIES = 20
BUSY_WAIT_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchItem:
    """The fate of one question: a result or an error."""

    index: int
    result: dict[str, Any] | None = None
    error: RagError | None = None


async def answer_batch(*, scope: Scope, user: User, queries: Sequence[str], request: AnswerRequest) -> list[BatchItem]:
    """Answer each question on its own, a few at a time, in the order given. One that fails does not hurt the others."""
    places = asyncio.Semaphore(CONCURRENT)

    async def one(index: int, query: str) -> BatchItem:
        async with places:
            try:
                result = await _patiently(scope=scope, user=user, request=replace(request, query=query))
            except RagError as error:
                return BatchItem(index=index, error=error)
            except Exception:
                logger.exception("a question of a batch failed")
                return BatchItem(index=index, error=TurnFailedError("internal", _("Something went wrong.")))
            return BatchItem(index=index, result=result)

    return list(await asyncio.gather(*(one(index, query) for index, query in enumerate(queries))))


async def _patiently(*, scope: Scope, user: User, request: AnswerRequest) -> dict[str, Any]:
    """A batch has time: it waits for a free place instead of failing half of its questions."""
    for _try in range(BUSY_TRIES):
        try:
            return await answer_now(scope=scope, user=user, request=request)
        except BusyError:
            await asyncio.sleep(BUSY_WAIT_SECONDS)
    return await answer_now(scope=scope, user=user, request=request)
