"""Vector search in the part of a set that has an embedding model of its own, beside or instead of the site's.

Both models give a passage a cosine; that of the set's model is brought to the scale of the site's, which thresholds and
trained weights know (decision 041). "fused": the mean of both decides. "alone": that of the set's model. A passage that
one of them has no vector of counts with the other one's alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from accounts.scope import Scope
from knowledge.indexes.set_vectors import is_part_complete, is_within_reach, set_prefix_search, set_vector_search
from knowledge.indexes.vectors import VectorSearch, fine_search
from knowledge.indexes.visibility import Visible
from knowledge.selectors.set_embedders import SetModel
from knowledge.set_questions import UNAVAILABLE, SetQuestions
from ragcore.embedding.cosine_scale import CosineScale
from ragcore.ports import FloatArray, VectorIndex
from ragcore.types import Hit, Query

DEEPER = 2  # times as many hits of each model as are wanted: a passage may be far down in one of the lists
SHARED = 1.5  # times as many as are wanted should be in both lists, even where the two models have nothing in common
MORE = 4  # times as many are fetched where a passage that neither list has could still be among the best

Near = Callable[..., list[list[Hit]]]  # (queries, limit=) of the site's index
Look = Callable[..., list[Hit]]  # (query, chunks=) of the same
Best = dict[int, Hit]  # chunk -> its best hit


@dataclass(slots=True)
class ScopedSetVectors:
    """The vectors by a set's model, within one part of what one asker may see; vectors are float32[768] of it."""

    scope: Scope
    visible: Visible
    model: str
    search: VectorSearch | None = field(default=None, compare=False)  # looked up once

    def is_within_reach(self, *, is_alone: bool) -> bool:
        """Whether all of them may be compared."""
        return is_within_reach(self._search(), is_alone=is_alone)

    def is_complete(self) -> bool:
        """Whether every passage of the part has one."""
        return is_part_complete(scope=self.scope, visible=self.visible, model=self.model)

    def passages(self) -> int:
        """Number of passages in the part."""
        return self._search().space.passages

    def nearest(self, vectors: Sequence[FloatArray], *, limit: int) -> list[list[Hit]]:
        """Up to `limit` chunks for each vector, best first; nothing is missed."""
        return [found.hits for found in self._search().exact(np.stack(vectors), limit=limit)] if vectors else []

    def fine(self, vector: FloatArray, *, chunks: Sequence[int]) -> list[Hit]:
        """These chunks by cosine; those without a vector are left out."""
        return fine_search(
            scope=self.scope,
            visible=self.visible,
            vector=vector,
            model=self.model,
            chunks=chunks,
            limit=len(chunks),
            of_set=True,
        )

    def prefixes(self, vector: FloatArray, *, chunks: Sequence[int]) -> list[Hit]:
        """The same by the first 384 numbers."""
        return set_prefix_search(scope=self.scope, visible=self.visible, vector=vector, model=self.model, chunks=chunks)

    def _search(self) -> VectorSearch:
        if self.search is None:
            self.search = set_vector_search(scope=self.scope, visible=self.visible, model=self.model)
        return self.search


@dataclass(frozen=True, slots=True, kw_only=True)
class SetModelIndex:
    """Implements VectorIndex over the part of one set.

    A question for which the set's model gives no vector is compared by the site's model alone. Where the part is too
    large to compare all vectors of the set's model, that model orders what the site's has found.
    """

    site: VectorIndex
    own: ScopedSetVectors
    questions: SetQuestions

    @property
    def used(self) -> SetModel:
        return self.questions.used

    def is_exact(self) -> bool:
        return self.site.is_exact()

    def exact_many(self, queries: Sequence[Query], *, limit: int) -> list[list[Hit]]:
        return self._many(queries, limit, self.site.exact_many, self._site_fine, is_sure=True)

    def coarse(self, query: Query, *, limit: int) -> list[Hit]:
        return self.coarse_many([query], limit=limit)[0]

    def coarse_many(self, queries: Sequence[Query], *, limit: int) -> list[list[Hit]]:
        if self.site.is_exact():
            return self.exact_many(queries, limit=limit)
        if not self._reaches():
            self.questions.vectors(queries)  # together; the second stage orders with them
            self._tell("candidates")
            return self.site.coarse_many(queries, limit=limit)
        return self._many(queries, limit, self.site.coarse_many, self.site.prefixes, is_sure=False)

    def prefixes(self, query: Query, *, chunks: Sequence[int]) -> list[Hit]:
        found, vector = self.site.prefixes(query, chunks=chunks), self.questions.vector(query)
        if vector is None or not len(chunks):
            return found
        own = self.own.prefixes(vector, chunks=chunks)
        return self._scored(best_of(found), best_of(own), scale=self.used.prefix_scale)

    def fine(self, query: Query, *, chunks: Sequence[int], limit: int) -> list[Hit]:
        vector = self.questions.vector(query)
        if vector is None or not len(chunks):
            return self.site.fine(query, chunks=chunks, limit=limit)
        found = self._site_fine(query, chunks=chunks)
        return self._scored(best_of(found), best_of(self.own.fine(vector, chunks=chunks)))[:limit]

    def _site_fine(self, query: Query, *, chunks: Sequence[int]) -> list[Hit]:
        return self.site.fine(query, chunks=chunks, limit=len(chunks))

    # ── both models ──

    def _many(self, queries: Sequence[Query], limit: int, near: Near, look: Look, *, is_sure: bool) -> list[list[Hit]]:
        asked = self.questions.vectors(queries)
        known = [vector for vector in asked if vector is not None]
        if not known:
            return near(queries, limit=limit)
        reach = self._reaches()
        depth = self._depth(limit, reach) if is_sure else limit
        if reach and self.used.is_alone and len(known) == len(asked) and self.own.is_complete():
            self._tell("alone")  # no passage counts by the site's model
            found: list[list[Hit]] = [[] for _ in asked]
        else:
            self._tell("both" if reach else "candidates")
            found = near(queries, limit=depth)
        nearest = iter(self.own.nearest(known, limit=depth) if reach else [[] for _ in known])
        hits = []
        for query, own, theirs in zip(queries, asked, found, strict=True):
            if own is None:
                hits.append(theirs[:limit])
                continue
            row = _Row(self, query, own, near, look, reach)
            hits.append(row.best(theirs, next(nearest), limit=limit, depth=depth, is_sure=is_sure and reach))
        return hits

    def _tell(self, way: str) -> None:
        """In the trace; that the model has not answered one form of the question stays."""
        if self.questions.note.get("way") != UNAVAILABLE:
            self.questions.note["way"] = way

    def _reaches(self) -> bool:
        return self.own.is_within_reach(is_alone=self.used.is_alone)

    def _depth(self, limit: int, reach: bool) -> int:
        """How many hits of each model to begin with: two unrelated lists of d of n passages share d²/n."""
        if not reach:
            return MORE * limit
        if self.used.is_alone:
            return limit
        return max(DEEPER * limit, int((SHARED * limit * self.own.passages()) ** 0.5))

    def _scored(self, site: Best, own: Best, *, scale: CosineScale | None = None) -> list[Hit]:
        """Every passage that either list has, best first."""
        scale = scale or self.used.scale
        mine = {chunk: scale(hit.score) for chunk, hit in own.items()}
        theirs = {chunk: hit.score for chunk, hit in site.items()}
        shown = {**site, **own} if self.used.is_alone else {**own, **site}  # which entry of a passage is named
        scores = both_scores(theirs, mine, is_alone=self.used.is_alone)
        hits = [shown[chunk]._replace(score=score) for chunk, score in scores.items()]
        return sorted(hits, key=lambda hit: (-hit.score, hit.chunk))


@dataclass(frozen=True, slots=True)
class _Row:
    """One question: its vectors by both models, and the lists of both."""

    index: SetModelIndex
    query: Query
    own: FloatArray
    near: Near
    look: Look
    reach: bool  # whether the set's model has a list of its own

    def best(self, theirs: Sequence[Hit], mine: Sequence[Hit], *, limit: int, depth: int, is_sure: bool) -> list[Hit]:
        """The `limit` best of what the lists have; `is_sure`: longer lists are fetched until nothing can be missed."""
        while True:
            hits = self._completed(theirs, mine, limit)
            if not is_sure or self._holds(hits, theirs, mine, limit=limit, depth=depth):
                return hits[:limit]
            depth *= MORE
            theirs = self.near([self.query], limit=depth)[0]
            mine = self.index.own.nearest([self.own], limit=depth)[0]

    def _completed(self, theirs: Sequence[Hit], mine: Sequence[Hit], limit: int) -> list[Hit]:
        """Both lists as one. Cosines that a list lacks are looked up where they can bring a passage among the best."""
        site, own = best_of(theirs), best_of(mine)
        scale, least = self.index.used.scale, self._least(site, own, limit)
        if not self.index.used.is_alone:
            scores = {chunk: scale(hit.score) for chunk, hit in own.items() if chunk not in site}
            if lacking := _within(scores, theirs[-1].score if theirs else -1.0, least):
                site |= best_of(self.look(self.query, chunks=lacking))
        scores = {chunk: hit.score for chunk, hit in site.items() if chunk not in own}
        if lacking := _within(scores, scale(mine[-1].score) if mine else -1.0, least):
            own |= best_of(self.index.own.fine(self.own, chunks=lacking))
        return self.index._scored(site, own)

    def _least(self, site: Best, own: Best, limit: int) -> float:
        """A score that the worst of the best will have at least."""
        scale = self.index.used.scale
        if self.index.used.is_alone:
            known = [scale(hit.score) for hit in own.values()]
        else:
            known = [(site[chunk].score + scale(own[chunk].score)) / 2 for chunk in site.keys() & own.keys()]
        return sorted(known, reverse=True)[limit - 1] if len(known) >= limit else float("-inf")

    def _holds(
        self, hits: Sequence[Hit], theirs: Sequence[Hit], mine: Sequence[Hit], *, limit: int, depth: int
    ) -> bool:
        """Whether no passage outside of both lists can be among the best (Fagin's threshold algorithm).

        Of a passage that has vectors of both models. One that lacks a vector is found by the other model's list.
        """
        if self.index.used.is_alone or len(theirs) < depth or len(mine) < depth:
            return True
        bound = (theirs[-1].score + self.index.used.scale(mine[-1].score)) / 2
        return len(hits) >= limit and hits[limit - 1].score >= bound


def _within(scores: Mapping[int, float], other: float, least: float) -> list[int]:
    """Chunks of one list that can have `least` together with the other model.

    `other`: the worst score of that model's list. A passage without a vector of it counts with its one score.
    """
    return [chunk for chunk, score in scores.items() if max(score, (score + other) / 2) >= least]


def best_of(hits: Sequence[Hit]) -> Best:
    """The best hit of each chunk; hits come best first."""
    best: Best = {}
    for hit in hits:
        best.setdefault(hit.chunk, hit)
    return best


def both_scores(site: Mapping[int, float], own: Mapping[int, float], *, is_alone: bool) -> dict[int, float]:
    """Chunk -> score, of cosines on one scale: the mean of both, or (`is_alone`) that of the set's model.

    A chunk that one model has no cosine of counts with the other one's.
    """
    scores = {**site, **own}
    if not is_alone:
        scores |= {chunk: (site[chunk] + own[chunk]) / 2 for chunk in site.keys() & own.keys()}
    return scores
