"""Answers with their citations and support, and what stages of an answer pass on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Literal

from ragcore.types.documents import Language
from ragcore.types.retrieval import Passage, Profile, StageRecord

Support = Literal["supported", "weak", "unsupported"]
AnswerStatus = Literal["answered", "refused", "search_results", "degraded", "conversation", "stopped"]

QuestionType = Literal["definition", "process", "comparison", "application", "general"]
QuestionKind = Literal["simple_fact", "complex_reasoning", "multi_hop", "comparison", "aggregation", "open_ended"]
StrategyName = Literal["direct", "hyde", "decomposition", "iterative", "hybrid"]
FactTarget = Literal["subject", "object", "relationship", "type"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens that models were sent and returned. `reasoning_tokens` are a part of `completion_tokens`."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0  # of what a model thought before it wrote

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A numbered passage as the answerer was shown it."""

    number: int  # 1-based; what `[n]` in the answer points to
    passage: Passage
    text: str  # what stood in the context, perhaps truncated
    score: float  # the ranking's score scaled to 0..1, higher is better


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A source that the answer points to."""

    number: int
    source: Source
    confidence: float  # 0 to 1
    weak: bool  # confidence below the threshold
    position: int  # character offset of the first marker in the answer
    segment: str  # the sentence that carries the first marker
    frequency: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence of the answer with how well the sources support it."""

    text: str
    support: Support
    citations: tuple[int, ...] = ()
    reason: str | None = None  # in English
    risk: str | None = None
    reason_data: Mapping[str, str | int] | None = None  # to translate a reason whose text changes from case to case
    quoted: bool = False  # its words stand in a cited source as they are
    relevance: float | None = None  # that it answers the question, 0 to 1; None where that was not judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A finished answer. `text` is Markdown with `[n]` markers; errors never travel in it."""

    text: str
    status: AnswerStatus
    confidence: float = 0.0  # 0 to 1
    citations: tuple[Citation, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    sources: tuple[Source, ...] = ()
    usage: Usage = Usage()
    model: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One earlier question with its answer; "" where there was none.

    `understood`: the question without its conversation, as it was answered; "" where it stood by itself.
    """

    question: str
    answer: str = ""
    understood: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was asked, and what is needed to understand it."""

    text: str  # normalised, as asked
    language: Language = "other"
    history: tuple[Turn, ...] = ()  # oldest first
    today: date | None = None  # in the user's time zone
    profile: Profile | None = None  # None: empty, or switched off
    name: str = ""  # of the user


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What kind of question it is."""

    kind: QuestionKind = "simple_fact"
    cue: QuestionType = "general"
    target: FactTarget = "subject"
    complexity: float = 0.0  # 0 to 1
    difficulty: int = 1  # 1 to 10
    needs_retrieval: bool = True  # False only for greetings and questions about the conversation itself
    several_sources: bool = False
    time: bool = False  # about a time, or the answer changes with it
    calculation: bool = False
    strategy: StrategyName = "direct"
    reasons: tuple[str, ...] = ()  # codes of the signs that decided, for the trace
    by: Literal["rules", "model"] = "rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """Another form of the question to search with."""

    text: str
    method: str  # such as "multi", "hyde", "decompose"
    is_hypothetical: bool = False  # an answer that might be; only its embedding is searched with

    @property
    def is_for_people(self) -> bool:
        """Whether it reads as a question; an answer that might be does not, nor do weighted words or the original."""
        return not self.is_hypothetical and self.method not in ("history", "original")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A passage with its score of the last ranking stage, higher is better, about 0 to 1."""

    passage: Passage
    score: float
    by_graph: bool = False  # the graph of entities has led to it, and given it one of the last places


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What one search brought, best first."""

    ranked: tuple[Ranked, ...] = ()
    relevant: bool = True  # False: both arms stayed below their thresholds
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that was done on the way, for the reader and the trace."""

    name: str  # such as "rewrite", "judge", "answer"
    round: int = 0  # 1-based; 0: outside of a loop
    detail: Mapping[str, Any] = field(default_factory=dict)  # plain values only


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenText:
    """A text that a generator has written from sources."""

    text: str
    model: str = ""
    usage: Usage = Usage()
    is_degraded: bool = False  # by a fallback of the generator that was asked
    reason: str = ""  # why it is degraded: the reason of the error, or its code
    is_cut: bool = False  # at its limit of tokens
    tier: str = ""  # of the model; "" where models have none
    choice: tuple[str, ...] = ()  # codes of ragcore.llm.tiers.RoutingDecision; () where there was nothing to choose


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerState:
    """What stages pass on: the question, its forms, what was found, the numbered sources, and perhaps the text."""

    question: Question
    standalone: str = ""  # the question without its conversation; "" until a stage has made it
    analysis: Analysis | None = None
    rewrites: tuple[Rewrite, ...] = ()  # besides the standalone question
    result: SearchResult | None = None  # of the last search
    passages: tuple[Ranked, ...] = ()  # what the context will be made of, best first
    sources: tuple[Source, ...] = ()
    further_sources: tuple[Source, ...] = ()  # behind them; only quoted answers rest on these, no model reads them
    whole_versions: frozenset[int] = frozenset()  # of documents all of whose tables are among the sources
    answer_text: WrittenText | None = None  # None: the last step of the flow writes
    steps: tuple[Step, ...] = ()
    records: tuple[StageRecord, ...] = ()
    stats: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # stage -> figures for the response
    confidence: float | None = None  # that a loop gives its answer, 0 to 1

    @property
    def query(self) -> str:
        """The question to search with."""
        return self.standalone or self.question.text

    def item_count(self) -> int:
        """How many passages there are."""
        return len(self.passages)

    def stage_note(self, stage: str) -> Mapping[str, Any]:
        """The figures of a stage."""
        return self.stats.get(stage, {})

    def with_record(self, record: StageRecord) -> AnswerState:
        """The state after a stage, with its record."""
        return replace(self, records=(*self.records, record))

    def with_steps(self, *steps: Step) -> AnswerState:
        return replace(self, steps=(*self.steps, *steps))

    def with_stats(self, stage: str, **figures: Any) -> AnswerState:
        return replace(self, stats={**self.stats, stage: {**self.stats.get(stage, {}), **figures}})
