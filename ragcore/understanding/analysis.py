"""What kind of question it is, and what follows from that (U2, V9, A2, C3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from ragcore.llm.client import LlmClient
from ragcore.ports import Tokenizer
from ragcore.text.question_type import question_type
from ragcore.types.answering import Analysis, FactTarget, QuestionKind, QuestionType, StrategyName, Turn
from ragcore.understanding.analysis_complexity import Complexity, complexity_of
from ragcore.understanding.analysis_kinds import Signs, signs_of
from ragcore.understanding.greetings import may_be_small_talk, needs_retrieval

DIRECT_TO, HYDE_FROM, DECOMPOSE_FROM = 3, 6, 7  # difficulties (V9)
# What a kind adds to the difficulty. Most questions for one fact have a complexity below 0.625 and stay direct.
_KIND_ADDS: dict[QuestionKind, int] = {
    "simple_fact": 0,
    "aggregation": 1,
    "open_ended": 2,
    "comparison": 2,
    "complex_reasoning": 3,
    "multi_hop": 4,
}
_BY_KIND: dict[QuestionKind, StrategyName] = {"multi_hop": "iterative", "comparison": "hybrid", "aggregation": "hybrid"}
_MAX_TOKENS = 200  # of the model's reply


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="ignore"))
class _Said:
    """What a language model says of a question."""

    type: QuestionKind
    complexity: Annotated[int, Field(ge=1, le=10)]
    cue: QuestionType
    target: FactTarget
    several_sources: bool = False
    time: bool = False
    calculation: bool = False
    needs_retrieval: bool = True


def analysed_by_rules(text: str, *, history: Sequence[Turn] = (), tokenizer: Tokenizer) -> Analysis:
    """The analysis of a question by its words.

    `complexity` is U2's; `difficulty` = 1 + round(4 * complexity), more for kinds that need more steps, for
    calculation and for several sources, at most 10. `history` is not needed for the rules of today; it decides nothing.
    """
    del history
    measured, signs = complexity_of(text, tokenizer), signs_of(text)
    difficulty = difficulty_of(measured, signs)
    return Analysis(
        kind=signs.kind,
        cue=question_type(text),
        target=signs.target,
        complexity=round(measured.value, 4),
        difficulty=difficulty,
        needs_retrieval=needs_retrieval(text),
        several_sources=signs.several_sources,
        time=signs.time,
        calculation=signs.calculation,
        strategy=strategy_for(signs.kind, difficulty),
        reasons=(*signs.reasons, f"difficulty:{difficulty}"),
    )


async def analysed(text: str, *, history: Sequence[Turn] = (), tokenizer: Tokenizer, llm: LlmClient | None) -> Analysis:
    """The analysis by a language model; by rules where there is none or it says nothing valid.

    Complexity is always the formula's. That nothing is to be found is believed of a model only for talk about talk.
    """
    by_rules = analysed_by_rules(text, history=history, tokenizer=tokenizer)
    if llm is None or not by_rules.needs_retrieval:
        return by_rules
    said = await llm.json("analysis", _Said, max_tokens=_MAX_TOKENS, question=text)
    if said is None:
        return by_rules
    values = asdict(said)  # type: ignore[call-overload]  # a dataclass of pydantic is one
    kind, difficulty = values.pop("type"), values.pop("complexity")
    values["needs_retrieval"] |= not may_be_small_talk(text, tokenizer)
    strategy = strategy_for(kind, difficulty)
    reasons = (f"model:{kind}", f"difficulty:{difficulty}")
    return replace(by_rules, **values, kind=kind, difficulty=difficulty, strategy=strategy, reasons=reasons, by="model")


def difficulty_of(complexity: Complexity, signs: Signs) -> int:
    """1 to 10 (V9)."""
    points = 1 + round(4 * complexity.value) + _KIND_ADDS[signs.kind] + signs.calculation + signs.several_sources
    least = DIRECT_TO + 1 if signs.kind in _BY_KIND else 1
    return min(10, max(least, points))


def strategy_for(kind: QuestionKind, difficulty: int) -> StrategyName:
    """Direct up to 3; then by kind: iterative for several hops, hybrid to compare or collect; then by difficulty.

    Between direct and HyDE a question is searched for in several wordings ("hybrid").
    """
    if difficulty <= DIRECT_TO:
        return "direct"
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    if difficulty >= DECOMPOSE_FROM:
        return "decomposition"
    return "hyde" if difficulty >= HYDE_FROM else "hybrid"
