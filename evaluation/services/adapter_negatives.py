"""What a search confuses with the right passages of a pair: others that teach, and such that may be right.

Each pair is searched for itself; what there is after a pair can be stored, and another process goes on from there.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.services.adapter_pairs import pair_of, pair_values
from evaluation.services.adapter_passages import SetPassages
from knowledge.services import retrieve
from knowledge.types import RetrievalRequest
from ragcore.text.near_duplicates import fingerprint, similarities, size
from ragcore.text.question_pairs import MADE, QuestionPair

RELEVANT_DEPTH = 20  # passages of an own search among which a made pair's passage must be
HARD = 8  # passages with which a question is confused
COPY = 0.6  # Jaccard index from which a passage says the same as the right one


@dataclass(frozen=True, slots=True, kw_only=True)
class Confused:
    """What an own search finds for a pair's question besides its passages, best first.

    `hard`: others, which are wrong; `masked`: such that may be right as well. `is_relevant`: a right one was found.
    """

    hard: tuple[int, ...]
    masked: tuple[int, ...]
    is_relevant: bool


def pair_confused(*, pair: QuestionPair, passages: SetPassages) -> Confused:
    """Ask the set the question of a pair, with the reranker.

    Filter of false negatives: a passage that says the same as a right one, or stands beside one in its document, is not
    taught to be wrong; for a made pair, whose passage nobody has judged, neither is one that the reranker puts first.
    """
    request = RetrievalRequest(
        query=pair.question,
        sets=(passages.set_id,),
        top_k=RELEVANT_DEPTH,
        rerank=True,
        options={"query_adapter": 0, "set_embedder": 0, "deduplicate": False, "profile": False, "use_shift": 0.0},
    )
    ranked = [one.chunk for one in retrieve(scope=passages.scope, request=request).state.candidates]
    known = passages.texts([*ranked, *pair.chunks])
    found = [chunk for chunk in ranked if chunk in known]
    right = set(pair.chunks)
    places = [at for at, chunk in enumerate(found) if chunk in right]
    first = places[0] if places else len(found)
    prints = [fingerprint(known[chunk].text) for chunk in pair.chunks if chunk in known]
    is_made = pair.origin in MADE
    masked: list[int] = []
    hard: list[int] = []
    for at, chunk in enumerate(found):
        if chunk in right:
            continue
        is_copy = any(_likeness(one, known[chunk].text) >= COPY for one in prints)
        beside = known[chunk].document in pair.documents
        (masked if (is_made and at < first) or is_copy or beside else hard).append(chunk)
    return Confused(hard=tuple(hard[:HARD]), masked=tuple(masked), is_relevant=bool(places))


def _likeness(one: Any, text: str) -> float:
    other = fingerprint(text)
    return float(similarities(one, other[None, :], np.array([size(other)]))[0])


class NegativesSearch:
    """Pairs that are searched one after the other. `stored`: those that are worth training with, as plain values."""

    def __init__(self, pairs: Sequence[QuestionPair], dropped: Mapping[str, int]) -> None:
        self.pairs, self.dropped = list(pairs), Counter(dropped)
        self.place = 0
        self.stored: list[dict[str, Any]] = []

    @property
    def is_over(self) -> bool:
        """Whether all pairs are searched."""
        return self.place >= len(self.pairs)

    def advance(self, passages: SetPassages) -> None:
        """Search the next pair; a made one whose passage is not among the first found teaches nothing."""
        pair = self.pairs[self.place]
        confused = pair_confused(pair=pair, passages=passages)
        if pair.origin in MADE and not confused.is_relevant:
            self.dropped["not_found"] += 1
        else:
            beside = {"hard": list(confused.hard), "masked": list(confused.masked)}
            self.stored.append({**pair_values(pair), **beside})
        self.place += 1

    def packed(self) -> bytes:
        """What another process goes on with."""
        pairs = [pair_values(pair) for pair in self.pairs]
        told = {"pairs": pairs, "dropped": dict(self.dropped), "place": self.place, "stored": self.stored}
        return zlib.compress(json.dumps(told, ensure_ascii=False).encode("utf-8", "surrogatepass"), 1)

    @classmethod
    def unpacked(cls, packed: bytes) -> NegativesSearch:
        """The search as it was."""
        told = json.loads(zlib.decompress(packed).decode("utf-8", "surrogatepass"))
        search = cls([pair_of(values) for values in told["pairs"]], told["dropped"])
        search.place, search.stored = told["place"], told["stored"]
        return search
