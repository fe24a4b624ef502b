"""Answers over up to three facts: the entity of the question, then the relations that its words name, in their order.

A question names a chain of relations around an entity: "A's r1's r2" reads on from the entity, "r3 of r2 of A" reads
back to it; "A 的 r1 的 r2" reads on. The words behind the entity in order, then those before it in reverse, are the
relations to follow. Each chain of relations that the graph has from the entity is aligned with them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ragcore.graph.name_linking import GraphSource, alike_in, find_entities, readable_question
from ragcore.graph.path_mentions import ASKED_KINDS, Mention, chain_mentions
from ragcore.graph.relation_groups import find_groups, groups_of, latin_words, object_kind
from ragcore.graph.triples import Triple, entity_name, name_key, relation_words
from ragcore.ports import Embedder, FloatArray

MAX_HOPS = 3
MAX_FRONTIER = 200  # entities that one chain may reach at a hop
BEAM = 24  # chains that are followed further
_MISSING_MENTION = 0.7  # cost of a named relation that the chain does not follow
_WEAK_MENTION = 0.25  # of a word that may be no relation (a word that no list has, a question word)
_UNNAMED_RELATION = 0.9  # cost of a relation that no word names
_INVERSE = 0.25  # cost of following a relation against its direction
_MEANING = 0.5  # cosine from which an unknown word may name a relation
_INVERSES = {"child": "parent", "parent": "child", "spouse": "spouse", "sibling": "sibling", "relative": "relative",
             "predecessor": "successor", "successor": "predecessor", "part_of": "member", "member": "part_of",
             "friend": "friend"}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PathAnswer:
    """One answer with the facts that lead to it, in order; higher scores are better."""

    answer: str
    score: float
    path: tuple[Triple, ...]


@dataclass(frozen=True, slots=True)
class _Chain:
    """Relations followed from the entity ("^" before one followed backwards) and one path for each entity reached."""

    relations: tuple[str, ...]
    reached: Mapping[str, tuple[Triple, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathSearch:
    """Answers questions by paths. `embedder` compares unlisted words with relation names; None: they count less."""

    source: GraphSource
    embedder: Embedder | None = None

    def answer(
        self, question: str, *, limit: int = 5, entities: Sequence[tuple[str, tuple[int, int]]] | None = None
    ) -> list[PathAnswer]:
        """Up to `limit` different answers, best first; [] where no entity or no named relation is found.

        `entities`: keys with their place in `readable_question`; None: those whose names stand in the question.
        """
        text = readable_question(question)
        answers: list[PathAnswer] = []
        for key, (start, end) in (find_entities(question, self.source) if entities is None else entities)[:2]:
            answers += self._from(key, text[:start], text[end:], limit)
        best: dict[str, PathAnswer] = {}
        for candidate in sorted(answers, key=lambda a: -a.score):
            best.setdefault(name_key(candidate.answer), candidate)
        return list(best.values())[:limit]

    def _from(self, key: str, before: str, after: str, limit: int) -> list[PathAnswer]:
        mentions = chain_mentions(before, after)
        if not any(m.groups for m in mentions) and self.embedder is None:
            return []
        kind_of_answer = next(
            (
                kind
                for cue, kind in ASKED_KINDS.items()
                if re.search(rf"\b{cue}\b" if cue.isascii() else cue, f"{before} {after}".lower())
            ),
            "",
        )
        fits = _Fits(mentions, self.embedder)
        chains, results = [_Chain((), {key: ()})], []
        for _ in range(min(MAX_HOPS, len(mentions) or 1)):
            chains = self._extended(chains)
            scored = [(self._score(chain, fits, kind_of_answer), chain) for chain in chains]
            results += scored
            # a chain may still gain by what it has not yet followed: those that leave least behind are kept
            chains = [c for _, c in sorted(scored, key=lambda s: (-fits.prefix(s[1].relations), s[1].relations))[:BEAM]]
        answers: list[PathAnswer] = []
        for score, chain in sorted(results, key=lambda s: (-s[0], len(s[1].relations), s[1].relations)):
            if score <= 0 or len(answers) >= 4 * limit:
                break
            ordered = sorted(chain.reached, key=lambda name: (name == key, name))
            answers += [
                _answer(name, score - 0.01 * n / len(ordered), chain.reached[name]) for n, name in enumerate(ordered)
            ]
        return answers

    def _extended(self, chains: Sequence[_Chain]) -> list[_Chain]:
        """Every chain with one more relation, whatever the relations are."""
        names = sorted({name for chain in chains for name in chain.reached})
        out: dict[str, list[tuple[str, str, Triple]]] = {}
        for triple in self.source.edges(names):
            subject, object_ = name_key(triple.subject), name_key(triple.object)
            out.setdefault(subject, []).append((triple.relation, object_, triple))
            if object_ != subject:
                out.setdefault(object_, []).append((f"^{triple.relation}", subject, triple))
        extended: dict[tuple[str, ...], dict[str, tuple[Triple, ...]]] = {}
        for chain in chains:
            for name, path in chain.reached.items():
                for relation, other, triple in out.get(name, ()):
                    reached = extended.setdefault((*chain.relations, relation), {})
                    if len(reached) < MAX_FRONTIER and triple not in path[-1:]:
                        reached.setdefault(other, (*path, triple))
        # without the fact of the step before a chain may only go back and forth: then it may use it, too
        for chain in chains:
            for name, path in chain.reached.items():
                for relation, other, triple in out.get(name, ()):
                    reached = extended[(*chain.relations, relation)]
                    if not reached:
                        reached[other] = (*path, triple)
        return [_Chain(relations, reached) for relations, reached in extended.items()]

    @staticmethod
    def _score(chain: _Chain, fits: _Fits, kind_of_answer: str) -> float:
        score = fits.whole(chain.relations)
        last = chain.relations[-1]
        kinds = {object_kind(group) for group in groups_of(relation_words(last.lstrip("^")))}
        return score + (0.2 if kind_of_answer in kinds and not last.startswith("^") else 0.0)


def _answer(name: str, score: float, path: tuple[Triple, ...]) -> PathAnswer:
    last = path[-1]
    end = last.object if name_key(last.object) == name else last.subject
    return PathAnswer(answer=entity_name(end), score=score, path=path)


class _Fits:
    """How well chains of relations fit the mentions of a question; each pair is compared once."""

    def __init__(self, mentions: Sequence[Mention], embedder: Embedder | None) -> None:
        self.mentions = mentions
        self._embedder = embedder
        self._vectors: dict[str, FloatArray] = {}
        self._pairs: dict[tuple[str, int], float] = {}
        self._rows: dict[tuple[str, ...], list[float]] = {(): self._first()}

    def _first(self) -> list[float]:
        row = [0.0]
        for mention in self.mentions:
            row.append(row[-1] - self._cost(mention))
        return row

    @staticmethod
    def _cost(mention: Mention) -> float:
        return _WEAK_MENTION if mention.is_weak else _MISSING_MENTION

    def whole(self, relations: tuple[str, ...]) -> float:
        """Score of the chain against all mentions: 1 for each relation that a mention names, less what is left over."""
        return self._row(relations)[-1]

    def prefix(self, relations: tuple[str, ...]) -> float:
        """The same against the best beginning of the mentions, for chains that are not finished."""
        return max(self._row(relations))

    def _row(self, relations: tuple[str, ...]) -> list[float]:
        """Best score of the chain against the first 0, 1, 2, … mentions, both in order."""
        if relations not in self._rows:
            former, relation = self._row(relations[:-1]), relations[-1]
            row = [former[0] - _UNNAMED_RELATION]
            for n, mention in enumerate(self.mentions, start=1):
                row.append(
                    max(
                        former[n] - _UNNAMED_RELATION,
                        row[n - 1] - self._cost(mention),
                        former[n - 1] + self._fit(relation, n - 1),
                    )
                )
            self._rows[relations] = row
        return self._rows[relations]

    def _fit(self, relation: str, number: int) -> float:
        """How well a mention names a relation: up to 1; -9 where it does not."""
        if (relation, number) not in self._pairs:
            self._pairs[relation, number] = self._compared(relation, self.mentions[number])
        return self._pairs[relation, number]

    def _compared(self, relation: str, mention: Mention) -> float:
        backwards = relation.startswith("^")
        words = relation_words(relation.lstrip("^"))
        groups = _first_groups(words)
        if backwards:
            groups = frozenset(_INVERSES.get(group, group) for group in groups)
        cost = _INVERSE if backwards else 0.0
        if mention.text == words or set(latin_words(words)) == set(latin_words(mention.text)):
            return (1.2 if not backwards or not groups & set(_INVERSES) else -9.0) - cost
        if shared := len(groups & mention.groups):
            return 0.8 + 0.2 * shared / len(groups | mention.groups) - cost
        if self._embedder is None:
            return -9.0
        cosine = float(np.dot(self._vector(mention.text), self._vector(words)))
        return cosine - cost if cosine >= _MEANING else -9.0

    def _vector(self, text: str) -> FloatArray:
        if text not in self._vectors:
            assert self._embedder is not None
            self._vectors[text] = self._embedder.embed_documents([text])[0]
        return self._vectors[text]


@lru_cache(maxsize=16_384)
def _first_groups(words: str) -> frozenset[str]:
    """Groups of a relation's name; the whole name where a list has it, else those of its words."""
    whole = find_groups(tuple(latin_words(words)))
    if whole and whole[0].end - whole[0].start == len(latin_words(words)):
        return whole[0].groups
    return groups_of(words)


class MemoryGraph:
    """Implements `EntityNames` over triples in memory."""

    def __init__(self, triples: Sequence[Triple], *, most_edges: int = 200) -> None:
        self._edges: dict[str, list[Triple]] = {}
        self._most = most_edges
        self._words: set[str] | None = None
        for triple in triples:
            for key in dict.fromkeys((name_key(triple.subject), name_key(triple.object))):
                self._edges.setdefault(key, []).append(triple)

    def names(self, candidates: Sequence[str]) -> set[str]:
        """See `GraphSource`."""
        return {key for key in candidates if key in self._edges}

    def unknown(self, words: Sequence[str]) -> set[str]:
        """See `EntityNames`."""
        if self._words is None:
            texts = [text for edges in self._edges.values() for triple in edges for text in [triple.text.lower()]]
            self._words = {word for text in texts for word in re.findall(r"[^\W_]+", text)}
        return {word for word in words if word.lower() not in self._words}

    def alike(self, names: Sequence[str]) -> dict[str, list[str]]:
        """See `EntityNames`."""
        return {name: keys for name in names if (keys := [key for key in self._edges if alike_in(name, key)])}

    def near(self, vectors: FloatArray, *, limit: int) -> list[dict[str, float]]:
        """See `EntityNames`: it has no vectors."""
        return [{} for _vector in vectors]

    def edges(self, keys: Sequence[str]) -> list[Triple]:
        """See `GraphSource`."""
        triples = [triple for key in keys for triple in self._edges.get(key, ())[: self._most]]
        return list(dict.fromkeys(triples))
