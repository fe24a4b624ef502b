"""What the stages of one answer may use, bound to the asker (D29)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from accounts.scope import Scope
from chat.services.finding import Found, final_score, find, search_request
from chat.services.flow import ULTIMATE_CHUNKS, context_steps
from chat.services.generating import generation_of
from chat.services.prompting import Manner
from chat.services.telling import told
from chat.threads import run_db
from chat.types import AnswerRequest, Emit, Exchange
from knowledge import engines
from knowledge.services.retrieval import sections_around
from ragcore.answering.asking import Asker
from ragcore.answering.pipeline import AnswerTools, build_stages, run_stages
from ragcore.answering.types import AnswerState, Ranked, Rewrite, SearchResult, Step, WrittenText
from ragcore.errors import ModelUnavailableError
from ragcore.generation.tiers import cost_of
from ragcore.generation.whole import whole
from ragcore.options import AnswerOptions
from ragcore.ports import GenerationRequest, LLMGenerator
from ragcore.types import Passage, Profile, Source, Usage

MAX_TOP_K = 50


@dataclass(kw_only=True)
class Tooling:
    """Makes the tools of one answer, and keeps what its searches found for the trace."""

    scope: Scope
    request: AnswerRequest
    manner: Manner
    emit: Emit
    profile: Profile | None = None
    history: tuple[Exchange, ...] = ()
    options: AnswerOptions | None = None  # None: those of the manner
    top_k: int | None = None  # of one search; None: what the request says
    searches: list[Found] = field(default_factory=list)  # in their order
    askers: list[Asker] = field(default_factory=list)
    announce: Callable[[int], Awaitable[None]] | None = None  # told once how many passages the first search found
    is_announced: bool = False

    @cached_property
    def tools(self) -> AnswerTools:
        """Ports for `ragcore.answering`."""
        asker, judge = self._asker(engines.chat_model()), self._asker(engines.judge_model())
        return AnswerTools(
            search=self.search,
            write=self.write,
            tokenizer=engines.tokenizer(),
            embedder=engines.embedder(),
            counter=engines.counter(),
            asker=asker,
            judge=judge or asker,
            lexicon=engines.lexicon(),
            tell=self.tell,
            build=self.build,
            extra={"siblings": self.siblings, "price": price_of},
        )

    @property
    def usage(self) -> Usage:
        """Tokens of everything that was asked besides the answer itself."""
        return sum((asker.usage for asker in self.askers), Usage())

    async def search(self, query: str, rewrites: Sequence[Rewrite] = (), *, top_k: int | None = None) -> SearchResult:
        """See ragcore.answering.pipeline.Search; the ultimate mode takes so many passages for each form (U14)."""
        top_k = top_k or self.top_k
        if top_k is None and self.manner.options.mode == "ultimate":
            top_k = min(ULTIMATE_CHUNKS * (1 + len(rewrites)), MAX_TOP_K)
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
        if self.announce is not None and not self.is_announced:
            self.is_announced = True
            await self.announce(len(found.hits))
        ranked = tuple(Ranked(passage=passage, score=final_score(candidate)) for passage, candidate in found.hits)
        return SearchResult(ranked=ranked, relevant=found.retrieved.relevant, seconds=found.seconds, raw=found)

    async def write(self, question: str, sources: Sequence[Source], *, critique: str = "") -> WrittenText:
        """See ragcore.answering.pipeline.Write; nobody reads along."""
        generator, request = await generation_of(
            query=question, manner=self.manner, sources=sources, history=self.history, critique=critique
        )
        try:
            return await _collected(generator, request)
        except ModelUnavailableError:
            quoted = await _collected(engines.extractive_generator(), request)
            return WrittenText(text=quoted.text, model=quoted.model, is_degraded=True)

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

    def _asker(self, model: object) -> Asker | None:
        if model is None:
            return None
        asker = Asker(model)  # type: ignore[arg-type]
        self.askers.append(asker)
        return asker


def price_of(usage: Usage) -> float:
    """What tokens of the standard model cost, in the currency of the price table; 0 where its price is not known."""
    standard = next((tier for tier in engines.tiers() if tier.name == "standard"), None)
    cost = cost_of(usage, standard) if standard else None
    return float(cost) if cost is not None else 0.0


async def _collected(generator: LLMGenerator, request: GenerationRequest) -> WrittenText:
    """The whole text of a generator. Raises ModelUnavailableError, also where the text breaks off or is empty."""
    read = await whole(generator.stream(request))
    text = read.text.strip()
    if read.interrupted or not text:
        raise ModelUnavailableError
    return WrittenText(text=text, model=generator.name, usage=read.usage)
