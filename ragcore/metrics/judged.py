"""Metrics of the judge: by rules and small models, or by a language model where the run has one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ragcore.labels import gettext_noop as _
from ragcore.metrics.registry import MeasuredCase, MetricTools, metric
from ragcore.scoring.claims import ClaimVerdict
from ragcore.scoring.model_judge import judge_by_model
from ragcore.scoring.rules import AnswerJudge, JudgedAnswer, Judgement

ANY_OF = "One of these is enough:"
JUDGED = frozenset({"judge_score", "faithfulness", "answer_relevance", "coherence"})  # names of the metrics below


@dataclass(slots=True)
class _Last:
    """The judgements of one case, which several metrics read one after the other."""

    of: tuple[object, ...] = ()
    tools: MetricTools | None = None  # kept, so that the ids in `of` stay its own
    judgement: Judgement = field(default_factory=Judgement)


_last = _Last()


def judgement(case: MeasuredCase, tools: MetricTools) -> Judgement:
    """What the judge says of a case with an answer; the best one where several answers are accepted."""
    key = (case.question, case.answer, *case.golds, *case.key_points, id(tools), *(s.text for s in case.sources))
    if _last.of != key:
        _last.judgement = _judged(_questions(case), tools)
        _last.of, _last.tools = key, tools
    return _last.judgement


def checked_claims(case: MeasuredCase, tools: MetricTools) -> tuple[ClaimVerdict, ...]:
    """The claims of a case's answer as the model checked them, after the metrics were computed; () without a model."""
    is_judged = tools.llm is not None and case.answer is not None and not case.is_refused
    return judgement(case, tools).claims if is_judged else ()


def _questions(case: MeasuredCase) -> Sequence[JudgedAnswer]:
    """The answer beside its key points, or beside each accepted text."""
    points = "\n".join(case.key_points)
    contexts = tuple(source.text for source in case.sources)
    return [
        JudgedAnswer(
            question=case.question,
            answer=case.answer or "",
            reference=reference,
            key_points=tuple(case.key_points),
            contexts=contexts,
        )
        for reference in ([points] if points else case.golds or [""])
    ]


def _judged(questions: Sequence[JudgedAnswer], tools: MetricTools) -> Judgement:
    """The best judgement of the rules; a model is asked once, with all accepted texts."""
    rules = AnswerJudge(tools.tokenizer, tools.embedder)
    by_rules = max((rules.judge(question) for question in questions), key=lambda result: result.score or 0.0)
    if tools.llm is None:
        return by_rules
    accepted = [question.reference for question in questions]
    reference = accepted[0] if len(accepted) == 1 else "\n".join([ANY_OF, *(f"- {text}" for text in accepted)])
    combined = replace(questions[0], reference=reference)
    return asyncio.run(judge_by_model(combined, llm=tools.llm, by_rules=by_rules))


def _applies(case: MeasuredCase) -> bool:
    return case.answer is not None and not case.expects_refusal


@metric(
    "judge_score",
    label=_("Score of the judge"),
    help=_("Agreement with the expected answer, 0 to 1. Without a model it follows people with r = 0.65."),
    order=37,
)
class JudgeScore:
    """How well the answer agrees with the key points or accepted texts; 0 for a refusal."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        if not _applies(case) or not (case.golds or case.key_points):
            return None
        return 0.0 if case.is_refused else judgement(case, tools).score


@metric(
    "faithfulness",
    label=_("Faithfulness"),
    help=_("Whether the sources carry the claims of the answer. Without a model it follows people with r = 0.23."),
    order=38,
)
class Faithfulness:
    """Share of claims that the sources support, where a model checks them; else by rules: the mean probability that
    the sources carry the claims, and that of the weakest claim, in equal parts.
    """

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        if case.answer is None or case.is_refused or not case.sources:
            return None
        return judgement(case, tools).faithfulness


@metric(
    "answer_relevance",
    label=_("Relevance of the answer"),
    help=_("Whether the answer is about the question. Not compared with people."),
    order=39,
)
class AnswerRelevance:
    """Mean of the question's keywords in the answer and of their similarity, 0 to 1."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        return None if case.answer is None or case.is_refused else judgement(case, tools).relevance


@metric(
    "coherence",
    label=_("Coherence"),
    help=_("No repetitions or broken sentences, in the language of the question. Not compared with people."),
    order=40,
)
class Coherence:
    """1 for a text without repetition that ends and is in the language of the question."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        return None if case.answer is None or case.is_refused else judgement(case, tools).coherence
