"""From the entities of a question through sentences and passages to what answers it in several steps.

Entities are activated sentence by sentence (LinearRAG, arXiv 2510.10114): an entity gets a share of the activation of
one that stands in the same sentence, or in whose own passage it stands, larger the more of what is asked the sentence
says. Passages get the activation of the entity that they are about or mention. Then a personalised PageRank over what
was touched (Page et al. 1999; HippoRAG, arXiv 2405.14831) lets passages that several of these entities share rise.

Each step looks at a bounded number of entities, places and passages, so an entity of ten thousand mentions costs no
more than its limit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log

from ragcore.graph.linking import link_question
from ragcore.graph.pagerank import passage_ranks
from ragcore.graph_port import EntityGraph
from ragcore.ports import Tokenizer
from ragcore.types import Passage, Query
from ragcore.types.graph import Node, Place

HOPS = 2  # from the entities of the question
BEAM = 12  # entities that are followed at each hop
FIRST = 10  # passages of the other rankings whose entities are looked at
EXPANDED = 32  # passages whose entities are looked at, of each hop
CONSIDERED = 48  # entities whose number of places is counted, of each hop
HEADS, EACH = 20, 40  # places of one entity in titles and headings, in texts
COUNTED = 100  # places that are counted to tell how rare an entity is
DECAY = 0.6  # of activation, for each sentence
NEAR = 0.3  # activation that a sentence passes on whatever it says
OWN = 2.0  # factor for an entity that passages are about
ABOUT, MENTIONS = 1.0, 0.25  # share of the activation for a passage about the entity, and one that mentions it
BASE = 0.4  # that any passage of an entity has besides its likeness to the question
FOUND = 0.5  # share of the activation for an entity of a passage that the other rankings found
RANK_SHARE = 0.1  # of PageRank in the score
LARGE = 5000  # passages; the rarity of entities is told for a collection of this size


@dataclass(frozen=True, slots=True)
class Step:
    """How an entity was reached: from which one, by which sentence. `source` None: in a passage found otherwise."""

    source: int | None
    chunk: int
    sentence: str


@dataclass(slots=True)
class Walk:
    """What a walk found. Scores of passages are above 0, higher is better."""

    nodes: dict[int, Node] = field(default_factory=dict)
    linked: dict[int, float] = field(default_factory=dict)  # entities of the question
    active: dict[int, float] = field(default_factory=dict)  # all entities that were followed
    steps: dict[int, Step] = field(default_factory=dict)  # of those that the question does not name
    passages: dict[int, float] = field(default_factory=dict)  # chunk -> score
    documents: dict[int, int] = field(default_factory=dict)  # chunk -> document
    through: dict[int, int] = field(default_factory=dict)  # chunk -> the entity that led there
    edges: set[tuple[int, int]] = field(default_factory=set)  # (entity, chunk)

    def path(self, entity: int) -> list[int]:
        """Entities from one that the question names, or that a found passage mentions, to this one."""
        path = [entity]
        while (step := self.steps.get(path[0])) is not None and step.source is not None and step.source not in path:
            path.insert(0, step.source)
        return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Walker:
    """Walks for one question within the rights that its graph and its functions are bound to.

    `load`: texts of passages by chunk; `likeness`: cosine of passages with the question.
    """

    graph: EntityGraph
    tokenizer: Tokenizer
    load: Callable[[Sequence[int]], Mapping[int, Passage]]
    likeness: Callable[[Sequence[int]], Mapping[int, float]]

    def walk(self, query: Query, ranked: Sequence[tuple[Passage, float]]) -> Walk:
        """`ranked`: the best passages of the other rankings with their shares in [0, 1], best first."""
        result = Walk()
        front = self._start(query, result)
        asked_terms = _Asked.of(query, [node.name for node in result.nodes.values()], self.tokenizer)
        passages = {passage.chunk: (passage, share) for passage, share in ranked[:FIRST]}
        texts = {chunk: passage.text for chunk, (passage, _) in passages.items()}
        for hop in range(HOPS + 1):
            places = self.graph.places(list(front), heads=HEADS, each=EACH)
            scores = self._reach(places, front, result)
            if hop == HOPS:
                break
            wide = sorted(scores, key=lambda chunk: -scores[chunk])[:EXPANDED]
            first = passages if hop == 0 else {}
            inside, nodes = self.graph.inside(list(dict.fromkeys([*first, *wide])))
            texts |= {c: p.text for c, p in self.load([c for c in wide if c not in texts]).items()}
            result.edges |= {(place.entity, place.chunk) for place in inside}
            shares = {chunk: share for chunk, (_, share) in first.items()}
            offered = _offers(inside, places, front, shares, asked_terms, texts, result.active)
            front = self._choose(offered, nodes, result)
            if not front:
                break
        ranks = passage_ranks(result.edges, entities=result.active, passages=result.passages)
        most = max(result.passages.values(), default=0.0)
        for chunk, rank in ranks.items():
            result.passages[chunk] += RANK_SHARE * most * rank
        return result

    def _start(self, query: Query, result: Walk) -> dict[int, float]:
        linked = link_question(query.text, self.graph, query.vector)
        degrees = self.graph.degrees([node.id for node in linked], most=COUNTED)
        result.nodes = {node.id: node for node in linked}
        result.linked = {node.id: weight * _rarity(degrees.get(node.id, 1)) for node, weight in linked.items()}
        result.active = dict(result.linked)
        return dict(result.linked)

    def _reach(self, places: Iterable[Place], front: Mapping[int, float], result: Walk) -> dict[int, float]:
        """Score the passages of the entities that are followed."""
        places = list(places)
        near = self.likeness(list({place.chunk for place in places}))
        scores: dict[int, float] = {}
        for place in places:
            share = ABOUT if place.in_head else MENTIONS
            score = front[place.entity] * share * (BASE + max(0.0, near.get(place.chunk, 0.0)))
            if score > scores.get(place.chunk, 0.0):
                scores[place.chunk] = score
            if score > result.passages.get(place.chunk, 0.0):
                result.passages[place.chunk] = score
                result.documents[place.chunk] = place.document
                result.through[place.chunk] = place.entity
            result.edges.add((place.entity, place.chunk))
        return scores

    def _choose(
        self, offered: Mapping[int, tuple[float, Step]], nodes: Mapping[int, Node], result: Walk
    ) -> dict[int, float]:
        """The entities to follow next, with their activation."""
        best = sorted(offered, key=lambda entity: -offered[entity][0])[:CONSIDERED]
        degrees = self.graph.degrees(best, most=COUNTED)
        owners = {place.entity for place in self.graph.places(best, heads=1, each=0)}
        value = {
            entity: offered[entity][0] * _rarity(degrees.get(entity, 1)) * (OWN if entity in owners else 1.0)
            for entity in best
        }
        front = {entity: value[entity] for entity in sorted(best, key=lambda entity: -value[entity])[:BEAM]}
        for entity, activation in front.items():
            result.active[entity] = activation
            result.steps[entity] = offered[entity][1]
            result.nodes[entity] = nodes[entity]
        aliases = self.graph.other_names([nodes[entity] for entity in front])
        for entity, same in aliases.items():
            for node in same:
                if node.id not in result.active:
                    front[node.id] = result.active[node.id] = front[entity]
                    result.nodes[node.id] = node
                    result.steps[node.id] = result.steps[entity]
        return front


def _offers(
    inside: Sequence[Place],
    places: Iterable[Place],
    front: Mapping[int, float],
    shares: Mapping[int, float],
    asked_terms: _Asked,
    texts: Mapping[int, str],
    active: Collection[int],
) -> dict[int, tuple[float, Step]]:
    """New entities with the activation that the best sentence passes to each, and that sentence."""
    about: dict[int, list[int]] = defaultdict(list)  # chunk -> followed entities that it is about
    beside: dict[tuple[int, int], list[int]] = defaultdict(list)  # sentence -> followed entities in it
    strongest: dict[int, int] = {}  # chunk -> the strongest followed entity in it
    for place in places:
        if front[place.entity] > front.get(strongest.get(place.chunk, 0), 0.0):
            strongest[place.chunk] = place.entity
        if place.in_head:
            about[place.chunk].append(place.entity)
        beside[place.chunk, place.sentence_start].append(place.entity)
    offers: dict[int, tuple[float, Step]] = {}
    for place in inside:
        if place.entity in active:
            continue
        sources = (*about[place.chunk], *beside[place.chunk, place.sentence_start])
        source = max(sources, key=lambda entity: front[entity], default=None)
        strength = front[source] if source is not None else 0.0
        if (share := FOUND * shares.get(place.chunk, 0.0)) > strength:
            source, strength = strongest.get(place.chunk), share
        if strength <= 0:
            continue
        sentence = texts.get(place.chunk, "")[place.sentence_start : place.sentence_end]
        value = strength * DECAY * (NEAR + asked_terms.said_by(sentence))
        if value > offers.get(place.entity, (0.0, None))[0]:
            offers[place.entity] = (value, Step(source, place.chunk, sentence))
    return offers


def _rarity(degree: int) -> float:
    """1 for an entity that one place mentions, less for usual ones: the root of its idf."""
    return float((log(1 + (LARGE - degree + 0.5) / (degree + 0.5)) / log(1 + LARGE)) ** 0.5)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a question asks besides the names in it."""

    weights: Mapping[str, float]
    total: float
    tokenizer: Tokenizer
    shares: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, query: Query, names: Iterable[str], tokenizer: Tokenizer) -> _Asked:
        terms_of_names = {term for name in names for term in tokenizer.terms(name)}
        weights = {term: weight for term, weight in query.weights.items() if term not in terms_of_names}
        return cls(weights, sum(weights.values()) or 1.0, tokenizer)

    def said_by(self, sentence: str) -> float:
        """The share of it, by idf, that a sentence has."""
        if sentence not in self.shares:
            terms = set(self.tokenizer.terms(sentence)) if sentence else set()
            self.shares[sentence] = sum(w for term, w in self.weights.items() if term in terms) / self.total
        return self.shares[sentence]
