"""Why given passages were found or not: their texts and their scores for a question (B1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from accounts.scope import Scope
from knowledge import model_registry
from knowledge.indexes.entry_scores import EntryScores, entry_scores_load
from knowledge.indexes.lexical import known_terms, lexical_query
from knowledge.indexes.visibility import Visible, visible_sql
from knowledge.indexes.visible_passages import passages_load
from knowledge.selectors import documents_askable
from knowledge.types import Filters
from ragcore.types import Passage, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class TermEvidence:
    """A term of the question that a passage contains."""

    text: str
    idf: float
    score: float  # its part of the BM25 score


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageEvidence:
    """A passage with its scores; of its entries the best score of each kind counts."""

    passage: Passage
    bm25: float = 0.0  # 0: it contains no term of the question
    coarse: float | None = None  # cosine, -1 to 1; None: no vector of the model in use
    dense: float | None = None
    terms: tuple[TermEvidence, ...] = ()  # of the entry with the best BM25, highest score first
    entries: int = 0  # in the index
    via: Mapping[str, str] = field(default_factory=dict)  # arm -> the representation that matched best


@dataclass(frozen=True, slots=True, kw_only=True)
class _QueryTerm:
    """A term of the question in one language of the corpus."""

    id: int
    text: str
    idf: float
    weight: float  # idf times its count in the question, less for a correction


def passages_explain(
    *,
    scope: Scope,
    within: Scope | None,
    sets: Sequence[int],
    filters: Filters,
    query: Query,
    chunks: Sequence[int],
) -> dict[int, PassageEvidence]:
    """Explanations by chunk id, in a fixed number of queries; passages that not both askers may find are left out.

    `query`: of a finished search (State.query); its vector and weights are reused.
    """
    visible = visible_sql(documents_askable(scope=scope, sets=sets, filters=filters, within=within))
    passages = passages_load(scope=scope, visible=visible, chunks=chunks)
    asked = _query_terms(scope=scope, visible=visible, query=query)
    entries = entry_scores_load(
        scope=scope,
        visible=visible,
        chunks=list(passages),
        terms=[term.id for term in asked],
        vector=query.vector,
        model=model_registry.embedder().model,
    )
    by_chunk: dict[int, list[EntryScores]] = {}
    for entry in entries:
        by_chunk.setdefault(entry.chunk, []).append(entry)
    return {chunk: _evidence(passage, by_chunk.get(chunk, []), asked) for chunk, passage in passages.items()}


def query_embed(query: Query) -> Query:
    """The question with its vector, if the search did not compute one."""
    if query.vector is not None:
        return query
    return replace(query, vector=model_registry.embedder().embed_queries([query.text])[0])


def _query_terms(*, scope: Scope, visible: Visible, query: Query) -> list[_QueryTerm]:
    """Terms of the question and of its corrections that the corpus contains, each with its weight."""
    counts = Counter(query.terms)
    added = [text for meant in query.corrections.values() for text in meant]
    known = known_terms(scope=scope, texts=[*query.terms, *added], visible=visible)
    asked = lexical_query(scope=scope, terms=query.terms, corrections=query.corrections, visible=visible)
    return [
        _QueryTerm(id=term.id, text=term.text, idf=weight / max(counts[term.text], 1), weight=weight)
        for term in known
        if (weight := asked.weights.get(term.id, 0.0)) > 0
    ]


def _evidence(passage: Passage, entries: Sequence[EntryScores], asked: Sequence[_QueryTerm]) -> PassageEvidence:
    parts = {
        place: [weight * term.weight for weight, term in zip(entry.weights, asked, strict=True)]
        for place, entry in enumerate(entries)
    }
    scores = {place: sum(values) for place, values in parts.items()}
    best = max(scores, key=lambda place: scores[place], default=None)
    via = {} if best is None or scores[best] <= 0 else {"lexical": entries[best].representation}
    cosines: dict[str, float] = {}
    for arm, name in (("coarse", "coarse"), ("dense", "fine")):
        values = [(getattr(e, name), e.representation) for e in entries if getattr(e, name) is not None]
        if values:
            cosines[arm], via[arm] = max(values)
    held = [] if best is None else zip(asked, parts[best], strict=True)
    terms = [TermEvidence(text=term.text, idf=term.idf, score=part) for term, part in held if part > 0]
    return PassageEvidence(
        passage=passage,
        bm25=0.0 if best is None else scores[best],
        coarse=cosines.get("coarse"),
        dense=cosines.get("dense"),
        terms=tuple(sorted(terms, key=lambda term: -term.score)),
        entries=len(entries),
        via=via,
    )
