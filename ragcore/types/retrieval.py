"""Questions, what is found for them, and what a stage did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ragcore.types.documents import ChunkKind, Language

if TYPE_CHECKING:  # readers of documents run in fresh processes and need no arrays
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What the asker works on, as far as they let it take part in the ranking (D4)."""

    department: str = ""
    product: str = ""
    role: str = ""
    interests: tuple[str, ...] = ()
    recent_sets: tuple[int, ...] = ()  # knowledge sets asked lately, the latest first


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFacts:
    """What is known of a document besides its text, as far as the asker may know it (D13)."""

    sets: tuple[int, ...] = ()
    # kind -> values; kinds are "axis 1", "axis X", "axis Y" (names and codes of sets), "tag", and names of attributes
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question ready for retrieval."""

    text: str
    terms: tuple[str, ...]  # for the lexical index: words and CJK bigrams, order kept, repeats kept
    words: tuple[str, ...] = ()  # words only, without the extra bigrams
    language: Language = "other"
    cjk_share: float = 0.0  # share of CJK among letters, 0 to 1
    weights: Mapping[str, float] = field(default_factory=dict)  # idf of the terms that the corpus knows
    vector: npt.NDArray[np.float32] | None = field(default=None, compare=False, repr=False)  # float32[768], normalised
    corrections: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # misspelt -> known -> weight
    profile: Profile | None = None  # None: nobody's, or switched off
    style: str = ""  # of the answer that is asked for; "" for plain retrieval (V5)

    @property
    def token_count(self) -> int:
        """Length of the question in words."""
        return len(self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One row of an index: an entry, the chunk that it represents, and how well it matched (higher is better)."""

    chunk: int
    document: int
    score: float
    representation: str = "body"  # which entry of the chunk matched


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """The text of a chunk with what a reader needs to recognise its source."""

    chunk: int
    document: int
    version: int
    text: str
    title: str
    external_id: str = ""
    heading_path: tuple[str, ...] = ()
    page: int | None = None
    tokens: int = 0
    ordinal: int = 0
    rating: float | None = None  # 1 to 5, what readers gave the document; None: nobody did
    weight: float = 1.0  # of the document among others, 0.5 to 2, set by its owners (D13)
    kind: ChunkKind = "body"
    merged: tuple[int, ...] = ()  # chunks whose texts were joined into `text`, in reading order; () where it is one
    start: int = 0  # where the chunk's own text begins in `text`


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A chunk on its way through the stages. Scores are added under their stage, never overwritten."""

    chunk: int
    document: int
    scores: Mapping[str, float] = field(default_factory=dict)  # stage or arm -> score, higher is better
    ranks: Mapping[str, int] = field(default_factory=dict)  # stage or arm -> 1-based rank
    representation: str = "body"
    passage: Passage | None = None  # loaded once the list is short
    detail: Mapping[str, Any] = field(default_factory=dict)  # e.g. matched terms, features of the reranker

    def scored(self, name: str, score: float, rank: int) -> Candidate:
        """The same candidate with one more score; raises ValueError if the name is taken."""
        if name in self.scores:
            raise ValueError(f"score {name!r} is already there")
        return replace(self, scores={**self.scores, name: score}, ranks={**self.ranks, name: rank})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreScale:
    """What the scores of a reranker mean (D5)."""

    cliff: float  # gap between neighbours from which the rest is cut
    low: float | None = None  # a passage below it hardly answers; None: only differences between scores mean anything


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """Chunks that left the pipeline at one stage for one reason, in their order until then."""

    chunks: tuple[int, ...]
    stage: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRecord:
    """What one stage did: its time, how many went in and came out, its notes, or why it was skipped."""

    stage: str
    seconds: float
    before: int
    after: int
    note: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None  # code of the error for which the stage was skipped
