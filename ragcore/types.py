"""Frozen values that travel between parsers, splitters, stages and answerers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:  # readers of documents run in fresh processes and need no arrays
    import numpy as np
    import numpy.typing as npt

EMPTY: Mapping[str, Any] = MappingProxyType({})

BlockKind = Literal["heading", "paragraph", "list", "table", "code", "formula", "image"]
ChunkKind = Literal["body", "section", "summary", "whole"]
Language = Literal["zh", "en", "other"]


# ── documents ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A rectangle on a page, in points from the top left corner of the page."""

    page: int  # 1-based
    x0: float
    y0: float
    x1: float
    y1: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One structural element of a document as Markdown, in reading order."""

    kind: BlockKind
    text: str  # Markdown; a heading without its leading hashes
    level: int = 0  # headings: 1 to 6; others 0
    page: int | None = None  # 1-based
    box: Box | None = None

    def markdown(self) -> str:
        """The block as it stands in the document's Markdown."""
        return f"{'#' * self.level} {self.text}" if self.kind == "heading" else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture inside a document, encoded as the file had it. A block shows it as `![alt](picture:NAME)`."""

    name: str  # unique in the document: ASCII letters, digits, "." "_" "-" only
    media_type: str  # image/png, image/jpeg, image/gif, image/webp, image/bmp, image/tiff
    content: bytes = field(repr=False)
    page: int | None = None  # 1-based
    alt: str = ""  # what the file says about it


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """What a parser found: blocks in reading order and what the file says of itself.

    A parser may leave text unread that only a picture holds: `unread_pages` are pages of a PDF without a text layer,
    and `pictures` are what image blocks show. Character recognition (ragcore.ocr) adds their text later.
    """

    blocks: tuple[Block, ...]
    title: str = ""
    pages: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    pictures: tuple[Picture, ...] = ()
    unread_pages: tuple[int, ...] = ()  # 1-based, ascending

    def markdown(self) -> str:
        """The whole document as Markdown; blocks separated by a blank line."""
        return "\n\n".join(block.markdown() for block in self.blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkDraft:
    """A chunk before it is stored. `parent` is the ordinal of another draft of the same document."""

    ordinal: int  # 0-based, reading order
    text: str  # Markdown
    tokens: int
    kind: ChunkKind = "body"
    heading_path: tuple[str, ...] = ()
    parent: int | None = None
    is_continuation: bool = False  # inherits the heading of the chunk before it
    page: int | None = None  # first page, 1-based
    boxes: tuple[Box, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pixels:
    """A decoded picture: rows from the top, 8 bits a channel, no padding."""

    width: int
    height: int
    channels: int  # 1 grey, 3 RGB
    data: bytes = field(repr=False)  # height * width * channels


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognisedLine:
    """A line of text that was read from a picture; the box is in pixels from the top left."""

    text: str
    score: float  # 0 to 1, higher is surer
    x0: float
    y0: float
    x1: float
    y1: float


# ── retrieval ───────────────────────────────────────────────────────────────────────────────────


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


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What stages pass on: the query, what was found, the candidates best first, and the record of what happened.

    `arms` holds the complete rankings of the index searches by name ("lexical", "coarse", "dense"), each a mapping
    chunk -> score (higher is better) in rank order. `pool` is their union; candidates are made of it by the first
    stage that ranks, so that thousands of hits cost no objects.
    """

    query: Query
    pool: Mapping[int, Hit] = field(default_factory=dict)
    candidates: tuple[Candidate, ...] = ()
    arms: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    records: tuple[StageRecord, ...] = ()
    drops: tuple[Drop, ...] = ()
    is_ranked: bool = False  # whether `candidates`, not `pool`, says what is left
    # the running stage's note; run() moves it into the stage's record
    pending_note: Mapping[str, Any] = field(default_factory=dict)

    def ids(self) -> list[int]:
        """Chunk ids of what is left, best first once a stage has ranked them."""
        return [c.chunk for c in self.candidates] if self.is_ranked else list(self.pool)

    def with_arm(self, name: str, hits: Sequence[Hit]) -> State:
        """Add one index ranking, best first; of several entries of a chunk the first counts."""
        if name in self.arms:
            raise ValueError(f"arm {name!r} is already there")
        scores: dict[int, float] = {}
        pool = dict(self.pool)
        for hit in hits:
            scores.setdefault(hit.chunk, hit.score)
            pool.setdefault(hit.chunk, hit)
        return replace(self, pool=pool, arms={**self.arms, name: scores})

    def ranked(
        self, stage: str, scores: Mapping[int, float], *, keep: int, note: Mapping[str, Any] | None = None
    ) -> State:
        """Order what is left by a new score, keep the best and record the others as dropped.

        Whatever has no score is dropped too. Ties keep their present order.
        """
        left = self.ids()
        order = sorted((chunk for chunk in left if chunk in scores), key=lambda chunk: scores[chunk], reverse=True)
        kept = self._as_candidates(order[:keep])
        return replace(
            self,
            candidates=tuple(c.scored(stage, scores[c.chunk], rank) for rank, c in enumerate(kept, 1)),
            is_ranked=True,
            pending_note={**self.pending_note, **(note or {})},
        )._dropping(
            (tuple(order[keep:]), stage, f"below the best {keep}"),
            (tuple(chunk for chunk in left if chunk not in scores), stage, "not in the ranking"),
        )

    def narrowed(self, candidates: Sequence[Candidate], *, stage: str, reason: str) -> State:
        """Keep these candidates, in this order, and record the others as dropped for one reason."""
        kept = {c.chunk for c in candidates}
        gone = tuple(chunk for chunk in self.ids() if chunk not in kept)
        return replace(self, candidates=tuple(candidates), is_ranked=True)._dropping((gone, stage, reason))

    def _dropping(self, *groups: tuple[tuple[int, ...], str, str]) -> State:
        drops = [Drop(chunks=chunks, stage=stage, reason=reason) for chunks, stage, reason in groups if chunks]
        return replace(self, drops=(*self.drops, *drops))

    def _as_candidates(self, chunks: Sequence[int]) -> list[Candidate]:
        """Candidates with the scores and ranks of every arm, made of the pool unless they exist already."""
        if self.is_ranked:
            known = {c.chunk: c for c in self.candidates}
            return [known[chunk] for chunk in chunks]
        wanted = set(chunks)
        ranks = {
            name: {chunk: rank for rank, chunk in enumerate(arm, 1) if chunk in wanted}
            for name, arm in self.arms.items()
        }
        return [
            Candidate(
                chunk=chunk,
                document=self.pool[chunk].document,
                representation=self.pool[chunk].representation,
                scores={name: self.arms[name][chunk] for name in self.arms if chunk in self.arms[name]},
                ranks={name: found[chunk] for name, found in ranks.items() if chunk in found},
            )
            for chunk in chunks
        ]

    def noted(self, **note: Any) -> State:
        """Add to the note of the running stage."""
        return replace(self, pending_note={**self.pending_note, **note})


# ── answers ─────────────────────────────────────────────────────────────────────────────────────

Support = Literal["supported", "weak", "unsupported"]
AnswerStatus = Literal["answered", "refused", "search_results", "degraded", "conversation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens that models were sent and returned."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
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
    """A source that the answer points to (V7)."""

    number: int
    source: Source
    confidence: float  # 0 to 1
    weak: bool  # confidence below the threshold
    position: int  # character offset of the first marker in the answer
    segment: str  # the sentence that carries the first marker
    frequency: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence of the answer with how well the sources support it (B4)."""

    text: str
    support: Support
    citations: tuple[int, ...] = ()
    reason: str | None = None
    risk: str | None = None


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
