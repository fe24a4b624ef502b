"""Judges a narrowed question over everything before it is refused, and answers from the sources inside.

Whether sources answer is judged by how rare the question's words are and by what else was found. A set of a few
passages says little about either, so the same document could be refused in one set and answered in all of them.
Before a narrowed question is refused it is therefore judged once more over all that the asker may search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from chat.answering.answer_config import resolve_answer_config
from chat.answering.answerability import Verdict, has_limits_of_owner, judge_answerability
from chat.answering.context import AnswerContext
from chat.answering.retrieval import SearchOutcome
from chat.answering.stage_plans import basic_steps
from chat.answering.stage_ports import AnswerPorts
from chat.concurrency.executors import run_cpu, run_db
from chat.types import ignore_event
from knowledge import model_registry
from knowledge.selectors import documents_askable
from knowledge.types import Filters
from ragcore.answering.pipeline import build_stages, run_stages
from ragcore.extractive.formatting import first_cited
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.ports import GenerationRequest
from ragcore.types import Source
from ragcore.types.answering import AnswerState


@dataclass(frozen=True, slots=True, kw_only=True)
class WideJudgement:
    """The sources inside the narrowed search that answer the question, with the search of everything behind them."""

    state: AnswerState
    outcome: SearchOutcome
    verdict: Verdict


def is_narrowed(context: AnswerContext) -> bool:
    """Whether the question is put to some sets or filtered documents only."""
    return bool(context.request.sets) or bool(context.request.filters)


async def judge_widely(
    context: AnswerContext, state: AnswerState, outcome: SearchOutcome | None
) -> WideJudgement | None:
    """What a search of everything would answer from inside the narrowed one; None where it would not.

    None also where owners or clients have set the limits of refusing themselves: these are kept to. Raises what the
    search raises.
    """
    if not is_narrowed(context) or context.stop.is_set() or has_limits_of_owner(context, outcome):
        return None
    wide = await _widened(context)
    ports = AnswerPorts(context=replace(wide, attached=None))
    wide_state = await run_stages(build_stages(basic_steps(wide.config.options)), state, ports.stage_ports)
    if not wide_state.sources:
        return None
    searched = ports.main_search(wide_state)
    verdict = await judge_answerability(wide, wide_state, searched, wide_state.sources)
    if not verdict.is_answerable:
        return None
    inside = await run_db(_documents_inside, context, [source.passage.document for source in wide_state.sources])
    if await run_cpu(_answering_document, wide_state) not in inside:
        return None
    passages = tuple(ranked for ranked in wide_state.passages if ranked.passage.document in inside)
    steps = [step for step in basic_steps(wide.config.options) if step[0] == "context.build"]
    narrowed = await run_stages(build_stages(steps), replace(wide_state, passages=passages), ports.stage_ports)
    return WideJudgement(state=narrowed, outcome=searched, verdict=verdict)


async def _widened(context: AnswerContext) -> AnswerContext:
    """The same question to everything, with the options that hold there; it reports nothing to the reader."""
    request = replace(context.request, sets=(), filters=Filters())
    config = await run_db(resolve_answer_config, scope=context.scope, request=request)
    return replace(context, request=request, config=config, events=ignore_event)


def _documents_inside(context: AnswerContext, documents: Sequence[int]) -> set[int]:
    """Those of the documents that the narrowed search may touch."""
    request = context.request
    rows = documents_askable(scope=context.scope, sets=request.sets, filters=request.filters)
    return set(rows.filter(pk__in=documents).order_by().values_list("pk", flat=True))


def _answering_document(state: AnswerState) -> int:
    """The document that the answer to the wide search begins with; the first source where nothing can be quoted."""
    sources: Sequence[Source] = state.sources
    request = GenerationRequest(question=state.query, sources=tuple(sources))
    text = "".join(ExtractiveGenerator(model_registry.tokenizer(), model_registry.embedder()).blocks(request))
    return (first_cited(text, sources) or sources[0]).passage.document
