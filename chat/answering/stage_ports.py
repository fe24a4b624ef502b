"""What the stages of one answer may use, bound to the asker (D29)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property, partial

from accounts.scope import Scope
from chat.answering.answer_config import Manner
from chat.answering.context import SILENT_SECONDS, Patience
from chat.answering.model_routing import choice_of, generation_of, is_free, models_of, price_of, spent_of
from chat.answering.progress import told
from chat.answering.retrieval import Found, final_score, find, search_request
from chat.answering.stage_plans import chunks_per_form, context_steps
from chat.executors import run_db
from chat.types import AnswerRequest, Emit, Exchange
from knowledge import engines
from knowledge.services.retrieval import sections_around
from ragcore.answering.pipeline import build_stages, run_stages
from ragcore.errors import ModelUnavailableError
from ragcore.llm.client import LlmClient, with_short_retries
from ragcore.llm.generators import EndEvent
from ragcore.llm.usage import MeteredStream, UsageEntry, purpose_of_prompt, total_known_cost
from ragcore.options import AnswerOptions
from ragcore.ports import ChatModel, GenerationRequest, LLMGenerator
from ragcore.stage_ports import StagePorts
from ragcore.text.normalise import normalise_query
from ragcore.types import Passage, Profile, Source
from ragcore.types.answering import AnswerState, Ranked, Rewrite, SearchResult, Step, WrittenText

MAX_TOP_K = 50


@dataclass(kw_only=True)
class Tooling:
    """Makes the tools of one answer, and keeps what its searches found and its requests used."""

    scope: Scope
    request: AnswerRequest
    manner: Manner
    emit: Emit
    profile: Profile | None = None
    history: tuple[Exchange, ...] = ()
    options: AnswerOptions | None = None  # None: those of the manner
    patience: Patience = field(default_factory=Patience)
    stop: asyncio.Event = field(default_factory=asyncio.Event)  # set by the reader
    top_k: int | None = None  # of one search; None: what the request says
    searches: list[Found] = field(default_factory=list)  # in their order
    askers: list[LlmClient] = field(default_factory=list)
    texts: list[UsageEntry] = field(default_factory=list)  # that loops have written, also those that they did not keep
    asked: list[str] = field(default_factory=list)  # what was searched with, as far as it is for people to read
    # told once how many passages the first search found, and with which other forms of the question
    announce: Callable[[int, Sequence[str]], Awaitable[None]] | None = None
    is_announced: bool = False

    @cached_property
    def tools(self) -> StagePorts:
        """Ports for `ragcore.answering`."""
        asker, judge = self._asker(engines.chat_model()), self._asker(engines.judge_model())
        return StagePorts(
            search=self.search,
            write=self.write,
            tokenizer=engines.tokenizer(),
            embedder=engines.embedder(),
            counter=engines.counter(),
            llm=asker,
            judge=judge or asker,
            lexicon=engines.lexicon(),
            report=self.tell,
            build_context=self.build,
            load_sections=self.siblings,
            cost_so_far=self.cost,
            seconds_left=self.patience.left_before_writing,
            stop=self.stop,
        )

    @property
    def spent(self) -> list[UsageEntry]:
        """What everything has used besides the answer that is written in the end, by purpose and model."""
        asked = [
            UsageEntry(
                purpose=purpose_of_prompt(prompt),
                model=asker.model.name,
                usage=usage,
                cost=price_of(asker.model.name, usage),
            )
            for asker in self.askers
            for prompt, usage in asker.used.items()
        ]
        return [*asked, *self.texts]

    def cost(self) -> float:
        """What that has cost, in the currency of the price table, as far as prices are known."""
        return float(total_known_cost(self.spent))

    def other_forms(self, standalone: str = "") -> list[str]:
        """Other forms in which the question was asked, each once: first the one without its conversation."""
        forms: dict[str, str] = {_plain(self.request.query): ""}
        for form in (standalone, *self.asked):
            forms.setdefault(_plain(form), form)
        return [form for form in forms.values() if form]

    async def search(self, query: str, rewrites: Sequence[Rewrite] = (), *, top_k: int | None = None) -> SearchResult:
        """See ragcore.stage_ports.SearchPort; the ultimate mode takes so many passages for each form (U14)."""
        top_k = top_k or self.top_k
        each = chunks_per_form(self.manner.options)
        if top_k is None and each is not None and "top_k" not in self.request.given:
            top_k = min(each * (1 + len(rewrites)), MAX_TOP_K)
        found = await find(
            scope=self.scope,
            request=self.request,
            emit=self.emit,
            manner=self.manner,
            profile=self.profile,
            query=query,
            rewrites=rewrites,
            top_k=top_k,
        )
        self.searches.append(found)
        hidden = {_plain(rewrite.text) for rewrite in rewrites if not rewrite.is_for_people}
        self.asked += [form for form in (query, *found.queries) if _plain(form) not in hidden]
        if self.announce is not None and not self.is_announced:
            self.is_announced = True
            await self.announce(len(found.hits), self.other_forms())
        ranked = tuple(Ranked(passage=passage, score=final_score(candidate)) for passage, candidate in found.hits)
        return SearchResult(ranked=ranked, relevant=found.retrieved.relevant, seconds=found.seconds, raw=found)

    async def write(self, question: str, sources: Sequence[Source], *, critique: str = "") -> WrittenText:
        """See ragcore.stage_ports.WritePort; nobody reads along."""
        generator, request = await generation_of(
            query=question,
            manner=self.manner,
            sources=sources,
            history=self.history,
            critique=critique,
            estimated_tokens=self.request.constraints.estimated_tokens,
            spent=total_known_cost(self.spent),
            absent=self.absent,
        )
        try:
            return await self._collected(generator, request)
        except ModelUnavailableError as error:
            if "model" in error.data:
                self.patience.unreachable.update(models_of(generator))
            quoted = await self._collected(engines.extractive_generator(), request)
            choice = choice_of(generator)
            return WrittenText(
                text=quoted.text,
                model=quoted.model,
                is_degraded=True,
                reason=error.code,
                choice=choice.reasons if choice else (),
            )

    async def build(self, state: AnswerState) -> AnswerState:
        """Numbered sources from the passages, as in a flow without loop."""
        return await run_stages(build_stages(context_steps(self.options or self.manner.options)), state, self.tools)

    async def siblings(self, chunks: Sequence[int], *, max_tokens: int) -> list[tuple[Passage, ...]]:
        """See ragcore.ports.PassageStore.siblings."""
        request = search_request(self.request, manner=self.manner, query=self.request.query)
        look = partial(sections_around, scope=self.scope, request=request)
        return await run_db(look, chunks=chunks, max_tokens=max_tokens)

    async def tell(self, step: Step, /) -> None:
        """A step for the reader, in words."""
        await self.emit("step", **told(step))

    def _asker(self, model: ChatModel | None) -> LlmClient | None:
        if model is None:
            return None
        limits: list[Callable[[], bool]] = [
            self._is_within_cost,
            partial(self._is_allowed, model.name),
            partial(self._answers, model.name),
        ]
        asker = LlmClient(
            with_short_retries(model), limits=limits, seconds_left=self.patience.left_before_writing, stop=self.stop
        )
        self.askers.append(asker)
        return asker

    def _is_within_cost(self) -> bool:
        """Rules take the place of a model that would be asked when the limit of cost is reached."""
        limit = self.manner.options.max_cost
        return not limit or total_known_cost(self.spent) < Decimal(str(limit))

    def _is_allowed(self, model: str) -> bool:
        return is_free(model) or not self.manner.is_free_only

    @property
    def absent(self) -> frozenset[str]:
        """Models that did not answer this question, whoever asked; who writes does not wait for them again."""
        asked = (asker.model.name for asker in self.askers if asker.counts["unreachable"])
        return frozenset((*asked, *self.patience.unreachable))

    def _answers(self, model: str) -> bool:
        """Whether a model is worth asking for what rules can do, too; one that says nothing, or is busy, is left alone
        for the rest of the answer. Only who writes still asks it."""
        counts = [asker.counts for asker in self.askers if asker.model.name == model]
        return model not in self.absent and not any(each["silent"] or each["busy"] for each in counts)

    async def _collected(self, generator: LLMGenerator, request: GenerationRequest) -> WrittenText:
        """The whole text of a generator, counted however it ends.

        Raises ModelUnavailableError, also where the text breaks off or is empty.
        """
        reading, start = MeteredStream(request.messages), time.monotonic()
        try:
            async for _event in reading.of(generator.stream(request)):
                pass
        except asyncio.CancelledError:  # by the limit of a loop
            if not reading.text and time.monotonic() - start >= SILENT_SECONDS:
                self.patience.unreachable.update(models_of(generator))
            raise
        finally:
            self.texts.append(spent_of(generator, reading))
        end, choice = reading.end, choice_of(generator)
        if end is None or end.interrupted or not reading.text.strip():
            raise ModelUnavailableError
        known = end if isinstance(end, EndEvent) else EndEvent()
        return WrittenText(
            text=reading.text.strip(),
            model=known.model or generator.name,
            usage=reading.usage,
            is_cut=known.is_cut,
            tier=known.tier.name if known.tier else "",
            choice=choice.reasons if choice else (),
        )


def _plain(text: str) -> str:
    """What a form is compared by: a search writes spaces and widths its own way."""
    return normalise_query(text).casefold()
