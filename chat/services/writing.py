"""Letting a generator write, and what happens when it cannot (V13)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from chat import metrics
from chat.services.output import Output
from chat.threads import run_cpu
from chat.types import Emit
from knowledge import engines
from ragcore.errors import ModelUnavailableError
from ragcore.ports import GenerationEvent, GenerationRequest, LLMGenerator
from ragcore.types import Usage

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Draft:
    """What was written, before it is checked against its sources."""

    text: str = ""
    model: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0
    first_words_seconds: float | None = None
    degraded: str | None = None  # what a reader is told about it
    stopped: bool = False


@dataclass(slots=True, kw_only=True)
class Writer:
    """One answer being written. `stop`: set by the reader; `refusal`: what is said when the sources say nothing."""

    request: GenerationRequest
    output: Output
    emit: Emit
    stop: asyncio.Event
    refusal: str
    strict: bool = False
    draft: Draft = field(default_factory=Draft)
    _interrupted: bool = False

    async def run(self) -> Draft:
        """The draft; degraded where the model failed. Raises ModelUnavailableError if the client is strict."""
        start = time.perf_counter()
        await self._unless_stopped(self._write(start))
        self.draft.text = (await self.output.finish()).strip()
        self.draft.seconds = time.perf_counter() - start
        return self.draft

    async def _unless_stopped(self, writing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(writing)
        stopped = asyncio.create_task(self.stop.wait())
        try:
            await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                task.result()
            else:
                self.draft.stopped = True
        finally:
            for each in (task, stopped):
                each.cancel()
            await asyncio.gather(task, stopped, return_exceptions=True)

    async def _write(self, start: float) -> None:
        generator = await run_cpu(engines.generator)
        if engines.chat_model() is None:
            await self._extract(start)
            return
        try:
            self.draft.model = generator.name
            await self._model(generator, start)
        except ModelUnavailableError as error:
            await self._without_model(error, start)

    async def _model(self, generator: LLMGenerator, start: float) -> None:
        async for event in generator.stream(self.request):
            await self._take(event, start)
        if self._interrupted:
            raise ModelUnavailableError
        if not self.output.text.strip():
            raise ModelUnavailableError(_("The language model returned an empty answer."))

    async def _take(self, event: GenerationEvent, start: float) -> None:
        if event.text:
            if self.draft.first_words_seconds is None:
                self.draft.first_words_seconds = time.perf_counter() - start
                metrics.FIRST_TOKEN_SECONDS.observe(self.draft.first_words_seconds)
            await self.output.write(event.text)
        if event.final:
            self.draft.usage = event.usage
            self._interrupted = event.interrupted

    async def _without_model(self, error: ModelUnavailableError, start: float) -> None:
        """Text that has begun is kept and marked as incomplete; otherwise the sources speak for themselves."""
        if self.strict:
            raise ModelUnavailableError(error.message, **{**error.data, "strict": True}) from error
        logger.warning("answering without the language model: %s", error)
        if self.output.text.strip():
            self.draft.degraded = _("The language model stopped in the middle; this answer is incomplete.")
            await self.emit("step", name="interrupted", detail=self.draft.degraded)
            return
        self.draft.degraded = _("The language model cannot be reached; this answer was put together from the sources.")
        await self.emit("step", name="degraded", detail=self.draft.degraded)
        await self._extract(start)

    async def _extract(self, start: float) -> None:
        """Sentences of the sources; the refusal where none of them fits."""
        generator = engines.extractive_generator()
        self.draft.model = generator.name
        async for event in generator.stream(self.request):
            await self._take(event, start)
        if not self.output.text.strip():
            await self.output.write(self.refusal)
