"""The ports of stages, bound to one answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, partial

from chat.answering.attached_files import AttachedSubject
from chat.answering.context import SILENT_SECONDS, AnswerContext
from chat.answering.facts import AnswerFacts
from chat.answering.focus import focus_documents
from chat.answering.model_routing import (
    is_free,
    model_names,
    price_of,
    route_generation,
    routing_decision,
    usage_entry,
)
from chat.answering.progress import step_event
from chat.answering.retrieval import SearchOutcome, build_search_request, search_for_answer
from chat.answering.stage_plans import chunks_per_form, context_steps
from chat.attachments.search import Attached, attached_rank
from chat.concurrency.executors import run_cpu, run_db
from knowledge import model_registry
from knowledge.model_counters import writing_counter
from knowledge.services.retrieval import sections_around
from ragcore.answering.pipeline import build_stages, run_stages
from ragcore.errors import ModelUnavailableError
from ragcore.llm.client import LlmClient, with_short_retries
from ragcore.llm.generators import EndEvent
from ragcore.llm.usage import MeteredStream, UsageEntry, purpose_of_prompt, total_known_cost
from ragcore.options import AnswerOptions
from ragcore.ports import ChatModel, GenerationRequest, LLMGenerator
from ragcore.retrieval.stages.graph import ARM as GRAPH
from ragcore.stage_ports import StagePorts
from ragcore.text.lexicon import TermLexicon
from ragcore.text.normalise import normalise_query
from ragcore.types import Passage, Source
from ragcore.types.answering import AnswerState, Ranked, Rewrite, SearchResult, Step, WrittenText
from ragcore.understanding.lexicon import LexiconChain, lexicon_names

MAX_TOP_K = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRun:
    """What holds for one run of stages, beside what the question says."""

    options: AnswerOptions | None = None  # of an adaptive plan; None: those of the context
    top_k: int | None = None  # of one search; None: what the request says
    reports_first_search: bool = False  # whether the event `context` follows the first search, as for loops
    files: AttachedSubject | None = None  # attached files that the question is about


@dataclass(kw_only=True)
class AnswerPorts:
    """Binds the ports of stages to one answer, and keeps what its searches found and its requests used."""

    context: AnswerContext
    searches: list[SearchOutcome] = field(default_factory=list)  # in their order
    clients: list[LlmClient] = field(default_factory=list)
    loop_texts: list[UsageEntry] = field(default_factory=list)  # also of texts that a loop did not keep
    thinking_seconds: float = 0.0  # of models that wrote these texts
    searched_forms: list[str] = field(default_factory=list)  # as far as they are for people to read
    is_context_reported: bool = False
    facts: AnswerFacts | None = None  # for the question

    @cached_property
    def stage_ports(self) -> StagePorts:
        """Ports for `ragcore.answering`, for a run of stages of which nothing else is said."""
        light, standard = model_registry.light_model(), model_registry.chat_model()
        llm, judge = self._client(light), self._client(model_registry.judge_model())
        return StagePorts(
            search=self.search,
            write=self.write,
            tokenizer=model_registry.tokenizer(),
            embedder=model_registry.embedder(),
            counter=writing_counter(),
            llm=llm,
            judge=judge or (llm if light is standard else self._client(standard)),
            lexicon=LexiconChain(
                [lexicon for lexicon in (self.context.lexicon, model_registry.lexicon()) if lexicon is not None]
            ),
            vocabulary=self.vocabulary,
            report=self.report,
            build_context=self.build_context,
            load_sections=self.load_sections,
            cost_so_far=self.cost_so_far,
            seconds_left=self.context.deadline.remaining_before_writing,
            stop=self.context.stop,
        )

    def bound(self, run: StageRun) -> StagePorts:
        """The same ports for a run of stages: models, limits and what was shortened before are shared."""
        return replace(
            self.stage_ports,
            search=partial(self.search, run=run),
            write=partial(self.write, run=run),
            build_context=partial(self.build_context, run=run),
        )

    # ── what was used and found ─────────────────────────────────────────────────────────────────

    @property
    def usage_entries(self) -> list[UsageEntry]:
        """Token usage by purpose and model, without the final answer."""
        prompts = [
            UsageEntry(
                purpose=purpose_of_prompt(prompt),
                model=client.model.name,
                usage=usage,
                cost=price_of(client.model.name, usage),
            )
            for client in self.clients
            for prompt, usage in client.used.items()
        ]
        return [*prompts, *self.loop_texts]

    def cost_so_far(self) -> float:
        """The cost of that, in the currency of the price table, as far as prices are known."""
        return float(total_known_cost(self.usage_entries))

    @property
    def unavailable_models(self) -> frozenset[str]:
        """Names of models that did not answer this question; the final text is not waited for from them again."""
        names = (client.model.name for client in self.clients if client.counts["unreachable"])
        return frozenset((*names, *self.context.deadline.unreachable_models))

    @property
    def silent_models(self) -> list[str]:
        """Embedding models of sets that did not answer a search of this question."""
        return sorted({model for outcome in self.searches for model in outcome.silent_models})

    def other_forms(self, standalone: str = "") -> list[str]:
        """Other forms in which the question was searched for, each once: first the one without its conversation."""
        forms: dict[str, str] = {_comparable(self.context.request.query): ""}
        for form in (standalone, *self.searched_forms):
            forms.setdefault(_comparable(form), form)
        return [form for form in forms.values() if form]

    def main_search(self, state: AnswerState) -> SearchOutcome:
        """The search that brought most of the sources, the latest of several; the trace shows it."""
        chunks = {source.passage.chunk for source in state.sources}
        return max(
            reversed(self.searches),
            key=lambda outcome: len(chunks & {passage.chunk for passage, _candidate in outcome.hits}),
        )

    # ── the ports ───────────────────────────────────────────────────────────────────────────────

    async def search(
        self, query: str, rewrites: Sequence[Rewrite] = (), *, top_k: int | None = None, run: StageRun = StageRun()
    ) -> SearchResult:
        """See ragcore.stage_ports.SearchPort; the ultimate mode takes so many passages for each form."""
        files = run.files
        of_files = await run_cpu(files.search) if files is not None else ()
        if files is not None and files.is_alone:
            self.searches.append(files.outcome())
            return SearchResult(ranked=of_files, relevant=True)
        top_k = top_k or run.top_k
        each = chunks_per_form(self.context.config.options)
        if top_k is None and each is not None and "top_k" not in self.context.request.given:
            top_k = min(each * (1 + len(rewrites)), MAX_TOP_K)
        has_focus = bool(self.context.cited_before) and not self.searches  # one search more, not each time
        focus = await run_cpu(focus_documents, self.context) if has_focus else ()
        outcome = await search_for_answer(self.context, query, rewrites, top_k=top_k, focus=focus)
        attached: tuple[Ranked, ...] = ()
        if files is not None:
            if files.answers or model_registry.chat_model() is not None:  # a model reads them before it says no
                outcome, attached = _as_relevant(outcome), _before_all(of_files, outcome)
        elif self.context.attached is not None:
            outcome, attached = await run_cpu(_with_attached, self.context.attached, outcome)
        self.searches.append(outcome)
        hidden = {_comparable(rewrite.text) for rewrite in rewrites if not rewrite.is_for_people}
        self.searched_forms += [form for form in (query, *outcome.queries) if _comparable(form) not in hidden]
        if run.reports_first_search:
            await self.report_context(len(outcome.hits), self.other_forms())
        ranked = tuple(
            Ranked(passage=passage, score=candidate.last_score, by_graph=GRAPH in candidate.detail)
            for passage, candidate in outcome.hits
        )
        ranked = (*attached, *ranked)
        return SearchResult(ranked=ranked, relevant=outcome.retrieved.relevant, seconds=outcome.seconds)

    async def write(
        self, question: str, sources: Sequence[Source], *, critique: str = "", run: StageRun = StageRun()
    ) -> WrittenText:
        """See ragcore.stage_ports.WritePort."""
        generator, request = await route_generation(
            self.context,
            question,
            sources,
            spent=total_known_cost(self.usage_entries),
            unavailable=self.unavailable_models,
            critique=critique,
            files=run.files,
            facts=self.facts,
        )
        try:
            with self.context.deadline.paused():
                return await self._collect_text(generator, request)
        except ModelUnavailableError as error:
            if "model" in error.data:
                self.context.deadline.unreachable_models.update(model_names(generator))
            quoted = await self._collect_text(model_registry.extractive_generator(), request)
            choice = routing_decision(generator)
            return WrittenText(
                text=quoted.text,
                model=quoted.model,
                is_degraded=True,
                reason=error.reason or error.code,
                choice=choice.reasons if choice else (),
            )

    async def build_context(self, state: AnswerState, *, run: StageRun = StageRun()) -> AnswerState:
        """Numbered sources from the passages, as without a loop."""
        steps = context_steps(run.options or self.context.config.options)
        built = await run_stages(build_stages(steps), state, self.stage_ports)
        return replace(built, sources=self.facts.with_sources(built.sources)) if self.facts is not None else built

    async def load_sections(self, chunks: Sequence[int], *, max_tokens: int) -> list[tuple[Passage, ...]]:
        """See ragcore.ports.PassageStore.siblings."""
        request = build_search_request(self.context, self.context.request.query)
        load = partial(sections_around, scope=self.context.scope, request=request)
        return await run_db(load, chunks=chunks, max_tokens=max_tokens)

    async def report(self, step: Step, /) -> None:
        """The event of a step, in words."""
        await self.context.events("step", **step_event(step))

    async def report_context(self, count: int, rewritten: Sequence[str] = ()) -> None:
        """The event `context`, once: how many passages were found, with which other forms of the question."""
        if not self.is_context_reported:
            self.is_context_reported = True
            await report_context(self.context, count, rewritten)

    def vocabulary(self) -> list[str]:
        """Names of the terms that the asker may use, and of the general ones."""
        entries = self.context.lexicon.entries if isinstance(self.context.lexicon, TermLexicon) else ()
        return list(dict.fromkeys((*(name for entry in entries for name, _kind in entry.names()), *lexicon_names())))

    # ── models ──────────────────────────────────────────────────────────────────────────────────

    def _client(self, model: ChatModel | None) -> LlmClient | None:
        if model is None:
            return None
        limits: list[Callable[[], bool]] = [
            self._is_within_cost,
            partial(self._is_allowed, model.name),
            partial(self._is_answering, model.name),
        ]
        client = LlmClient(
            with_short_retries(model),
            limits=limits,
            seconds_left=self.context.deadline.remaining_before_writing,
            stop=self.context.stop,
        )
        self.clients.append(client)
        return client

    def _is_within_cost(self) -> bool:
        """At the limit of cost, rules take the place of a model."""
        limit = self.context.config.options.max_cost
        return not limit or total_known_cost(self.usage_entries) < Decimal(str(limit))

    def _is_allowed(self, model: str) -> bool:
        return is_free(model) or not self.context.config.is_free_only

    def _is_answering(self, model: str) -> bool:
        """Whether a model is asked for what rules can do, too; after silence or "too many requests" it is not asked
        again for this answer, except to write the text."""
        counts = [client.counts for client in self.clients if client.model.name == model]
        return model not in self.unavailable_models and not any(each["silent"] or each["busy"] for each in counts)

    async def _collect_text(self, generator: LLMGenerator, request: GenerationRequest) -> WrittenText:
        """The whole text of a generator, counted however it ends.

        Raises ModelUnavailableError, also where it does not begin in time, breaks off or is empty.
        """
        reading, start = MeteredStream(request.messages), time.monotonic()
        seconds = self.context.deadline.first_token_seconds(generator)
        try:
            async with asyncio.timeout(seconds) as limit:
                async for _event in reading.of(generator.stream(request)):
                    if limit.when() is not None:
                        limit.reschedule(None)
        except TimeoutError:
            raise ModelUnavailableError("slow", model=generator.name, seconds=f"{seconds:g}") from None
        except asyncio.CancelledError:  # by the limit of a loop
            if not reading.is_alive and time.monotonic() - start >= SILENT_SECONDS:
                self.context.deadline.unreachable_models.update(model_names(generator))
            raise
        finally:
            self.loop_texts.append(usage_entry(generator, reading))
            self.thinking_seconds += reading.thinking.seconds
        end, choice = reading.end, routing_decision(generator)
        if end is None or end.interrupted:
            raise ModelUnavailableError("cut")
        if not reading.text.strip():
            raise ModelUnavailableError("empty_answer")
        ending = end if isinstance(end, EndEvent) else EndEvent()
        return WrittenText(
            text=reading.text.strip(),
            model=ending.model or generator.name,
            usage=reading.usage,
            is_cut=ending.is_cut,
            tier=ending.tier.name if ending.tier else "",
            choice=choice.reasons if choice else (),
        )


async def report_context(context: AnswerContext, count: int, rewritten: Sequence[str] = ()) -> None:
    """The event `context`: how many passages were found, with which other forms of the question."""
    message_id = str(context.message_id)
    await context.events("context", message_id=message_id, chunks_count=count, rewritten_queries=list(rewritten))


def _comparable(text: str) -> str:
    """What a form is compared by: a search writes spaces and widths its own way."""
    return normalise_query(text).casefold()


def _with_attached(attached: Attached, outcome: SearchOutcome) -> tuple[SearchOutcome, tuple[Ranked, ...]]:
    """The search as one that found something where attached files fit the question, and their passages, the best
    first and before all others. The trace of the search does not have them: reviewers may read it.
    """
    retrieved = outcome.retrieved
    best = max((candidate.last_score for _passage, candidate in outcome.hits), default=0.0)
    ranked, fits = attached_rank(attached, retrieved.state.query, above=best)
    return (_as_relevant(outcome) if fits else outcome), ranked


def _before_all(ranked: Sequence[Ranked], outcome: SearchOutcome) -> tuple[Ranked, ...]:
    """The passages with scores above those of a search, in their order."""
    best = max((candidate.last_score for _passage, candidate in outcome.hits), default=0.0)
    return tuple(replace(item, score=best + (len(ranked) - place) * 1e-3) for place, item in enumerate(ranked))


def _as_relevant(outcome: SearchOutcome) -> SearchOutcome:
    return replace(outcome, retrieved=replace(outcome.retrieved, relevant=True))
