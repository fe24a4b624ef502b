"""Values of the retrieval lab. Everything in them is what the viewer may read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from knowledge.services.passage_evidence import TermEvidence
from knowledge.types import Filters, RetrievalMode
from ragcore.options import RetrievalOptions
from ragcore.types import Passage

# lexical: BM25; coarse: cosine of the 384-d prefix; dense: cosine of all 768; title: likeness of the title, where the
# question seems to ask for one; the others are stages that rank
Ranking = str  # lexical, coarse, dense, title, and the rankings that stages declare
FateKind = Literal[
    "found",  # place of the result
    "merged",  # read together with the passage at this place
    "dropped",  # at a stage, from this place, for its reason
    "not_fine",  # among the candidates of the first stage, not among the best of either arm after it
    "not_coarse",  # not among the candidates of the first stage
    "not_indexed",  # no entry in the index
    "not_live",  # the document has no live version
    "not_asked",  # outside of the chosen sets or filters
    "not_theirs",  # the person may not read it
    "not_yours",  # the viewer may open it, but searches of theirs do not touch it
]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabConfiguration:
    """How to search: a mode, the style of answer that steers it, overrides of RetrievalOptions."""

    mode: RetrievalMode = "hybrid"
    style: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)  # what is left out is inherited from the set


@dataclass(frozen=True, slots=True, kw_only=True)
class LabQuestion:
    """What is asked, where, and with whose rights besides the viewer's."""

    text: str
    sets: tuple[int, ...] = ()
    filters: Filters = Filters()


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a snippet; `marked` ones match the question."""

    text: str
    marked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a ranking had a passage."""

    score: float
    rank: int | None = None  # 1-based; None: scored only, it was not among the ranking's candidates
    share: float = 0.0  # of the best score of this ranking, 0 to 1, for bars


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What became of a passage or a document."""

    kind: FateKind
    stage: str = ""
    reason: str = ""  # in words, as traces have it; of a document that is not live: its state
    code: str = ""  # of the reason, see ragcore.types.Drop
    place: int | None = None  # in the order of that stage
    limit: int | None = None  # how many went on
    beside: int | None = None  # place in the result of the passage that it repeats or is read with


@dataclass(frozen=True, slots=True, kw_only=True)
class LabRow:
    """One passage on its way through the stages."""

    passage: Passage
    snippet: tuple[Piece, ...]
    rankings: Mapping[Ranking, Place]
    terms: tuple[TermEvidence, ...]
    via: Mapping[str, str]  # arm -> representation that hit, where it was not the body
    features: Mapping[str, float]  # of the reranker
    boost: Mapping[str, Any]  # what moved the fused score, empty if nothing did
    use: Mapping[str, Any]  # how use moved it, and what people did; empty where it did not
    fate: Fate

    @property
    def chunk(self) -> int:
        return self.passage.chunk

    @property
    def final(self) -> int | None:
        """Place in the result; None: it did not get there."""
        return self.fate.place if self.fate.kind == "found" else None

    @property
    def golden_name(self) -> str:
        """How golden cases name its document."""
        return self.passage.external_id or f"#{self.passage.document}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTime:
    """One stage of a run."""

    stage: str
    milliseconds: float
    before: int
    after: int
    note: Mapping[str, Any]
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What became of a document that the viewer expected: the passage that got furthest, then the others."""

    document: int
    title: str
    fate: Fate
    rows: tuple[LabRow, ...] = ()
    more: int = 0  # passages beyond those
    lowest: Mapping[str, float] = field(default_factory=dict)  # arm -> score of the last one that went on


@dataclass(frozen=True, slots=True, kw_only=True)
class LabRun:
    """One configuration's search."""

    configuration: LabConfiguration
    options: RetrievalOptions  # in force
    stages: tuple[StageTime, ...]
    searched: int
    relevant: bool
    found: tuple[LabRow, ...]
    dropped: tuple[LabRow, ...]  # those that got furthest first
    dropped_beyond: int  # dropped after fusion as well, not shown
    candidates_beyond: int  # of the first stage, never ranked by the second
    where: Where | None = None
    weights: Mapping[str, float] = field(default_factory=dict)  # idf of the question's terms that the corpus knows
    unknown: tuple[str, ...] = ()  # terms of the question that the corpus does not know

    @property
    def milliseconds(self) -> float:
        return sum(stage.milliseconds for stage in self.stages)

    def note(self, stage: str) -> Mapping[str, Any]:
        """What a stage decided."""
        return next((one.note for one in self.stages if one.stage == stage), {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """How the second ranking has a passage of the first or of its own."""

    kind: Literal["same", "up", "down", "only_left", "only_right"]
    places: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LabResult:
    """A question under one or two configurations."""

    question: LabQuestion
    as_user: str  # user name; empty: with the viewer's rights alone
    runs: tuple[LabRun, ...]

    @property
    def moves(self) -> Mapping[int, Move]:
        """Passage → move from the first to the second run; empty for one run."""
        if len(self.runs) < 2:
            return {}
        return moves_between([row.chunk for row in self.runs[0].found], [row.chunk for row in self.runs[1].found])


def moves_between(left: list[int], right: list[int]) -> dict[int, Move]:
    """How the order `right` differs from `left`."""
    before, after = ({chunk: place for place, chunk in enumerate(order)} for order in (left, right))
    moves = {chunk: Move(kind="only_left") for chunk in before.keys() - after.keys()}
    moves |= {chunk: Move(kind="only_right") for chunk in after.keys() - before.keys()}
    for chunk in before.keys() & after.keys():
        up = before[chunk] - after[chunk]
        moves[chunk] = Move(kind="up" if up > 0 else "down" if up else "same", places=abs(up))
    return moves
