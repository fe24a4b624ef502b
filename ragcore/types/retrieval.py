"""Questions, what is found for them, and the state that stages of a search pass on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ragcore.types.documents import ChunkKind, Language
from ragcore.types.editions import ReplacedBy

if TYPE_CHECKING:  # readers of documents run in fresh processes and need no arrays
    import numpy as np
    import numpy.typing as npt

    from ragcore.types.sentence_vectors import SentenceVectors

Relation = Literal["head", "abbreviation", "long form", "synonym", "translation"]
EMPTY: Mapping[str, Any] = MappingProxyType({})
DROP_REASONS: Mapping[str, str] = {  # code -> in words, with the data of a drop; stages may have codes of their own
    "below_best": "below the best {best}",
    "below_cliff": "below the cliff",
    "gone": "no longer there",
    "not_best_of_forms": "not among the best of all forms of the question",
    "not_ranked": "not in the ranking",
    "read_with": "read with passage {passage}",
    "repeats": "repeats passage {passage}",
    "replaced": "another document replaces it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What the asker works on, as far as they let it take part in the ranking."""

    department: str = ""
    product: str = ""
    role: str = ""
    interests: tuple[str, ...] = ()
    recent_sets: tuple[int, ...] = ()  # knowledge sets asked lately, the latest first


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFacts:
    """What is known of a document besides its text, as far as the asker may know it."""

    sets: tuple[int, ...] = ()
    # kind -> values; kinds are "axis 1", "axis X", "axis Y" (names and codes of sets), "tag", and names of attributes
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """Another name of something that a question mentions. Its terms together never outweigh the asked ones."""

    asked_terms: tuple[str, ...]  # terms of the question
    name: str
    relation: Relation  # of the name to the mentioned term
    terms: tuple[str, ...]  # of the name, for the lexical index
    weight: float  # in (0, 1), of the weight of the asked terms


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
    expansions: tuple[Expansion, ...] = ()  # other names of what is asked for, from the lexicon
    profile: Profile | None = None  # None: nobody's, or switched off
    style: str = ""  # of the answer that is asked for; "" for plain retrieval

    @property
    def embedded_text(self) -> str:
        """What the question's vector is made of: names in the other language, without which it would find nothing."""
        names = [expansion.name for expansion in self.expansions if expansion.relation == "translation"]
        return f"{self.text} ({', '.join(names)})" if names else self.text

    @property
    def known_and_unknown_weight(self) -> float:
        """The sum of the weights of its terms.

        A term that the corpus does not contain counts as much as the rarest one that it contains, unless it is a slip
        or another name of one.
        """
        known_expansions = [expansion for expansion in self.expansions if set(expansion.terms) & set(self.weights)]
        expanded_terms = {term for expansion in known_expansions for term in expansion.asked_terms}
        unknown = len(set(self.terms) - set(self.weights) - set(self.corrections) - expanded_terms)
        return sum(self.weights.values()) + unknown * max(self.weights.values(), default=1.0)

    @property
    def token_count(self) -> int:
        """Length of the question in words."""
        return len(self.words)


class UseHint(NamedTuple):
    """What people did with a passage for questions like the one that is asked."""

    chunk: int
    value: float  # -1 to 1: how much more it helped than others
    nearness: float  # of the question to those, 0 at the floor to 1 for the same
    people: int
    shown: int
    opened: int
    helpful: int
    unhelpful: int


class Hit(NamedTuple):
    """One row of an index: an entry, the chunk that it represents, and how well it matched (higher is better).

    A tuple, because a search makes thousands of them.
    """

    chunk: int
    document: int
    score: float
    representation: str = "body"  # which entry of the chunk matched

    @classmethod
    def of_rows(cls, rows: Iterable[Sequence[Any]]) -> list[Hit]:
        """Hits of rows with all four columns; `_make` would call Python code for each of them."""
        return list(map(partial(tuple.__new__, cls), rows))


class PassageHead(NamedTuple):
    """What is known of a passage before its text is loaded."""

    text: str  # title and headings
    language: Language = "other"  # of the passage itself


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
    weight: float = 1.0  # of the document among others, 0.5 to 2, set by its owners
    kind: ChunkKind = "body"
    content: str = ""  # hash of the bytes that its version was read from; "" where it is not known
    merged: tuple[int, ...] = ()  # chunks whose texts were joined into `text`, in reading order; () where it is one
    start: int = 0  # where the chunk's own text begins in `text`
    categories: tuple[str, ...] = ()  # the document's attribute "category"
    difficulty: str = ""  # the document's attribute of this name
    fact: int | None = None  # the imported fact that it states; then chunk, document and version are none, and below 0
    replaced_by: ReplacedBy | None = None  # another document that the search may find; None: this one holds
    sentences: SentenceVectors | None = field(default=None, compare=False, repr=False)  # of those that are known


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

    @property
    def last_stage(self) -> str:
        """The stage that scored it last; "" where none did."""
        return list(self.scores)[-1] if self.scores else ""

    @property
    def last_score(self) -> float:
        """The score of the last stage that ranked it; 0 where none did."""
        return list(self.scores.values())[-1] if self.scores else 0.0

    def scored(self, name: str, score: float, rank: int) -> Candidate:
        """The same candidate with one more score; raises ValueError if the name is taken."""
        if name in self.scores:
            raise ValueError(f"score {name!r} is already there")
        return self._with(scores={**self.scores, name: score}, ranks={**self.ranks, name: rank})

    def loaded(self, passage: Passage) -> Candidate:
        """The same candidate with its passage."""
        return self._with(passage=passage)

    def explained(self, name: str, detail: Any) -> Candidate:
        """The same candidate with one more detail."""
        return self._with(detail={**self.detail, name: detail})

    def _with(
        self,
        *,
        scores: Mapping[str, float] | None = None,
        ranks: Mapping[str, int] | None = None,
        passage: Passage | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> Candidate:
        """What `dataclasses.replace` gives, in a third of its time: a search makes hundreds."""
        return Candidate(
            chunk=self.chunk,
            document=self.document,
            scores=self.scores if scores is None else scores,
            ranks=self.ranks if ranks is None else ranks,
            representation=self.representation,
            passage=passage or self.passage,
            detail=self.detail if detail is None else detail,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreScale:
    """What the scores of a reranker mean."""

    cliff: float  # gap between neighbours from which the rest is cut
    low: float | None = None  # a passage below it hardly answers; None: only differences between scores mean anything


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """Chunks that left the pipeline at one stage for one reason, in their order until then."""

    chunks: tuple[int, ...]
    stage: str
    code: str  # of DROP_REASONS, or the stage's own
    data: Mapping[str, int] = field(default_factory=dict)  # best: how many went on; passage: the chunk that stays

    @property
    def reason(self) -> str:
        """In English, for traces; the bare code where nothing is known of it."""
        return DROP_REASONS.get(self.code, self.code).format(**self.data)


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
    fallen: Mapping[int, Candidate] = field(default_factory=dict)  # chunk -> the candidate as it was when dropped
    is_ranked: bool = False  # whether `candidates`, not `pool`, says what is left
    # arm -> chunk -> the representation that hit there, for chunks where it was not the body
    via: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    boosts: Mapping[int, float] = field(default_factory=dict)  # document -> factor of its fused scores, around 1
    reasons: Mapping[int, tuple[str, ...]] = field(default_factory=dict)  # document -> why it has a boost
    alpha_shift: float = 0.0  # what the profile adds to alpha, in [-0.1, 0.1]
    names: Mapping[int, str] = field(default_factory=dict)  # document -> its name, of which the question has a part
    # documents whose whole name the question gives: they lead every ranking
    named_documents: frozenset[int] = frozenset()
    graph: Mapping[str, Any] = field(default_factory=dict)  # what the graph of entities tells of the question
    scale: ScoreScale | None = None  # of the scores "rerank"; None: nothing was reranked
    # the running stage's note; the runner moves it into the stage's record
    pending_note: Mapping[str, Any] = field(default_factory=dict)

    def ids(self) -> list[int]:
        """Chunk ids of what is left, best first once a stage has ranked them."""
        return [c.chunk for c in self.candidates] if self.is_ranked else list(self.pool)

    def item_count(self) -> int:
        """How many candidates are left."""
        return len(self.candidates) if self.is_ranked else len(self.pool)

    def stage_note(self, stage: str) -> Mapping[str, Any]:
        """What the running stage has noted so far."""
        return self.pending_note

    def with_record(self, record: StageRecord) -> State:
        """The state after a stage: with its record, and no note for the next one."""
        return replace(self, records=(*self.records, record), pending_note=EMPTY)

    def with_arm(self, name: str, hits: Sequence[Hit]) -> State:
        """Add one index ranking, best first; of several entries of a chunk the first counts."""
        if name in self.arms:
            raise ValueError(f"arm {name!r} is already there")
        first: dict[int, Hit] = {}
        for hit in hits:
            first.setdefault(hit.chunk, hit)
        scores = {chunk: hit.score for chunk, hit in first.items()}
        representations = {chunk: hit.representation for chunk, hit in first.items() if hit.representation != "body"}
        pool = {**self.pool, **{chunk: hit for chunk, hit in first.items() if chunk not in self.pool}}
        via = {**self.via, name: representations} if representations else self.via
        return replace(self, pool=pool, arms={**self.arms, name: scores}, via=via)

    def boosted(self, factors: Mapping[int, float], reasons: Mapping[int, tuple[str, ...]]) -> State:
        """Multiply the factors of documents and add the reasons."""
        boosts = {d: self.boosts.get(d, 1.0) * factor for d, factor in factors.items()}
        reasons_of_documents = {d: (*self.reasons.get(d, ()), *why) for d, why in reasons.items()}
        return replace(self, boosts={**self.boosts, **boosts}, reasons={**self.reasons, **reasons_of_documents})

    def ranked(
        self, stage: str, scores: Mapping[int, float], *, keep: int, note: Mapping[str, Any] | None = None
    ) -> State:
        """Order what is left by a new score, keep the best and record the others as dropped.

        Whatever has no score is dropped too. Ties keep their present order. Documents that the question names come
        first, by their scores.
        """
        standing = self.ids()
        order = sorted((chunk for chunk in standing if chunk in scores), key=lambda chunk: scores[chunk], reverse=True)
        if self.named_documents:
            order.sort(key=lambda chunk: self.pool[chunk].document not in self.named_documents)
        best = self._as_candidates(order[:keep])
        return (
            replace(
                self,
                candidates=tuple(c.scored(stage, scores[c.chunk], rank) for rank, c in enumerate(best, 1)),
                is_ranked=True,
                pending_note={**self.pending_note, **(note or {})},
            )
            ._dropping(
                Drop(chunks=tuple(order[keep:]), stage=stage, code="below_best", data={"best": keep}),
                Drop(chunks=tuple(c for c in standing if c not in scores), stage=stage, code="not_ranked"),
            )
            ._keeping_fallen(self)
        )

    def narrowed(self, candidates: Sequence[Candidate], *, stage: str, code: str, **data: int) -> State:
        """Keep these candidates, in this order, and record the others as dropped for one reason (`Drop`)."""
        chunks = {c.chunk for c in candidates}
        gone = tuple(chunk for chunk in self.ids() if chunk not in chunks)
        narrowed = replace(self, candidates=tuple(candidates), is_ranked=True)
        return narrowed._dropping(Drop(chunks=gone, stage=stage, code=code, data=data))._keeping_fallen(self)

    def _dropping(self, *drops: Drop) -> State:
        return replace(self, drops=(*self.drops, *(drop for drop in drops if drop.chunks)))

    def _keeping_fallen(self, before: State) -> State:
        """Remember the candidates that `before` had and this state has no more, with all their scores."""
        chunks = {c.chunk for c in self.candidates}
        gone = {c.chunk: c for c in before.candidates if c.chunk not in chunks}
        return replace(self, fallen={**self.fallen, **gone}) if gone else self

    def _as_candidates(self, chunks: Sequence[int]) -> list[Candidate]:
        """Candidates with the scores and ranks of every arm, made of the pool unless they exist already."""
        if self.is_ranked:
            by_chunk = {c.chunk: c for c in self.candidates}
            return [by_chunk[chunk] for chunk in chunks]
        chosen = set(chunks)
        ranks = {
            name: {chunk: rank for rank, chunk in enumerate(arm, 1) if chunk in chosen}
            for name, arm in self.arms.items()
        }
        return [
            Candidate(
                chunk=chunk,
                document=self.pool[chunk].document,
                representation=self.pool[chunk].representation,
                scores={name: self.arms[name][chunk] for name in self.arms if chunk in self.arms[name]},
                ranks={name: rank_of[chunk] for name, rank_of in ranks.items() if chunk in rank_of},
                detail=self._via(chunk),
            )
            for chunk in chunks
        ]

    def _via(self, chunk: int) -> Mapping[str, Any]:
        """The detail "via" of a chunk: arm -> representation, where an arm found it by another than its body."""
        via = {
            arm: representation_of[chunk] for arm, representation_of in self.via.items() if chunk in representation_of
        }
        return {"via": via} if via else {}

    def noted(self, **note: Any) -> State:
        """Add to the note of the running stage."""
        return replace(self, pending_note={**self.pending_note, **note})
