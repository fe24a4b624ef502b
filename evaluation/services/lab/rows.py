"""The state of a finished search as table rows, one a passage, with scores, ranks, reasons and a snippet."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evaluation.services.lab.types import Fate, LabRow, Piece, Place, Ranking
from knowledge.services.passage_evidence import PassageEvidence
from ragcore.retrieval.pipeline import stage_infos
from ragcore.types import Candidate, Drop, State

ARMS: tuple[Ranking, ...] = ("lexical", "coarse", "dense")
STAGES: Mapping[str, Ranking] = {name: info.ranking for name, info in stage_infos().items() if info.ranking}

Load = Callable[[Sequence[int]], Mapping[int, PassageEvidence]]

SNIPPET_CHARACTERS = 220
LEAD_CHARACTERS = 24  # before the first match of the snippet
_SPACE = re.compile(r"\s+")
_LATIN = re.compile(r"[a-z0-9]", re.IGNORECASE)
_MARKS = re.compile(
    r"^[^\S\n]*+(?:(?=[-:| ]*+$)[-:| ]*?-{3,}+[-:| ]*+|#{1,6}|[-*+>])\s*|[*`~]+|(?<!\w)_+|(?<!_)_++(?!\w)", re.MULTILINE
)
_CELLS = re.compile(r"(?:(?<![ \t])[ \t]+)?\|[ \t|]*")
_DOTS = re.compile(r"(?: ·)+(?= ·)")


@dataclass(frozen=True, slots=True)
class Trail:
    """Where a search left each passage."""

    state: State
    fates: Mapping[int, Fate]
    candidates: Mapping[int, Candidate]  # with their scores, whether they got through or not
    ranks: Mapping[str, Mapping[int, int]]  # arm -> chunk -> 1-based rank
    scales: Mapping[Ranking, tuple[float, float]] = field(default_factory=dict)  # worst and best score of a stage

    @classmethod
    def of(cls, state: State) -> Trail:
        candidates = {**state.fallen, **{c.chunk: c for c in state.candidates}}
        ranks = {name: {chunk: rank for rank, chunk in enumerate(arm, 1)} for name, arm in state.arms.items()}
        return cls(state, dict(_fates(state)), candidates, ranks, dict(_scales(state, candidates.values())))

    @property
    def ranked_and_dropped(self) -> list[int]:
        """Passages that the second stage ranked and a later one dropped, those that got furthest first."""
        gone = [drop for drop in reversed(self.state.drops) if drop.code != "not_ranked"]
        return list(dict.fromkeys(chunk for drop in gone for chunk in drop.chunks))

    @property
    def never_ranked(self) -> int:
        return sum(len(drop.chunks) for drop in self.state.drops if drop.code == "not_ranked")


def _fates(state: State) -> Iterable[tuple[int, Fate]]:
    places = {candidate.chunk: place for place, candidate in enumerate(state.candidates, 1)}
    for drop in state.drops:
        yield from _fates_of_drop(drop, state, places)
    for place, candidate in enumerate(state.candidates, 1):
        yield candidate.chunk, Fate(kind="found", place=place)
        merged = candidate.passage.merged if candidate.passage else ()
        for chunk in merged:
            if chunk != candidate.chunk:
                yield chunk, Fate(kind="merged", place=place)


def _fates_of_drop(drop: Drop, state: State, places: Mapping[int, int]) -> Iterable[tuple[int, Fate]]:
    if drop.code == "not_ranked":
        yield from ((chunk, Fate(kind="not_fine", stage=drop.stage)) for chunk in drop.chunks)
        return
    limit, other = drop.data.get("best"), drop.data.get("passage")
    beside = places.get(other) if other is not None else None
    dropped = Fate(kind="dropped", stage=drop.stage, reason=drop.reason, code=drop.code, limit=limit, beside=beside)
    for number, chunk in enumerate(drop.chunks, 1):
        candidate = state.fallen.get(chunk)
        last = list(candidate.ranks.values())[-1] if candidate and candidate.ranks else None
        yield chunk, replace(dropped, place=limit + number if limit is not None else last)


def _scales(state: State, candidates: Iterable[Candidate]) -> Iterable[tuple[Ranking, tuple[float, float]]]:
    """What a full and an empty bar mean: arms and fusion begin at 0, other scales at their worst score."""
    every = list(candidates)
    for arm in ARMS:
        if scores := state.arms.get(arm):
            yield arm, (0.0, max(scores.values()))
    for stage, name in STAGES.items():
        scores_of_stage = [c.scores[stage] for c in every if stage in c.scores]
        if scores_of_stage:
            yield name, (0.0 if name == "fused" else min(scores_of_stage), max(scores_of_stage))


# ── rows ────────────────────────────────────────────────────────────────────────────────────────


def rows_of(chunks: Iterable[int], *, trail: Trail, evidence: Mapping[int, PassageEvidence]) -> tuple[LabRow, ...]:
    """Rows in the order given; a passage that has become invisible meanwhile is left out."""
    return tuple(row_of(evidence[chunk], trail=trail) for chunk in chunks if chunk in evidence)


def row_of(evidence: PassageEvidence, *, trail: Trail, fate: Fate | None = None) -> LabRow:
    """Everything about one passage."""
    chunk = evidence.passage.chunk
    candidate = trail.candidates.get(chunk)
    detail = candidate.detail if candidate else {}
    passage = candidate.passage if candidate and candidate.passage else evidence.passage
    return LabRow(
        passage=passage,
        snippet=snippet_of(passage.text, [term.text for term in evidence.terms]),
        rankings=_rankings(evidence, candidate, trail),
        terms=evidence.terms,
        via=_via(evidence, trail),
        features=dict(detail.get("rerank", {})),
        boost=_boost(detail, trail.state, evidence.passage.document),
        use=_use(candidate),
        fate=fate or trail.fates.get(chunk) or Fate(kind="not_coarse" if evidence.entries else "not_indexed"),
    )


def _rankings(evidence: PassageEvidence, candidate: Candidate | None, trail: Trail) -> dict[Ranking, Place]:
    """Scores of the arms also where the arm did not have the passage: computed for it, without a rank."""
    chunk = evidence.passage.chunk
    computed = {"lexical": evidence.bm25, "coarse": evidence.coarse, "dense": evidence.dense}
    rankings: dict[Ranking, Place] = {}
    for arm in ARMS:
        score = trail.state.arms.get(arm, {}).get(chunk, computed[arm])
        if score is not None:
            rank = trail.ranks.get(arm, {}).get(chunk)
            rankings[arm] = Place(score=score, rank=rank, share=_share(score, trail.scales.get(arm)))
    if (title := trail.state.arms.get("title", {}).get(chunk)) is not None:
        rankings["title"] = Place(score=title, rank=trail.ranks["title"][chunk], share=min(max(title, 0.0), 1.0))
    for stage, name in STAGES.items():
        if candidate is not None and stage in candidate.scores:
            score = candidate.scores[stage]
            share = _share(score, trail.scales.get(name))
            rankings[name] = Place(score=score, rank=candidate.ranks.get(stage), share=share)
    return rankings


def _share(score: float, scale: tuple[float, float] | None) -> float:
    if scale is None or scale[1] <= scale[0]:
        return 1.0 if scale is not None else 0.0
    return min(max((score - scale[0]) / (scale[1] - scale[0]), 0.0), 1.0)


def _via(evidence: PassageEvidence, trail: Trail) -> dict[str, str]:
    """Arm → representation that hit, where it was not the text itself; what the search recorded comes first."""
    chunk = evidence.passage.chunk
    recorded = {arm: names[chunk] for arm, names in trail.state.via.items() if chunk in names}
    return {arm: name for arm, name in {**evidence.via, **recorded}.items() if name != "body"}


def _boost(detail: Mapping[str, object], state: State, document: int) -> dict[str, object]:
    """What moved the fused score: as the stage tells it, else the bare factor."""
    boost = detail.get("boost")
    if isinstance(boost, Mapping):
        return {str(name): value for name, value in boost.items()}
    factor = state.boosts.get(document)
    reasons = {} if boost is None else {"why": boost}
    return reasons if factor is None else {"factor": factor, **reasons}


def _use(candidate: Candidate | None) -> dict[str, object]:
    """What use changed of a passage, with the place that it had after it."""
    if candidate is None or "use" not in candidate.detail:
        return {}
    return {**candidate.detail["use"], "now": candidate.ranks.get("weigh.use")}


def snippet_of(text: str, terms: Sequence[str], *, limit: int = SNIPPET_CHARACTERS) -> tuple[Piece, ...]:
    """The window of `limit` characters with most different terms, without marks of Markdown."""
    plain = _DOTS.sub("", _SPACE.sub(" ", _CELLS.sub(" · ", _MARKS.sub("", text)))).strip(" ·")
    pattern = pattern_of(terms)
    start = _densest(plain, pattern, limit)
    part = plain[start : start + limit]
    pieces = list(_marked(part, pattern))
    before = [Piece("… ")] if start else []
    after = [Piece(" …")] if start + limit < len(plain) else []
    return (*before, *pieces, *after)


def pattern_of(terms: Iterable[str]) -> re.Pattern[str] | None:
    """Matches index terms in running text: Latin stems with whatever ending they have there (Porter's i may be a y)."""
    parts = [_part(term) for term in sorted(set(terms), key=len, reverse=True) if term]
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None


def _part(term: str) -> str:
    if not _LATIN.match(term):
        return re.escape(term)
    stem = f"{re.escape(term[:-1])}[iy]" if len(term) > 2 and term.endswith("i") else re.escape(term)
    return rf"(?<![A-Za-z0-9]){stem}\w*" if term[-1:].isalpha() else rf"(?<![A-Za-z0-9]){stem}(?!\w)"


def _marked(part: str, pattern: re.Pattern[str] | None) -> Iterable[Piece]:
    """The text in pieces; bigrams of CJK that overlap or touch become one mark."""
    spans: list[list[int]] = []
    start = 0
    while pattern is not None and (match := pattern.search(part, start)):
        if spans and match.start() <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], match.end())
        else:
            spans.append([match.start(), match.end()])
        start = match.start() + 1 if not _LATIN.match(match.group()) else match.end()
    end = 0
    for first, last in spans:
        if first > end:
            yield Piece(part[end:first])
        yield Piece(part[first:last], marked=True)
        end = last
    if end < len(part):
        yield Piece(part[end:])


def _densest(text: str, pattern: re.Pattern[str] | None, limit: int) -> int:
    """Where the window with most different matches begins."""
    matches = [(match.start(), match.group().lower()) for match in pattern.finditer(text)] if pattern else []
    if not matches or len(text) <= limit:
        return 0
    width = limit - LEAD_CHARACTERS
    places = [place for place, _word in matches]
    best = max(places, key=lambda at: len({word for place, word in matches if at <= place < at + width}))
    return max(0, min(best - LEAD_CHARACTERS, len(text) - limit))
