"""The graph of entities as a third ranking beside words and vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragcore.graph.linking import are_apart
from ragcore.graph.walk import Walk, Walker
from ragcore.graph_port import EntityGraph
from ragcore.labels import gettext_noop as _
from ragcore.ports import Ports
from ragcore.retrieval.pipeline import stage
from ragcore.retrieval.stages.editions import is_wanted
from ragcore.retrieval.stages.selection import find_copies
from ragcore.types import Candidate, Hit, Passage, Query, State
from ragcore.understanding.analysis import question_kind

ARM = "graph"
SEVERAL_STEPS = frozenset({"multi_hop", "comparison"})  # kinds of questions that several passages answer together
SHARE_SEVERAL = 0.3  # of the places of a result for passages of the graph, at most, for such questions
SHARE_ONE = 0.2  # for all others, and only for those with LEAST_ONE
LEAST_ONE = 0.1
LOOKED_AT = 3  # passages that may answer a question alone
TOLD_ENTITIES, TOLD_CHAINS, TOLD_PATHS = 20, 20, 10


@stage("search.graph", label=_("graph"), optional=True)
@dataclass(frozen=True, slots=True, kw_only=True)
class SearchGraph:
    """Add the arm "graph": passages that the entities of the question lead to (`ragcore.graph.walk`). Drops nothing.

    `auto`: only for questions that several passages answer together: by their kind, or because no passage found so far
    has all the entities that they name. state.graph has the entities, the sentences that
    connect them, and the ways to those that the question names.
    """

    auto: bool = False
    limit: int = 160  # passages

    def __call__(self, state: State, ports: Ports) -> State:
        if ports.graph is None:
            return state
        kind = question_kind(state.query.text)
        if self.auto and kind not in SEVERAL_STEPS and not _is_scattered(state, ports.graph):
            return state.noted(kind=kind, left_alone="one passage answers it")
        passages = [(c.passage, 1 / rank) for rank, c in enumerate(state.candidates, 1) if c.passage is not None]
        walk = walker(state.query, ports).walk(state.query, passages)
        order = sorted(walk.passages, key=lambda chunk: (-walk.passages[chunk], chunk))[: self.limit]
        hits = [Hit(chunk, walk.documents[chunk], walk.passages[chunk]) for chunk in order]
        state = replace(state.with_arm(ARM, hits), graph=told(walk))
        return state.noted(kind=kind, linked=len(walk.linked), entities=len(walk.active), passages=len(hits))


def _is_scattered(state: State, graph: EntityGraph) -> bool:
    first = [c.passage for c in state.candidates[:LOOKED_AT] if c.passage is not None]
    return are_apart(state.query.text, graph, first)


def walker(query: Query, ports: Ports) -> Walker:
    """A walk through the graph of the ports."""
    assert ports.graph is not None

    def likeness(chunks: Sequence[int]) -> Mapping[int, float]:
        if query.vector is None or not chunks:
            return {}
        return {hit.chunk: hit.score for hit in ports.vectors.prefixes(query, chunks=chunks)}

    return Walker(graph=ports.graph, tokenizer=ports.tokenizer, load=ports.passages.load, likeness=likeness)


def told(walk: Walk) -> dict[str, Any]:
    """What a walk tells a reader, in plain values: entities, sentences between them, ways to those of the question."""
    names = {number: node.name for number, node in walk.nodes.items()}
    strongest = sorted(walk.active, key=lambda entity: -walk.active[entity])
    reached = [entity for entity in strongest if entity in walk.steps]
    chains = [
        {
            "source": names[step.source], "target": names[entity],
            "chunk_id": step.chunk, "sentence": step.sentence, "score": round(walk.active[entity], 4),
        }
        for entity in reached
        if (step := walk.steps[entity]).source is not None and step.source in names
    ]  # fmt: skip
    ways = [path for entity in reached if len(path := walk.path(entity)) > 1 and path[0] in walk.linked]
    return {
        "query_entities": [names[entity] for entity in strongest if entity in walk.linked],
        "connected_entities": [
            {"name": names[entity], "score": round(walk.active[entity], 4), "in_question": entity in walk.linked}
            for entity in strongest[:TOLD_ENTITIES]
        ],
        "relation_chains": chains[:TOLD_CHAINS],
        "paths_to_query_entities": [[names[entity] for entity in path] for path in ways[:TOLD_PATHS]],
    }


@stage("fuse.graph", label=_("fusion with the graph"), optional=True, ranking="graph")
@dataclass(frozen=True, slots=True, kw_only=True)
class FuseGraph:
    """Give the last of the `keep` places to the best passages of the arm "graph" that do not stand before them.

    The first places stay as they are: where one passage answers, it stands there. How many places there are follows
    from the kind of question. Scores keep the scale of the ranking so far; a passage of the graph gets that of the one
    in front of it.
    """

    keep: int = 10

    def __call__(self, state: State, ports: Ports) -> State:
        arm = state.arms.get(ARM)
        if ports.graph is None or not state.candidates or not arm:
            return state
        several = question_kind(state.query.text) in SEVERAL_STEPS
        places = round(self.keep * (SHARE_SEVERAL if several else SHARE_ONE))
        first = list(state.candidates[: self.keep - places])
        standing = {c.chunk for c in first}
        least = 0.0 if several else LEAST_ONE
        new_chunks = [chunk for chunk, score in arm.items() if chunk not in standing and score >= least]
        chosen = _without_copies(first, _loaded(state, new_chunks[: 2 * places], ports))[:places]
        joined = {c.chunk for c in chosen}
        rest = [c for c in state.candidates[len(first) :] if c.chunk not in joined]
        score = first[-1].last_score if first else 0.0
        valued = [(c, c.last_score) for c in first] + [(c, score) for c in chosen] + [(c, c.last_score) for c in rest]
        ranked = tuple(c.scored("fuse.graph", value, rank) for rank, (c, value) in enumerate(valued, 1))
        new = sum(c.chunk not in {old.chunk for old in state.candidates[: self.keep]} for c in chosen)
        return replace(state, candidates=ranked, is_ranked=True).noted(places=places, joined=new)


def _loaded(state: State, chunks: Sequence[int], ports: Ports) -> list[Candidate]:
    """Candidates with their passages: those that other rankings found, too, and new ones."""
    by_chunk = {c.chunk: c for c in state.candidates}
    missing = [chunk for chunk in chunks if chunk not in by_chunk]
    passages: Mapping[int, Passage] = ports.passages.load(missing) if missing else {}
    arm = state.arms[ARM]
    candidates = []
    for chunk in chunks:
        if chunk in by_chunk:
            candidates.append(by_chunk[chunk])
        elif chunk in passages:
            fresh = Candidate(chunk=chunk, document=passages[chunk].document, passage=passages[chunk])
            candidates += [fresh] if is_wanted(fresh, state) else []
    return [candidate.explained(ARM, {"score": round(arm[candidate.chunk], 4)}) for candidate in candidates]


def _without_copies(first: Sequence[Candidate], chosen: Sequence[Candidate]) -> list[Candidate]:
    copies = {chunk for each in find_copies([*first, *chosen]).values() for chunk in each}
    return [candidate for candidate in chosen if candidate.chunk not in copies]


@stage("rank.graph", label=_("graph ranking"), timing="fine", ranking="graph")
@dataclass(frozen=True, slots=True, kw_only=True)
class RankGraph:
    """Order by the graph alone: passages that it leads to, and those that the question found without it.

    The score is that of the arm "graph", for the others half of the reciprocal rank, where these ended the walk.
    """

    keep: int = 80

    def __call__(self, state: State, ports: Ports) -> State:
        arm = dict(state.arms.get(ARM, {}))
        standing = {c.chunk: 0.5 / rank for rank, c in enumerate(state.candidates, 1)}
        scores = {chunk: max(arm.get(chunk, 0.0), standing.get(chunk, 0.0)) for chunk in (*standing, *arm)}
        order = sorted(scores, key=lambda chunk: (-scores[chunk], chunk))[: self.keep]
        loaded = {c.chunk: c for c in _loaded(replace(state, arms={**state.arms, ARM: scores}), order, ports)}
        ranked = [loaded[chunk] for chunk in order if chunk in loaded]
        candidates = tuple(c.scored("rank.graph", scores[c.chunk], rank) for rank, c in enumerate(ranked, 1))
        return replace(state, candidates=candidates, is_ranked=True).noted(passages=len(arm))
