"""Why passages were found, or were not: their scores for a question, as a search compares them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from accounts.scope import Scope
from knowledge.backends.set_models import ScopedSetVectors, both_scores
from knowledge.indexes.entry_scores import EntryScores, entry_scores_load
from knowledge.indexes.lexical import known_terms, lexical_query
from knowledge.indexes.visibility import Visible
from knowledge.indexes.visible_passages import passages_load
from knowledge.search_profile import SearchProfile
from knowledge.selectors.search_parts import SearchPart
from knowledge.selectors.set_embedders import SetModel
from ragcore.embedding.cosine_scale import CosineScale
from ragcore.ports import FloatArray
from ragcore.types import Hit, Passage, Query


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


def passages_explain(*, profile: SearchProfile, query: Query, chunks: Sequence[int]) -> dict[int, PassageEvidence]:
    """Explanations by chunk id, in a fixed number of queries; passages that the asker may not find are left out.

    `profile`, `query`: of a finished search (Retrieved.profile, State.query); its vector and weights are reused.
    """
    scope, visible = profile.scope, profile.visible
    passages = passages_load(scope=scope, visible=visible, chunks=chunks)
    asked = _query_terms(scope=scope, visible=visible, query=query)
    entries: list[EntryScores] = []
    for part in profile.parts:
        entries += _part_scores(profile, part, query, list(passages), [term.id for term in asked])
    by_chunk: dict[int, list[EntryScores]] = {}
    for entry in entries:
        by_chunk.setdefault(entry.chunk, []).append(entry)
    return {chunk: _evidence(passage, by_chunk.get(chunk, []), asked) for chunk, passage in passages.items()}


def _part_scores(
    profile: SearchProfile, part: SearchPart, query: Query, chunks: Sequence[int], terms: Sequence[int]
) -> list[EntryScores]:
    """Entries of these passages in one part of what is visible, as that part is searched."""
    vector, adapter = query.vector, part.adapter
    if vector is not None and adapter is not None:
        vector = adapter.apply(vector[None, :])[0]
    found = entry_scores_load(
        scope=profile.scope,
        visible=part.visible,
        chunks=chunks,
        terms=terms,
        vector=vector,
        model=profile.embedder.model,
    )
    if adapter is not None:
        scale = lambda cosine: None if cosine is None else adapter.on_plain_scale(cosine)  # noqa: E731
        found = [replace(one, coarse=scale(one.coarse), fine=scale(one.fine)) for one in found]
    if part.own is None:
        return found
    asked = profile.set_questions[part.own.set_id].vector(query)
    return _with_own(found, ScopedSetVectors(profile.scope, part.visible, part.own.model), part.own, asked)


def _with_own(
    entries: Sequence[EntryScores], vectors: ScopedSetVectors, own: SetModel, asked: FloatArray | None
) -> list[EntryScores]:
    """Entries with the cosines that their passages got of both models together; those of one passage keep their order.

    The two models are compared by passage, so each entry is moved by as much as the best one of its passage.
    """
    chunks = list(dict.fromkeys(entry.chunk for entry in entries))
    if asked is None or not chunks:
        return list(entries)
    fine = vectors.fine(asked, chunks=chunks)
    coarse = vectors.prefixes(asked, chunks=chunks)
    moved_fine = _moved([(entry.chunk, entry.fine) for entry in entries], fine, own.scale, own)
    moved_coarse = _moved([(entry.chunk, entry.coarse) for entry in entries], coarse, own.prefix_scale, own)
    return [
        replace(entry, fine=one, coarse=other)
        for entry, one, other in zip(entries, moved_fine, moved_coarse, strict=True)
    ]


def _moved(
    cosines: Sequence[tuple[int, float | None]], hits: Sequence[Hit], scale: CosineScale, own: SetModel
) -> list[float | None]:
    """The cosines of entries, given with their chunks, moved so that the best one of a chunk is its score by both."""
    site: dict[int, float] = {}
    for chunk, cosine in cosines:
        if cosine is not None:
            site[chunk] = max(cosine, site.get(chunk, cosine))
    scores = both_scores(site, {hit.chunk: scale(hit.score) for hit in hits}, is_alone=own.is_alone)
    return [
        scores.get(chunk) if chunk not in site else None if cosine is None else cosine + scores[chunk] - site[chunk]
        for chunk, cosine in cosines
    ]


def query_embed(profile: SearchProfile, query: Query) -> Query:
    """The question with its vector, if the search did not compute one."""
    if query.vector is not None:
        return query
    return replace(query, vector=profile.embedder.embed_queries([query.embedded_text])[0])


def _query_terms(*, scope: Scope, visible: Visible, query: Query) -> list[_QueryTerm]:
    """Terms of the question and of its corrections that the corpus contains, each with its weight."""
    counts = Counter(query.terms)
    added = [text for meant in query.corrections.values() for text in meant]
    added += [text for one in query.expansions for text in one.terms]
    known = known_terms(scope=scope, texts=[*query.terms, *added], visible=visible)
    asked = lexical_query(
        scope=scope,
        terms=query.terms,
        corrections=query.corrections,
        expansions=query.expansions,
        visible=visible,
    )
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
