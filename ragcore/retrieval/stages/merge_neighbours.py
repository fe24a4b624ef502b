"""Passages that stand side by side become one readable text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragcore.labels import gettext_noop as _
from ragcore.ports import Ports
from ragcore.retrieval.pipeline import stage
from ragcore.text.joining import join_passages
from ragcore.types import Candidate, Passage, State

Place = tuple[int, int]  # version, ordinal


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
        known = {_place(p): p for p in (*near, *(p for section in sections for p in section), *hits)}
        readings = self._readings(state.candidates, known)
        return _read(state, readings).noted(joined={r.candidate.chunk: len(r.passages) for r in readings})

    def _readings(self, candidates: Sequence[Candidate], known: Mapping[Place, Passage]) -> list[Reading]:
        """Those of more than one passage, best candidate first."""
        free = dict(known)
        readings = []
        for candidate in candidates:
            passage = candidate.passage
            if passage is None or free.pop(_place(passage), None) is None:
                continue  # read with a better one, or not to be joined
            run = self._run(passage, free)
            for taken in run:
                free.pop(_place(taken), None)
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
    left = {c.chunk for c in state.candidates}
    for reading in readings:
        best = reading.candidate.chunk
        inside = {p.chunk for p in reading.passages if p.chunk != best} & left
        if inside:
            kept = [c for c in state.candidates if c.chunk not in inside]
            state = state.narrowed(kept, stage="merge.neighbours", reason=f"read with passage {best}")
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
