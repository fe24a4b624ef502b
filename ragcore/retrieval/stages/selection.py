"""What of a ranking becomes the result: score gap, best k, no duplicates, neighbours; is it near."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ragcore.labels import gettext_noop as _
from ragcore.ports import Ports
from ragcore.retrieval.pipeline import stage
from ragcore.text.markdown import join_passages
from ragcore.text.near_duplicates import WORDS, fingerprint, same_facts, similarities, size, stands_in
from ragcore.types import Candidate, Passage, State

Place = tuple[int, int]  # version, ordinal
# An arm that was not searched counts as what it finds for a question of another subject: half of these have a share of
# 0.1 of the words and of 0.6 to 0.7 of the meaning with the packaged embedder; a little more for the sake of answers.
WORDS_UNSEARCHED = 0.1
MEANING_UNSEARCHED = 0.77
DUPLICATE_SIMILARITY = 0.9  # from which a passage repeats a better one


@stage("cutoff.cliff", label=_("score gap"), drop_reason=_("below a score gap"))
@dataclass(frozen=True, slots=True, kw_only=True)
class CutoffCliff:
    """Sorted by the reranker's score, drop everything after the first gap that is a cliff.

    A gap between neighbours is a cliff if it exceeds what the reranker declares (0.8 on the logits of cross-encoders)
    and what follows is low in absolute terms: below the reranker's `low` or, where only differences between its
    scores mean anything, below the middle of the best and the worst one. The present order stays, and so do documents
    that the question names. Without scores of a reranker nothing is cut. Noted: how many stay, the gap, the score
    behind it, and the scale.
    """

    keep_at_least: int = 1

    def __call__(self, state: State, ports: Ports) -> State:
        scores = [c.scores["rerank"] for c in state.candidates if "rerank" in c.scores]
        if state.scale is None or len(scores) < 2 or len(scores) != len(state.candidates):
            return state
        ordered = sorted(scores, reverse=True)
        low = (ordered[0] + ordered[-1]) / 2 if state.scale.low is None else state.scale.low
        place = cliff(ordered, gap=state.scale.cliff, low=low, keep_at_least=self.keep_at_least)
        limits = {"cliff": state.scale.cliff, "low": round(low, 4)}
        if place is None:
            widest = max(above - below for above, below in pairwise(ordered))
            return state.noted(cut_after=None, gap=round(widest, 4), **limits)
        best = ordered[place - 1]
        above = [c for c in state.candidates if c.scores["rerank"] >= best or c.document in state.named_documents]
        gap, below = round(ordered[place - 1] - ordered[place], 4), round(ordered[place], 4)
        narrowed = state.narrowed(above, stage="cutoff.cliff", code="below_cliff")
        return narrowed.noted(cut_after=place, gap=gap, below=below, **limits)


def cliff(ordered: Sequence[float], *, gap: float, low: float, keep_at_least: int = 1) -> int | None:
    """How many of these scores, highest first, stand above the first cliff; None if there is none."""
    for place in range(max(keep_at_least, 1), len(ordered)):
        if ordered[place - 1] - ordered[place] > gap and ordered[place] < low:
            return place
    return None


@stage("cutoff.top_k", label=_("cut-off"))
@dataclass(frozen=True, slots=True, kw_only=True)
class CutoffTopK:
    """Keep the first `keep` candidates in their present order."""

    keep: int = 10

    def __call__(self, state: State, ports: Ports) -> State:
        best = state.candidates[: self.keep]
        return state.narrowed(best, stage="cutoff.top_k", code="below_best", best=self.keep)


@stage("drop.copies", label=_("copies"), optional=True, drop_reason=_("copy of a higher-ranked passage"))
@dataclass(frozen=True, slots=True, kw_only=True)
class DropCopies:
    """Drop passages of a further record of the same bytes whose text stands in a better candidate of another record.

    Two people who upload the same file have a record each; who may read both finds its text once.
    """

    def __call__(self, state: State, ports: Ports) -> State:
        copies = find_copies(state.candidates)
        return _without(state, copies, stage="drop.copies") if copies else state


def find_copies(candidates: Sequence[Candidate]) -> dict[int, list[int]]:
    """By chunk the later chunks of other documents with the same bytes whose texts stand in it."""
    passages_by_content: dict[str, list[Passage]] = defaultdict(list)
    copies: dict[int, list[int]] = defaultdict(list)
    for passage in (c.passage for c in candidates if c.passage is not None and c.passage.content):
        better = (
            p for p in passages_by_content[passage.content] if p.document != passage.document and passage.text in p.text
        )
        first = next(better, None)
        if first is None:
            passages_by_content[passage.content].append(passage)
        else:
            copies[first.chunk].append(passage.chunk)
    return copies


@stage(
    "drop.duplicates",
    label=_("duplicates"),
    optional=True,
    drop_reason=_("duplicate of a higher-ranked passage"),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class DropDuplicates:
    """Drop what repeats a better candidate, until `keep` different ones are found; the order stays.

    A repetition stands in a better passage word for word, or is like it by at least `similarity` (Jaccard of runs of
    characters) and differs in no number, date, version, unit, name or negation. Headings belong to a text. The reason
    of a drop names the passage that stays.
    """

    similarity: float = DUPLICATE_SIMILARITY
    keep: int = 10

    def __call__(self, state: State, ports: Ports) -> State:
        repeated, compared = find_repetitions(state.candidates, similarity=self.similarity, keep=self.keep)
        return _without(state, repeated, stage="drop.duplicates").noted(
            compared=compared, dropped=sum(map(len, repeated.values()))
        )


def find_repetitions(
    candidates: Sequence[Candidate], *, similarity: float, keep: int
) -> tuple[dict[int, list[int]], int]:
    """By chunk the later chunks that repeat it, until `keep` different ones are found; and how many were compared."""
    different = _Seen(similarity, min(keep, len(candidates)))
    repeated: dict[int, list[int]] = defaultdict(list)
    for candidate in candidates:
        if len(different.chunks) >= keep:
            break  # the rest is cut off anyway
        same = different.add(candidate.chunk, _text(candidate))
        if same is not None:
            repeated[same].append(candidate.chunk)
    return repeated, len(different.chunks) + sum(map(len, repeated.values()))


class _Seen:
    """Different texts, in the order in which they came."""

    def __init__(self, similarity: float, most: int) -> None:
        self.chunks: list[int] = []
        self._texts: list[str] = []
        self._prints = np.zeros((most, WORDS), np.uint64)
        self._sizes = np.zeros(most, np.int64)
        self._similarity = similarity

    def add(self, chunk: int, text: str) -> int | None:
        """The chunk that says the same; None if the text is new, which is then remembered."""
        if text in self._texts:
            return self.chunks[self._texts.index(text)]
        count = len(self.chunks)
        text_print = fingerprint(text)
        alike = similarities(text_print, self._prints[:count], self._sizes[:count]) >= self._similarity
        for at in np.flatnonzero(alike).tolist():
            if same_facts(text, self._texts[at]):
                return self.chunks[at]
        for at, other in enumerate(self._texts):
            if stands_in(text, other):
                return self.chunks[at]
        self._prints[count], self._sizes[count] = text_print, size(text_print)
        self.chunks.append(chunk)
        self._texts.append(text)
        return None


def _text(candidate: Candidate) -> str:
    """With its headings: "Not supported." says different things below different ones."""
    if candidate.passage is None:
        return f"chunk {candidate.chunk}"
    return " ".join("\n".join([*candidate.passage.heading_path, candidate.passage.text]).split())


def _without(state: State, repeated: Mapping[int, Sequence[int]], *, stage: str) -> State:
    for chunk, copies in repeated.items():
        gone = set(copies)
        rest = [c for c in state.candidates if c.chunk not in gone]
        state = state.narrowed(rest, stage=stage, code="repeats", passage=chunk)
    return state


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a candidate is read with: passages of one version in reading order, its own among them."""

    candidate: Candidate
    passages: tuple[Passage, ...]


@stage(
    "merge.neighbours",
    label=_("merge neighbours"),
    optional=True,
    drop_reason=_("merged with a higher-ranked passage"),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class MergeNeighbours:
    """Join each candidate with what stands beside it: other candidates, `around` passages of its section before and
    behind it, and the whole section where most of its passages are candidates.

    Best candidates first, up to `max_tokens` a text; every passage is read once. A candidate keeps its chunk, page and
    scores, and its passage names what was joined (`merged`). One that is read with a better one is dropped with it as
    the reason. Extracts that stand for a section are left alone.
    """

    around: int = 1
    max_tokens: int = 1600

    def __call__(self, state: State, ports: Ports) -> State:
        hits = [c.passage for c in state.candidates if c.passage is not None and c.passage.kind == "body"]
        if not hits:
            return state
        chunks = [passage.chunk for passage in hits]
        near = ports.passages.neighbours(chunks, around=self.around) if self.around else []
        sections = ports.passages.siblings(chunks, max_tokens=self.max_tokens)
        by_place = {_place(p): p for p in (*near, *(p for section in sections for p in section), *hits)}
        readings = self._readings(state.candidates, by_place)
        return _read(state, readings).noted(joined={r.candidate.chunk: len(r.passages) for r in readings})

    def _readings(self, candidates: Sequence[Candidate], by_place: Mapping[Place, Passage]) -> list[Reading]:
        """Those of more than one passage, best candidate first."""
        free = dict(by_place)
        readings = []
        for candidate in candidates:
            passage = candidate.passage
            if passage is None or free.pop(_place(passage), None) is None:
                continue  # read with a better one, or not to be joined
            run = self._run(passage, free)
            for item in run:
                free.pop(_place(item), None)
            if len(run) > 1:
                readings.append(Reading(candidate=candidate, passages=tuple(run)))
        return readings

    def _run(self, passage: Passage, free: Mapping[Place, Passage]) -> list[Passage]:
        """The passage with what is free beside it, in turn behind and before, while it fits."""
        run, tokens = [passage], passage.tokens
        while True:
            behind = free.get((passage.version, run[-1].ordinal + 1))
            before = free.get((passage.version, run[0].ordinal - 1))
            is_even = run[-1].ordinal - passage.ordinal <= passage.ordinal - run[0].ordinal
            for added in (behind, before) if is_even else (before, behind):
                if added is not None and tokens + added.tokens <= self.max_tokens:
                    run = [*run, added] if added is behind else [added, *run]
                    tokens += added.tokens
                    break
            else:
                return run


def _read(state: State, readings: Sequence[Reading]) -> State:
    """Candidates with their joined texts; those that stand in the text of a better one are dropped."""
    texts = {reading.candidate.chunk: _merged(reading) for reading in readings}
    state = replace(
        state, candidates=tuple(replace(c, passage=texts.get(c.chunk, c.passage)) for c in state.candidates)
    )
    standing = {c.chunk for c in state.candidates}
    for reading in readings:
        best = reading.candidate.chunk
        inside = {p.chunk for p in reading.passages if p.chunk != best} & standing
        if inside:
            rest = [c for c in state.candidates if c.chunk not in inside]
            state = state.narrowed(rest, stage="merge.neighbours", code="read_with", passage=best)
    return state


def _merged(reading: Reading) -> Passage:
    passage = next(p for p in reading.passages if p.chunk == reading.candidate.chunk)
    text, starts = join_passages([p.text for p in reading.passages])
    share = min(len(text) / max(sum(len(p.text) for p in reading.passages), 1), 1.0)  # less what was repeated
    return replace(
        passage,
        text=text,
        tokens=round(share * sum(p.tokens for p in reading.passages)),
        merged=tuple(p.chunk for p in reading.passages),
        start=starts[reading.passages.index(passage)],
    )


def _place(passage: Passage) -> Place:
    return passage.version, passage.ordinal


def is_near(match: float | None, cosine: float | None, *, min_match: float, min_cosine: float) -> bool:
    """False where words and meaning together say that the documents are about something else.

    `match`: best BM25 by the sum of the idf of the question, about 0 to 2.2; `cosine`: the best one; None where that
    arm was not searched. `min_match` suffices without any meaning and `min_cosine` without any words; between them the
    shares of both must add up to 1. A limit of 0 or less lets everything through.
    """
    if min_match <= 0 or min_cosine <= 0:
        return True
    if match is None and cosine is None:
        return False
    words = WORDS_UNSEARCHED if match is None else match / min_match
    meaning = MEANING_UNSEARCHED if cosine is None else cosine / min_cosine
    return words + meaning >= 1
