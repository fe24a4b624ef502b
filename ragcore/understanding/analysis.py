"""What kind of question it is, and what follows from that (U2, V9, A2, C3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as validated_dataclass

from ragcore.llm.client import LlmClient
from ragcore.ports import Tokenizer
from ragcore.text.normalise import normalise_query
from ragcore.text.question_type import QuestionType, question_type
from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stop_words
from ragcore.types.answering import Analysis, FactTarget, QuestionKind, StrategyName, Turn
from ragcore.understanding.question_kinds import QuestionFeatures, extract_features
from ragcore.understanding.small_talk import may_be_small_talk, needs_retrieval
from ragcore.understanding.words import cues

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
_WORD = re.compile(rf"(?P<cjk>[{CJK}]+)|[^\W_{CJK}]+(?:[-_./'’][^\W_{CJK}]+)*")
_VERB_ENDING = re.compile(r"[a-z]{3,}(?:ed|ing|ise[sd]?|ize[sd]?|ifies|ify)")


@validated_dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="ignore"))
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


def analyse_by_rules(text: str, *, history: Sequence[Turn] = (), tokenizer: Tokenizer) -> Analysis:
    """The analysis of a question by its words.

    `complexity` is U2's; `difficulty` = 1 + round(4 * complexity), more for kinds that need more steps, for
    calculation and for several sources, at most 10. `history` is not needed for the rules of today; it decides nothing.
    """
    del history
    measured, signs = compute_complexity(text, tokenizer), extract_features(text)
    difficulty = compute_difficulty(measured, signs)
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
        strategy=choose_strategy(signs.kind, difficulty),
        reasons=(*signs.reasons, f"difficulty:{difficulty}"),
    )


async def analyse_question(
    text: str, *, history: Sequence[Turn] = (), tokenizer: Tokenizer, llm: LlmClient | None
) -> Analysis:
    """The analysis by a language model; by rules where there is none or it says nothing valid.

    Complexity is always the formula's. That nothing is to be found is believed of a model only for talk about talk.
    """
    by_rules = analyse_by_rules(text, history=history, tokenizer=tokenizer)
    if llm is None or not by_rules.needs_retrieval:
        return by_rules
    said = await llm.json("analysis", _Said, max_tokens=_MAX_TOKENS, question=text)
    if said is None:
        return by_rules
    values = asdict(said)  # type: ignore[call-overload]  # a dataclass of pydantic is one
    kind, difficulty = values.pop("type"), values.pop("complexity")
    values["needs_retrieval"] |= not may_be_small_talk(text, tokenizer)
    strategy = choose_strategy(kind, difficulty)
    reasons = (f"model:{kind}", f"difficulty:{difficulty}")
    return replace(by_rules, **values, kind=kind, difficulty=difficulty, strategy=strategy, reasons=reasons, by="model")


def compute_difficulty(complexity: Complexity, signs: QuestionFeatures) -> int:
    """1 to 10 (V9)."""
    points = 1 + round(4 * complexity.value) + _KIND_ADDS[signs.kind] + signs.calculation + signs.several_sources
    least = DIRECT_TO + 1 if signs.kind in _BY_KIND else 1
    return min(10, max(least, points))


def choose_strategy(kind: QuestionKind, difficulty: int) -> StrategyName:
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


# ── how complex the wording is (U2) ───────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Complexity:
    """What the figure is made of."""

    word_length: float  # characters of a word, on average; 0 without words
    relations: int
    question_words: int

    @property
    def value(self) -> float:
        """0.3 * min(length / 7, 1) + 0.4 * min(relations / 10, 1) + 0.3 * min(question words / 3, 1), in [0, 1]."""
        return (
            0.3 * min(self.word_length / 7, 1)
            + 0.4 * min(self.relations / 10, 1)
            + 0.3 * min(self.question_words / 3, 1)
        )


def compute_complexity(text: str, tokenizer: Tokenizer) -> Complexity:
    """The figures of a question. Words are as written; those of Chinese runs are the tokenizer's."""
    written = written_words(text, tokenizer)
    return Complexity(
        word_length=sum(map(len, written)) / len(written) if written else 0.0,
        relations=count_relations(written),
        question_words=len(cues("question_words").matches(text)),
    )


def written_words(text: str, tokenizer: Tokenizer) -> list[str]:
    """Lower-case words in order, not stemmed."""
    words: list[str] = []
    for match in _WORD.finditer(normalise_query(text)):
        words.extend(tokenizer.words(match.group()) if match["cjk"] else [match.group().lower()])
    return words


def count_relations(words: list[str]) -> int:
    """Number of relations between words, without a parser.

    A predicate stands for its subject, the first content word behind it for its object, a preposition or a particle for
    what it joins, and each further content word in a row for a compound.
    """
    count, run, was_verb, wants_object = 0, 0, False, False
    for word in words:
        kind = _class(word)
        if kind == "verb":
            count += not was_verb
            wants_object = True
        elif kind == "joining":
            count += 1
            wants_object = False
        elif kind == "content":
            count += run > 0 or wants_object
            wants_object = False
        run = run + 1 if kind == "content" else 0
        was_verb = kind == "verb"
    return count


def _class(word: str) -> str:
    if word in cues("prepositions") or word in cues("particles"):
        return "joining"
    if word in cues("verbs"):
        return "verb"
    if word in stop_words() or word in cues("question_words"):
        return "function"
    return "verb" if _VERB_ENDING.fullmatch(word) else "content"
