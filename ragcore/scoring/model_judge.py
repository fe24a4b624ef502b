"""A language model as judge: what it says is checked, and the rules judge where it cannot be used."""

from __future__ import annotations

from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from ragcore.llm.client import LlmClient
from ragcore.prompts.refusals import is_refusal
from ragcore.scoring.claims import ClaimVerdict, claims_checked, supported_share
from ragcore.scoring.rules import JudgedAnswer, Judgement

PROMPT = "score_answer"
MOST_CHARACTERS = 12_000  # of the contexts together
NOTHING = "-"


class Scores(BaseModel):
    """What the model has to say; anything else is nonsense, and the rules judge."""

    model_config = ConfigDict(strict=False, extra="ignore", allow_inf_nan=False)

    correctness: float = Field(ge=0, le=1)
    completeness: float = Field(ge=0, le=1)
    faithfulness: float = Field(ge=0, le=1)
    relevance: float = Field(ge=0, le=1)
    coherence: float = Field(ge=0, le=1)


async def judge_by_model(judged: JudgedAnswer, *, llm: LlmClient, by_rules: Judgement) -> Judgement:
    """Scores of the model where it gives all of them within 0 to 1; otherwise those of the rules. Never raises for it.

    `by_rules`: what the rules say of it. A refusal is judged by rules. Without a reference, or without contexts, the
    scores that need them stay None. Faithfulness is the share of supported claims, which are checked one by one; where
    that fails, the model's own estimate.
    """
    if not judged.answer.strip() or is_refusal(judged.answer):
        return by_rules
    reference = judged.reference.strip() or "\n".join(judged.key_points)
    scores = await llm.json(
        PROMPT,
        Scores,
        question=judged.question,
        reference=reference or NOTHING,
        context="\n\n".join(judged.contexts)[:MOST_CHARACTERS] or NOTHING,
        answer=judged.answer,
    )
    if scores is None:
        return by_rules
    has_reference, has_contexts = bool(reference), by_rules.faithfulness is not None
    claims: tuple[ClaimVerdict, ...] = ()
    if has_contexts:
        claims = await claims_checked(question=judged.question, answer=judged.answer, contexts=judged.contexts, llm=llm)
    by_claims = supported_share(claims)
    return replace(
        by_rules,
        score=(scores.correctness + scores.completeness) / 2 if has_reference else None,
        correctness=scores.correctness if has_reference else None,
        completeness=scores.completeness if has_reference else None,
        faithfulness=(scores.faithfulness if by_claims is None else by_claims) if has_contexts else None,
        relevance=scores.relevance,
        coherence=scores.coherence,
        by_model=True,
        claims=claims,
    )
