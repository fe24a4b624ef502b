"""Of passages that say the same the best one stays (feature V16)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from ragcore.labels import gettext_noop as _
from ragcore.ports import Ports
from ragcore.retrieval.pipeline import stage
from ragcore.text.near_duplicates import WORDS, fingerprint, same_facts, similarities, size, stands_in
from ragcore.types import Candidate, State


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

    similarity: float = 0.9
    keep: int = 10

    def __call__(self, state: State, ports: Ports) -> State:
        seen = _Seen(self.similarity, min(self.keep, len(state.candidates)))
        repeated: dict[int, list[int]] = defaultdict(list)
        for candidate in state.candidates:
            if len(seen.chunks) >= self.keep:
                break  # the rest is cut off anyway
            same = seen.add(candidate.chunk, _text(candidate))
            if same is not None:
                repeated[same].append(candidate.chunk)
        dropped = sum(map(len, repeated.values()))
        return _without(state, repeated).noted(compared=len(seen.chunks) + dropped, dropped=dropped)


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
        own = fingerprint(text)
        alike = similarities(own, self._prints[:count], self._sizes[:count]) >= self._similarity
        for at in np.flatnonzero(alike).tolist():
            if same_facts(text, self._texts[at]):
                return self.chunks[at]
        for at, other in enumerate(self._texts):
            if stands_in(text, other):
                return self.chunks[at]
        self._prints[count], self._sizes[count] = own, size(own)
        self.chunks.append(chunk)
        self._texts.append(text)
        return None


def _text(candidate: Candidate) -> str:
    """With its headings: "Not supported." says different things below different ones."""
    if candidate.passage is None:
        return f"chunk {candidate.chunk}"
    return " ".join("\n".join([*candidate.passage.heading_path, candidate.passage.text]).split())


def _without(state: State, repeated: dict[int, list[int]]) -> State:
    for chunk, copies in repeated.items():
        gone = set(copies)
        kept = [c for c in state.candidates if c.chunk not in gone]
        state = state.narrowed(kept, stage="drop.duplicates", reason=f"repeats passage {chunk}")
    return state
