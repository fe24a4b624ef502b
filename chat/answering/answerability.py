"""Decides whether the found sources answer the question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial

from chat.answering.context import AnswerContext
from chat.answering.focus import focus_documents, focus_question
from chat.answering.retrieval import SearchOutcome
from chat.concurrency.executors import run_cpu
from knowledge import model_registry
from knowledge.search_profile import Retrieved
from ragcore.answerability import Answerability, in_conversation, is_about, score_answerability, threshold_for
from ragcore.answerability.asked_headings import is_asked_by_heading
from ragcore.answerability.confidence import (
    BEYOND_REFUSAL,
    CERTAIN,
    DOUBTFUL,
    Evidence,
    answer_confidence,
    quoted_confidence,
)
from ragcore.answerability.follow_up import tells_asked, tells_subject, without_kind
from ragcore.answerability.lacking import lacks_named, lacks_subject, near_sources, values_missing
from ragcore.answerability.own_line import lowered_line
from ragcore.embedding.vectors import CachingEmbedder
from ragcore.extractive.answer_patterns import spells_out
from ragcore.extractive.banded_rows import find_covering_rows
from ragcore.extractive.contrasts import told_side
from ragcore.extractive.direct_answers import Missing, find_missing, is_told
from ragcore.extractive.document_wish import without_document_wish
from ragcore.extractive.edition_changes import compared_editions
from ragcore.extractive.sentence_meaning import sentence_scores
from ragcore.extractive.sentence_model import chances_of
from ragcore.extractive.sentences import read_statements
from ragcore.extractive.table_lookup import answers_by_rows
from ragcore.llm.model_profile import profile_of
from ragcore.text.question_core import question_core
from ragcore.text.value_kinds import ValueKind
from ragcore.types import Language, Source
from ragcore.types.answering import AnswerState

LEAST_RATE = 0.01  # of false refusals that were measured
RAISED = 0.4  # log-odds by which the line lies higher where no whole passage is near
OF_SIDE = {"other": 0.3, "unsaid": 0.6}  # confidence at most, by which side of a thing is told
SURE = 0.4  # probability from which sources answer although no passage is near by words or cosine


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict on the sources: whether they answer, with which probability and why."""

    is_answerable: bool
    most_confidence: float = 1.0  # that an answer from them deserves, 0 to 1
    evidence: Evidence | None = None  # that this confidence was computed from
    beats_refusal: bool = True  # so sure that the refusal of a language model is not believed
    is_certain: bool = True  # nobody need be asked whether they state the answer
    is_doubtful: bool = False  # nobody need be asked either: they hardly do
    earlier_question: str = ""  # the question behind the one before it, where it is answered in its conversation
    inside: frozenset[int] = frozenset()  # the documents that answer it there; empty: any
    by_facts: bool = False  # nothing but facts answers
    missing: Missing | None = None  # what is asked for and is not there
    missing_values: tuple[ValueKind, ...] = ()  # that are asked for, and that no source tells of their subject
    is_lacking: bool = False  # no source has the thing, code or date that the question names
    is_quoted: bool = False  # no passage is near by words or meaning, so no model is asked: sentences are quoted

    @property
    def may_widen(self) -> bool:
        """Whether a search of everything may judge better: it brings nothing that is known to be missing here."""
        return not (self.is_answerable or self.is_lacking or self.missing or self.missing_values)


async def judge_answerability(
    context: AnswerContext, state: AnswerState, outcome: SearchOutcome, sources: Sequence[Source]
) -> Verdict:
    """Answerable where a near passage was found and, without a language model, the sources probably answer.

    Where none is near by the default thresholds, the sources must answer with more certainty: in a small corpus hardly
    any word is rare, and a passage that answers may not count as near. Thresholds that somebody has set are kept to.
    Where neither words nor meaning are near, no model writes: what answers all the same is quoted. A language model
    whose refusals are believed refuses by itself what near passages do not answer. The confidence of a quoted answer is
    the share of such answers that are right (`quoted_confidence`): quotations are always supported, so
    their support alone does not say whether they answer the question.
    """
    has_model = model_registry.chat_model() is not None
    if has_model and state.answer_text is not None:
        return Verdict(is_answerable=True)
    if not outcome.retrieved.relevant and _has_own_thresholds(outcome.retrieved):
        return Verdict(is_answerable=False)
    if has_model and outcome.retrieved.relevant and profile_of(model_registry.generator()).believes_refusals:
        return Verdict(is_answerable=True)
    verdict = await run_cpu(_probability_verdict, context, state, outcome, sources)
    if has_model and not outcome.retrieved.relevant and not verdict.earlier_question and not verdict.inside:
        return replace(verdict, is_quoted=True)
    return replace(verdict, most_confidence=1.0) if has_model else verdict


async def answers_by_probability(
    context: AnswerContext, state: AnswerState, outcome: SearchOutcome, sources: Sequence[Source]
) -> bool:
    """Whether the sources answer so surely that the refusal of a language model is not believed."""
    verdict = await run_cpu(_probability_verdict, context, state, outcome, sources)
    return verdict.is_answerable and verdict.beats_refusal


def _has_own_thresholds(retrieved: Retrieved) -> bool:
    """Whether site, set or request say from where on a passage is near."""
    origin = retrieved.options.origin if retrieved.options is not None else {}
    return any(origin.get(name, "default") not in ("default", "model") for name in ("min_match", "min_cosine"))


def has_limits_of_owner(context: AnswerContext, outcome: SearchOutcome | None) -> bool:
    """Whether site, set or request say themselves from where on a question is refused."""
    if outcome is not None and _has_own_thresholds(outcome.retrieved):
        return True
    return context.config.origin.get("false_refusals", "default") != "default"


def _probability_verdict(
    context: AnswerContext, state: AnswerState, outcome: SearchOutcome, sources: Sequence[Source]
) -> Verdict:
    """By the line of the asked sets; a rate that somebody has set is kept to, on the shipped line."""
    is_given = context.config.origin.get("false_refusals", "default") != "default"
    return verdict_by_sources(
        state.query,
        sources,
        typed=state.question.text,
        today=state.question.today,
        further=state.further_sources,
        retrieved=outcome.retrieved,
        language=state.question.language,
        rate=context.config.options.false_refusals,
        lowered=0.0 if is_given else outcome.retrieved.refusal_lowered,
        earlier_question=focus_question(context, state.query) if context.cited_before else "",
        focus=frozenset(focus_documents(context) if context.cited_before else ()),
        is_resolved=bool(context.history) and state.query != context.question.text,
    )


def verdict_by_sources(
    question: str,
    sources: Sequence[Source],
    *,
    typed: str | None = None,
    today: date | None = None,
    further: Sequence[Source] = (),
    retrieved: Retrieved,
    language: Language,
    rate: float,
    lowered: float = 0.0,
    earlier_question: str = "",
    focus: frozenset[int] = frozenset(),
    is_resolved: bool = False,
) -> Verdict:
    """Whether sources probably answer, at this rate of false refusals; 0 refuses nothing that is near.

    `lowered`: log-odds by which the line of the asked sets lies below the shipped one; `typed`: the question as it was
    typed, whose dates count: others were inferred. In a conversation the sources of the documents in `focus` are
    compared with `earlier_question`, the one behind the question before it, too. `further`: other passages of their
    documents. `is_resolved`: the conversation put into the question what it is about. Sources of the focus that tell of
    it come before all others if they surely answer.
    """
    every = (*sources, *further)
    tokenizer, terms = model_registry.tokenizer(), retrieved.state.query.weights
    is_lacking = lacks_named(question, sources, typed=typed or question, today=today, tokenizer=tokenizer)
    if is_lacking or lacks_subject(question, sources, terms, tokenizer=tokenizer):
        return Verdict(is_answerable=False, is_lacking=True)
    if (lacking := _verdict_on_missing(question, every)) is not None:
        return lacking
    judge = _judge_of(retrieved)
    judged = _judged_alone(question, sources, judge)
    inside = [source for source in sources if source.passage.document in focus]
    is_inside, is_near = False, retrieved.relevant
    if is_resolved and typed is not None:
        subject = _judged_by_subject(judged, question, typed, sources, inside, judge)
        judged, is_inside, is_near = subject.judged, subject.is_inside, is_near or subject.is_near
    is_near = is_near or judged.is_across or judged.reads_well  # which read sentences, and not whole passages
    is_told = False
    if earlier_question and inside and is_about(question, inside, tokenizer=model_registry.tokenizer()):
        of_conversation = judge(earlier_question, inside)
        better = in_conversation(judged, of_conversation)
        is_told = better is not judged
        is_near = is_near or (is_told and of_conversation.nearness.is_near)
        judged = better
    least = _line(language, retrieved.searched, rate, lowered)
    sureness = _sureness(question, sources, judged)
    if _is_surely_told(question, sources, every, retrieved):
        confidence = max(sureness.most_confidence, answer_confidence(SURE))
        inside_of = focus if is_inside else frozenset[int]()
        return Verdict(is_answerable=True, most_confidence=confidence, evidence=sureness.evidence, inside=inside_of)
    is_sure = judged.nearness.is_near and judged.score >= SURE
    if judged.nearness.has_near_sentence:  # where its whole passage is not
        is_sure = is_sure or judged.score >= lowered_line(least, -RAISED)
    return replace(
        sureness,
        is_answerable=judged.is_answerable(least, retrieved.searched) if is_near else is_sure,
        earlier_question=earlier_question if is_told else "",
        inside=focus if is_told or is_inside else frozenset(),
    )


def _verdict_on_missing(question: str, sources: Sequence[Source]) -> Verdict | None:
    """The refusal that says which step, handling, target or value nothing tells; None where nothing is missing."""
    missing = _missing(question, sources)
    values = () if missing is not None else values_missing(question, sources, tokenizer=model_registry.tokenizer())
    if missing is None and not values:
        return None
    return Verdict(is_answerable=False, missing=missing, missing_values=values)


def _line(language: Language, searched: int, rate: float, lowered: float) -> float:
    """The score from which sources answer; see verdict_by_sources for rate and lowered."""
    return lowered_line(threshold_for(language, searched, max(rate, LEAST_RATE)) if rate else 0.0, lowered)


def _sureness(question: str, sources: Sequence[Source], judged: Answerability) -> Verdict:
    """A verdict that answers, with how sure that is."""
    tokenizer, embedder = model_registry.tokenizer(), CachingEmbedder(model_registry.embedder())
    statements = read_statements(sources, tokenizer)
    evidence, side = Evidence(score=judged.score), told_side(question, statements, embedder, tokenizer)
    if judged.read is not None and statements:  # what tells right quotations from wrong ones
        chances = chances_of(sentence_scores(question, statements, embedder, tokenizer))
        evidence = replace(evidence, read=judged.read, lead=float(chances.max()))
    confidence = quoted_confidence(evidence, embedder.model)
    return Verdict(
        is_answerable=True,
        most_confidence=min(confidence, OF_SIDE.get(side, 1.0)),
        evidence=evidence,
        beats_refusal=judged.score >= BEYOND_REFUSAL and side != "other",
        is_certain=judged.score >= CERTAIN and side not in OF_SIDE,
        is_doubtful=judged.score < DOUBTFUL,
    )


def _judge_of(retrieved: Retrieved) -> Callable[..., Answerability]:
    """The verdict on a question and sources, with the models in use and the weights of the searched words."""
    return partial(
        score_answerability,
        tokenizer=model_registry.tokenizer(),
        embedder=CachingEmbedder(model_registry.embedder()),
        idf=retrieved.state.query.weights,
    )


def _judged_alone(question: str, sources: Sequence[Source], judge: Callable[..., Answerability]) -> Answerability:
    """The verdict on a question without its conversation.

    Hardly a file says of itself that it is one, and no sentence alone tells what two editions say differently.
    """
    judged = judge(without_document_wish(question), sources)
    editions = compared_editions(question_core(question), [source.passage for source in sources])
    return judged if editions is None else judged.without_reading()


def _missing(question: str, sources: Sequence[Source]) -> Missing | None:
    """The step, the handling or the target that a question asks for, where it is not there, only its neighbours."""
    tokenizer = model_registry.tokenizer()
    return find_missing(question_core(question), read_statements(sources, tokenizer), tokenizer)


def _is_surely_told(question: str, sources: Sequence[Source], every: Sequence[Source], retrieved: Retrieved) -> bool:
    """Whether rows, a step, the long form of an abbreviation or a heading answer, whatever the sentences score.

    `every`: with the other passages of their documents.
    """
    tokenizer, core = model_registry.tokenizer(), question_core(question)
    statements = read_statements(sources, tokenizer)
    further = read_statements(every, tokenizer)
    return (
        find_covering_rows(question, further, tokenizer) is not None
        or answers_by_rows(core, statements, tokenizer)
        or is_asked_by_heading(core, statements, retrieved.state.query.weights, tokenizer)
        or is_told(core, further, tokenizer)
        or spells_out(question, (source.text for source in near_sources(sources)))
    )


@dataclass(frozen=True, slots=True)
class _OfSubject:
    """The verdict on a question that was made standalone."""

    judged: Answerability
    is_inside: bool = False  # the sources of the focus tell of its subject, and surely answer
    is_near: bool = False  # the best source tells of its subject, and something of what is asked about it


def _judged_by_subject(
    judged: Answerability,
    question: str,
    typed: str,
    sources: Sequence[Source],
    inside: Sequence[Source],
    judge: Callable[[str, Sequence[Source]], Answerability],
) -> _OfSubject:
    """A source that tells of the subject need not say the kind of what is asked ("which version") as well."""
    tokenizer = model_registry.tokenizer()
    tells = partial(tells_subject, question, typed, tokenizer=tokenizer)
    best = min(sources, key=lambda source: source.number)
    is_near = tells(best) and tells_asked(typed, best, tokenizer=tokenizer)
    plain = without_kind(question)
    if is_near and plain != question:
        judged = max(judged, judge(plain, sources), key=lambda candidate: candidate.score)
    is_inside = False
    if any(map(tells, inside)):
        of_subject = judge(question, inside)
        is_inside = of_subject.nearness.is_near and of_subject.score >= SURE
    return _OfSubject(judged, is_inside, is_near)
