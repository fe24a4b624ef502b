"""Facts in an answer: among its sources, in front of its quotations, and as a chain for a language model."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.db import Error as DatabaseFailure

from chat.answering.answerability import Verdict
from chat.answering.context import AnswerContext
from chat.types import AnswerRecord
from knowledge import model_registry
from knowledge.services.answer_facts import FactsOfQuestion, KnownFact, facts_for_answer
from ragcore.answerability.confidence import answer_confidence
from ragcore.errors import RagError
from ragcore.graph.triples import Triple
from ragcore.llm.client import fenced
from ragcore.ports import AnswerPart
from ragcore.prompts import load
from ragcore.types import Passage, Source
from ragcore.types.answering import AnswerState

IMPORTED_FROM = "fact, imported from {file}"  # the title of the source in a prompt
BELOW = 10**15  # ids of passages of facts are below -BELOW, so that none is taken for a document's or a file's
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFacts:
    """Facts for one question; all of them are sources of its answer. `has_model`: whether a language model writes."""

    of_question: FactsOfQuestion
    has_model: bool

    @property
    def stated(self) -> list[KnownFact]:
        """Facts that answer the whole question."""
        return [fact for fact in self.of_question.facts if fact.states]

    @property
    def weights(self) -> dict[int, float]:
        """Imported fact -> how likely it answers the question."""
        return {fact.id: fact.confidence for fact in self.stated if fact.passage is None}

    # ── among the sources ───────────────────────────────────────────────────────────────────────

    def with_sources(self, sources: Sequence[Source]) -> tuple[Source, ...]:
        """The sources, and behind them, numbered on, those of the facts: none of the others loses its place."""
        joined = list(sources)
        chunks = {source.passage.chunk for source in sources}
        for fact in self.of_question.facts:
            passage = fact.passage or passage_of(fact)
            if passage.chunk not in chunks:
                chunks.add(passage.chunk)
                text = passage.text.strip()
                joined.append(Source(number=len(joined) + 1, passage=passage, text=text, score=fact.confidence))
        return tuple(joined)

    def verdict(self) -> Verdict:
        """That of an answer from facts alone."""
        sure = max(fact.confidence for fact in self.stated)
        return Verdict(is_answerable=True, most_confidence=answer_confidence(sure), by_facts=True)

    # ── without a language model ────────────────────────────────────────────────────────────────

    def parts(self, question: str, sources: Sequence[Source], *, alone: bool) -> tuple[AnswerPart, ...]:
        """What a quoted answer is put together of: the facts that state it, then what the passages say.

        `alone`: the passages do not answer, and facts that were read in one are quoted from it. () without such facts.
        """
        number = {_key(source): source.number for source in sources}
        lines = [
            f"{fact.text if fact.passage is None else fact.sentence or fact.text} [{number[_key_of(fact)]}]"
            for fact in self.stated
            if (fact.passage is None or alone) and _key_of(fact) in number
        ]
        if not lines:
            return ()
        text = lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in dict.fromkeys(lines))
        first = AnswerPart(question="", sources=(), otherwise=text)
        passages = without_facts(sources)
        return (first,) if alone or not passages else (first, AnswerPart(question=question, sources=passages))

    # ── with one ────────────────────────────────────────────────────────────────────────────────

    def instructions(self, sources: Sequence[Source]) -> str:
        """What a language model is told of the facts among its sources; "" without any."""
        number = {_key(source): source.number for source in sources}
        numbers = sorted({number[_key_of(fact)] for fact in self.of_question.facts if _key_of(fact) in number})
        if not numbers:
            return ""
        chain = fenced(self.of_question.answer.chain.text)
        return load("answer_chain").render(numbers=", ".join(f"[{n}]" for n in numbers), chain=chain)

    # ── for the reader ──────────────────────────────────────────────────────────────────────────

    def told(self, record: AnswerRecord) -> dict[str, Any] | None:
        """The chain in plain values, its facts with the numbers of their sources; None where the answer has none."""
        number = {(citation.fact, citation.chunk_id): citation.number for citation in record.citations}
        facts = [
            {
                "id": fact.id, **_ends(scored.triple), "text": fact.text, "states_answer": fact.states,
                "file": fact.file or None, "citation_num": number[_key_of(fact)],
            }
            for fact, scored in zip(self.of_question.facts, self.of_question.answer.triples, strict=True)
            if _key_of(fact) in number
        ]  # fmt: skip
        if not facts:
            return None
        kind, chain = self.of_question.answer.kind, self.of_question.answer.chain
        return {
            "question_type": kind.kind,
            "chain": [asdict(step) for step in chain.steps],
            "answers": list(chain.answers),
            "written_by": chain.by,
            "facts": facts,
        }


def passage_of(fact: KnownFact) -> Passage:
    """An imported fact as a source."""
    return Passage(
        chunk=-BELOW - fact.id,
        document=-BELOW - fact.import_id,
        version=-BELOW - fact.import_id,
        text=fact.text,
        title=IMPORTED_FROM.format(file=fact.file),
        external_id=fact.file,
        fact=fact.id,
    )


def without_facts(sources: Sequence[Source]) -> tuple[Source, ...]:
    """The sources but for imported facts, which stand behind all others."""
    return tuple(source for source in sources if source.passage.fact is None)


def _key(source: Source) -> tuple[int, int]:
    return source.passage.fact or 0, source.passage.chunk


def _key_of(fact: KnownFact) -> tuple[int, int]:
    return (0, fact.passage.chunk) if fact.passage is not None else (fact.id, -BELOW - fact.id)


def _ends(triple: Triple) -> dict[str, str]:
    return {"subject": triple.subject, "relation": triple.relation, "object": triple.object}


def answer_facts(context: AnswerContext, state: AnswerState) -> AnswerFacts | None:
    """Facts for the understood question, where the tenant has facts and the question names an end of one.

    An optional part of an answer: None, and a line in the log, where they cannot be read now.
    """
    if not context.has_facts:
        return None
    request, has_model = context.request, model_registry.chat_model() is not None
    try:
        facts = facts_for_answer(
            scope=context.scope,
            question=state.query,
            sets=request.sets,
            filters=request.filters,
            prompt_type=request.prompt_type,
            with_related=has_model,
        )
    except (RagError, DatabaseFailure):
        logger.exception("facts for an answer could not be read")
        return None
    return AnswerFacts(of_question=facts, has_model=has_model) if facts else None


def join_facts(facts: AnswerFacts, state: AnswerState, verdict: Verdict) -> tuple[AnswerState, Verdict]:
    """State and verdict with the facts, of which one states the answer or the passages have it.

    Where the passages do not answer, nothing but the facts is shown; a text that a model has written from them stays.
    """
    if verdict.is_answerable and not verdict.is_quoted:
        return replace(state, sources=facts.with_sources(state.sources)), verdict
    if not facts.stated:
        return state, verdict
    if state.answer_text is not None and facts.has_model:
        return replace(state, sources=facts.with_sources(state.sources)), facts.verdict()
    return replace(state, sources=facts.with_sources(()), answer_text=None), facts.verdict()
