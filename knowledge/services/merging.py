"""Several results for one question become one (V3, V5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

from knowledge.types import Retrieved
from ragcore.types import Candidate, Drop, StageRecord, State

STAGE = "merge.queries"
RANK_OFFSET = 60  # of reciprocal rank fusion: Cormack, Clarke, Buettcher, 2009


def merge_results(results: Sequence[Retrieved], *, top_k: int) -> Retrieved:
    """One ranking of at most `top_k` passages, each once, of several rankings for forms of one question.

    The first `top_k // len(results)` of each result have a place; places that are left, because results share passages,
    go to the best of the others. The order is that of the last score where all rankings end with the same one, as of
    the form that it is best for, otherwise that of reciprocal ranks. The query, the arms and the stages told are those
    of the first result; the note of the stage "merge.queries" says what each form brought.
    """
    if len(results) == 1:
        return results[0]
    values = _values([result.state for result in results])
    best = _best_candidates(results, values)
    share = max(1, top_k // len(results))
    kept = dict.fromkeys(chain.from_iterable(_chunks(result)[:share] for result in results))
    others = sorted((chunk for chunk in best if chunk not in kept), key=lambda chunk: -values[chunk])
    kept |= dict.fromkeys(others[: max(top_k - len(kept), 0)])
    order = sorted(kept, key=lambda chunk: -values[chunk])[:top_k]
    state = _merged(results, [best[chunk] for chunk in order], share)
    return replace(
        results[0],
        state=state,
        relevant=any(result.relevant for result in results),
        timings_ms={name: round(sum(r.timings_ms[name] for r in results), 2) for name in results[0].timings_ms},
    )


def _chunks(result: Retrieved) -> list[int]:
    return [candidate.chunk for candidate in result.state.candidates]


def _values(states: Iterable[State]) -> dict[int, float]:
    """What each chunk is ordered by."""
    rankings = [state.candidates for state in states]
    last = {name for ranking in rankings for candidate in ranking for name in list(candidate.scores)[-1:]}
    values: dict[int, float] = {}
    for ranking in rankings:
        for rank, candidate in enumerate(ranking, 1):
            if len(last) == 1:
                score = list(candidate.scores.values())[-1]
                values[candidate.chunk] = max(score, values.get(candidate.chunk, score))
            else:
                values[candidate.chunk] = values.get(candidate.chunk, 0.0) + 1 / (RANK_OFFSET + rank)
    return values


def _best_candidates(results: Sequence[Retrieved], values: dict[int, float]) -> dict[int, Candidate]:
    """Each chunk once, with the scores of the form of the question that it fits best, and the forms that found it."""
    best: dict[int, Candidate] = {}
    forms: dict[int, list[int]] = {}
    for number, result in enumerate(results):
        for candidate in result.state.candidates:
            forms.setdefault(candidate.chunk, []).append(number)
            known = best.get(candidate.chunk)
            if known is None or list(known.scores.values())[-1] < values[candidate.chunk]:
                best[candidate.chunk] = candidate
    return {chunk: replace(c, detail={**c.detail, "queries": forms[chunk]}) for chunk, c in best.items()}


def _merged(results: Sequence[Retrieved], candidates: Sequence[Candidate], share: int) -> State:
    """The first state with these candidates; what other forms found and is not among them is dropped, too."""
    first, others = results[0].state, [result.state for result in results[1:]]
    kept = {candidate.chunk for candidate in candidates}
    found = dict.fromkeys(chain.from_iterable(_chunks(result) for result in results))
    left_out = tuple(chunk for chunk in found if chunk not in kept)
    drops = [replace(drop, chunks=tuple(c for c in drop.chunks if c not in found)) for drop in first.drops]
    drops.append(Drop(chunks=left_out, stage=STAGE, reason="not among the best of all forms of the question"))
    record = StageRecord(
        stage=STAGE,
        seconds=sum(record.seconds for state in others for record in state.records),
        before=len(found),
        after=len(candidates),
        note={"queries": [result.state.query.text for result in results], "places": share},
    )
    return replace(
        first,
        candidates=tuple(candidates),
        records=(*first.records, record),
        drops=tuple(drop for drop in drops if drop.chunks),
        fallen={chunk: candidate for chunk, candidate in first.fallen.items() if chunk not in kept},
    )
