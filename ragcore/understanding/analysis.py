"""What kind of question it is, by the cues in its words or by a model, and what follows from that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as validated_dataclass

from ragcore.llm.client import LlmClient
from ragcore.ports import Tokenizer
from ragcore.text.fact_question import kind_of_question
from ragcore.text.normalise import normalise_query
from ragcore.text.question_type import QuestionType, question_type, wanted
from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stop_words
from ragcore.types.answering import Analysis, FactTarget, QuestionKind, StrategyName, Turn
from ragcore.understanding.small_talk import may_be_small_talk, needs_retrieval
from ragcore.understanding.words import cues

HOPS_FROM = 3  # weak signs of nesting that make a question one of several hops; one thing without a name suffices
_NAMES = re.compile(r"\b[A-Z][\w.&'’-]*(?:\s+(?:of|the|de|von|van|[A-Z0-9][\w.&'’-]*))*")
_POSSESSIVE = re.compile(r"\w['’]s\b")
_COMPARED: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "both",
        re.compile(
            r"^(?:are|were|is|was|do|does|did|have|has)\b.+\band\b.+\b(?:both|same|also|too|either|similar|different)\b"
            r"|^(?:do|does|did|has|have)\b.+\bwhile\b"
            r"|(?:^|[.,;] )between\b.+\band\b.+, (?:which|who|what|is|are|was|were|do|does|did|has|have)\b",
            re.IGNORECASE,
        ),
    ),
    ("either", re.compile(r"(?i:\b(?:who|which|whose|what|where|when)\b).*[A-Z][\w'’.()-]*,? or (?:the )?[A-Z]")),
    ("degree", re.compile(r"\b(?:who|which|whose)\b.*\b(?:\w+er|first|last|more|less)\b.*\bor\b", re.IGNORECASE)),
    (
        "two",
        re.compile(
            r"(?:和|与|與|跟|同|比|还是|還是).{1,40}?(?:谁|誰|哪[一]?[个個家种種款部位方]?)[^？?]{0,14}(?:更|先|较|較)"
        ),
    ),
)
_OPEN_START = re.compile(
    r"^(?:please )?(?:describe|discuss|evaluate|introduce|请介绍|介绍|請介紹|介紹|评价|評價)\b", re.IGNORECASE
)
_CAUSE_ZH = re.compile(r"[为為]何(?![？?]|$)")  # at the end of a question it only asks "is what"
_LISTED = re.compile(
    r"\b[A-Z][\w.]* and (?:the )?[A-Z].*\bwhat (?:are|were)\b|\bwhat (?:are|were)\b.*\b[A-Z][\w.]* and [A-Z]"
)
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")

DIRECT_TO, HYDE_FROM, DECOMPOSE_FROM = 3, 6, 7  # difficulties
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


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFeatures:
    """What the words of a question say of it; `reasons` are codes such as "kind:comparison" and "flag:time"."""

    kind: QuestionKind
    target: FactTarget
    several_sources: bool
    time: bool
    calculation: bool
    reasons: tuple[str, ...]


def extract_features(text: str) -> QuestionFeatures:
    """All signs of a question."""
    text = normalise_query(text)
    kind, why = _kind(text)
    sources = kind in ("comparison", "multi_hop") or bool(cues("sources").matches(text))
    time = bool(cues("time").matches(text) or _YEAR.search(text)) or wanted(text) == "time"
    calculation = bool(cues("calculation").matches(text))
    flags = (("several_sources", sources), ("time", time), ("calculation", calculation))
    return QuestionFeatures(
        kind=kind,
        target=kind_of_question(text).kind,
        several_sources=sources,
        time=time,
        calculation=calculation,
        reasons=(f"kind:{kind}", *(f"sign:{sign}" for sign in why), *(f"flag:{name}" for name, on in flags if on)),
    )


def question_kind(text: str) -> QuestionKind:
    """The kind alone, as `extract_features` finds it."""
    return _kind(normalise_query(text))[0]


def _kind(text: str) -> tuple[QuestionKind, list[str]]:
    """The kind, and the words that decided. A comparison may also ask why, so the kinds are tried in this order."""
    if why := _comparison(text):
        return "comparison", why
    if why := _named(cues("aggregation").matches(text), listed=_LISTED.search(text)):
        return "aggregation", why
    if why := _hops(text):
        return "multi_hop", why
    if why := _named(cues("causes").matches(text), cause=_CAUSE_ZH.search(text)):
        return "complex_reasoning", why
    if why := _named(cues("open").matches(text), start=_OPEN_START.search(text)):
        return "open_ended", why
    return "simple_fact", []


def _named(signs: list[str], **matches: re.Match[str] | None) -> list[str]:
    return signs + [name for name, match in matches.items() if match]


def _comparison(text: str) -> list[str]:
    signs = cues("comparison").matches(text)
    if question_type(text) == "comparison":
        signs.append("cue")
    return signs + [name for name, pattern in _COMPARED if pattern.search(text)]


def _hops(text: str) -> list[str]:
    """Signs that something without a name must be found before what is asked for; none if they are too few."""
    links = [match.group() for match in _unnamed().finditer(text.lower())]
    signs = links + cues("hops").matches(text) + ["possessive"] * len(_POSSESSIVE.findall(text))
    if signs and len({match.group() for match in _NAMES.finditer(text[1:])}) >= 3:
        signs.append("names")
    return signs if links or len(signs) >= HOPS_FROM else []


@cache
def _unnamed() -> re.Pattern[str]:
    """A person, place or work that is only described: "of the director of", "the city where", 的导演的."""
    entries = cues("links").entries
    latin, han = (
        "|".join(sorted((e for e in entries if e.isascii() == ascii_), key=len, reverse=True))
        for ascii_ in (True, False)
    )
    described, asking = (
        "of|who|that|which|where|whose|in which|from which|for which",
        r"(?:where|when|what \w+|how \w+)",
    )
    return re.compile(
        rf"\b(?:of|by|for|to|from|in|with|than) (?:the |an? )?(?:\w+ )?(?:{latin}) (?:{described})\b"
        rf"|\b{asking} (?:is|was|are|were|did|does|do|has) the (?:{latin}) (?:{described})\b"
        rf"|\b(?:the|an?) (?:\w+ ){{0,3}}(?:{latin}) (?:who|whose|where|in which|from which|for which)\b"
        rf"|\b{asking} .*\w['’]s (?:{latin})\b|\bthe same (?:{latin}) as\b"
        rf"|\b(?:is|was) (?:on|in|from|by) an? (?:{latin})\b"
        rf"|['’]s (?:{latin})(?:['’]s| of (?:birth|origin)\b)"
        rf"|的(?:{han})(?:的|出生|毕业|畢業|来自|來自|还|還|所)"
    )


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

    `complexity` in [0, 1]: see `compute_complexity`. `difficulty` = 1 + round(4 * complexity), more for kinds that need
    more steps, for calculation and for several sources, at most 10. `history` decides nothing in these rules.
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
    reply = await llm.json("analysis", _Said, max_tokens=_MAX_TOKENS, question=text)
    if reply is None:
        return by_rules
    values = asdict(reply)  # type: ignore[call-overload]  # a dataclass of pydantic is one
    kind, difficulty = values.pop("type"), values.pop("complexity")
    values["needs_retrieval"] |= not may_be_small_talk(text, tokenizer)
    strategy = choose_strategy(kind, difficulty)
    reasons = (f"model:{kind}", f"difficulty:{difficulty}")
    return replace(by_rules, **values, kind=kind, difficulty=difficulty, strategy=strategy, reasons=reasons, by="model")


def compute_difficulty(complexity: Complexity, signs: QuestionFeatures) -> int:
    """1 to 10."""
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


# ── how complex the wording is ───────────────────────────────────────────────────────────────


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
    words = written_words(text, tokenizer)
    return Complexity(
        word_length=sum(map(len, words)) / len(words) if words else 0.0,
        relations=count_relations(words),
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
