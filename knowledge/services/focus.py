"""Merges passages of the conversation's documents into the ranking of the whole search (decision 052)."""

from __future__ import annotations

from dataclasses import replace

from knowledge.search_profile import Retrieved
from knowledge.services.merging import STAGE as MERGED
from knowledge.services.merging import repeated_passages
from knowledge.types import RetrievalRequest
from ragcore.types import Candidate, StageRecord

STAGE = "focus"
MOST_IN_FOCUS = 3  # passages
BONUS = 0.5  # log-odds, or whatever the last score of the search is in


def narrowed_to_focus(request: RetrievalRequest) -> RetrievalRequest | None:
    """The same search inside the documents of its focus, within its own filters; None where these leave out all."""
    allowed = request.filters.documents
    inside = tuple(pk for pk in request.focus if not allowed or pk in allowed)
    return replace(request, filters=replace(request.filters, documents=inside), focus=()) if inside else None


def with_focus(everywhere: Retrieved, inside: Retrieved, *, top_k: int) -> Retrieved:
    """The ranking with the best passages of the focus: score and place by what either search says of them.

    One that the search of everything has left out comes in where it scores no less than the last that it has kept.
    Nothing changes where the two have no score in common.
    """
    ranked = {candidate.chunk: candidate for candidate in everywhere.state.candidates}
    close = {candidate.chunk: candidate for candidate in inside.state.candidates[:MOST_IN_FOCUS]}
    if not close or len({_scale(candidate) for candidate in (*ranked.values(), *close.values())}) > 1:
        return everywhere
    least = min((candidate.last_score for candidate in ranked.values()), default=0.0)
    values = {chunk: candidate.last_score for chunk, candidate in ranked.items()}
    for chunk, candidate in close.items():
        value = candidate.last_score + BONUS
        if chunk in values or not ranked or value >= least:
            values[chunk] = max(value, values.get(chunk, value))
    every = {**close, **ranked}
    order = sorted(
        values, key=lambda chunk: (every[chunk].document not in everywhere.state.named_documents, -values[chunk])
    )
    repeated = repeated_passages([every[chunk] for chunk in order], everywhere.duplicate_similarity)
    gone = {chunk for chunks in repeated.values() for chunk in chunks if chunk not in ranked}
    best = [chunk for chunk in order if chunk not in gone][:top_k]
    candidates = tuple(every[chunk].scored(STAGE, values[chunk], rank) for rank, chunk in enumerate(best, 1))
    record = StageRecord(
        stage=STAGE,
        seconds=sum(record.seconds for record in inside.state.records),
        before=len(ranked),
        after=len(candidates),
        note={"documents": sorted({candidate.document for candidate in close.values()})},
    )
    fallen = {chunk: candidate for chunk, candidate in everywhere.state.fallen.items() if chunk not in best}
    state = replace(everywhere.state, candidates=candidates, records=(*everywhere.state.records, record), fallen=fallen)
    return replace(everywhere, state=state)


def _scale(candidate: Candidate) -> str:
    """The stage of the last score that is no mean of others."""
    return [name for name in candidate.scores if name != MERGED][-1]
