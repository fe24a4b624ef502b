"""Merge several results for one question into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from statistics import fmean

from knowledge.search_profile import Retrieved
from ragcore.retrieval.stages.selection import find_copies, find_repetitions
from ragcore.types import Candidate, Drop, StageRecord, State

STAGE = "merge.queries"
RANK_OFFSET = 60  # of reciprocal rank fusion: Cormack, Clarke, Buettcher, 2009


def merge_results(
    results: Sequence[Retrieved],
    *,
    top_k: int,
    parts: int = 0,
    documents_each: int | None = None,
    in_conversation: bool = False,
) -> Retrieved:
    """One ranking of at most `top_k` passages, each once, of several rankings for one question.

    The last `parts` results are for sub-questions; the results before them are for forms of the same question. The
    first `top_k // len(results)` of each result are kept; the remaining places, because results share passages, go to
    the best of the others. `documents_each`: instead, the best passage of so many first documents of each result is
    kept, and `top_k` grows to have room for them. Passages are ordered by the score "merge.queries", the last one of
    every candidate, higher is better: see `_fused`, where `in_conversation` says that a form has the words of a
    conversation; documents that the question names come first, and of the same score what more results have. A passage
    that repeats a better one of another ranking is dropped where each ranking was rid of its own repetitions, and
    another takes its place. Query, arms and stages are those of the first result; the note of the stage "merge.queries"
    says what each form contributed.
    """
    if len(results) == 1:
        return results[0]
    values = _fused(results, parts=parts, in_conversation=in_conversation)
    best = _best_candidates(results)
    repeated = repeated_passages(
        sorted(best.values(), key=lambda candidate: -values[candidate.chunk]), results[0].duplicate_similarity
    )
    gone = set(chain.from_iterable(repeated.values()))
    best = {chunk: candidate for chunk, candidate in best.items() if chunk not in gone}
    share = max(1, top_k // len(results))
    by_result = ([chunk for chunk in _chunks(result) if chunk not in gone] for result in results)
    if documents_each is None:
        chosen = dict.fromkeys(chain.from_iterable(chunks[:share] for chunks in by_result))
    else:
        firsts = (_first_of_documents(chunks, best, documents_each) for chunks in by_result)
        chosen = dict.fromkeys(chain.from_iterable(firsts))
        top_k = max(top_k, len(chosen))
    named_documents = frozenset(chain.from_iterable(result.state.named_documents for result in results))

    def first(chunk: int) -> tuple[bool, float, int]:
        candidate = best[chunk]
        return candidate.document not in named_documents, -values[chunk], -len(candidate.detail["queries"])

    rest = sorted((chunk for chunk in best if chunk not in chosen), key=first)
    chosen |= dict.fromkeys(rest[: max(top_k - len(chosen), 0)])
    order = sorted(chosen, key=first)[:top_k]
    ranked = [best[chunk].scored(STAGE, values[chunk], rank) for rank, chunk in enumerate(order, 1)]
    return replace(
        results[0],
        state=_merged(results, ranked, share, repeated),
        relevant=any(result.relevant for result in results),
        timings_ms={name: round(sum(r.timings_ms[name] for r in results), 2) for name in results[0].timings_ms},
    )


def repeated_passages(candidates: Sequence[Candidate], similarity: float | None) -> Mapping[int, Sequence[int]]:
    """By chunk the chunks behind it that repeat it; where repetitions may stay, only copies of the same bytes."""
    if similarity is None:
        return find_copies(candidates)
    return find_repetitions(candidates, similarity=similarity, keep=len(candidates))[0]


def _first_of_documents(chunks: Sequence[int], candidates: Mapping[int, Candidate], most: int) -> list[int]:
    """The first passage of each of the first `most` documents of a ranking."""
    first: dict[int, int] = {}
    for chunk in chunks:
        first.setdefault(candidates[chunk].document, chunk)
    return list(first.values())[:most]


def _chunks(result: Retrieved) -> list[int]:
    return [candidate.chunk for candidate in result.state.candidates]


def _fused(results: Sequence[Retrieved], *, parts: int, in_conversation: bool) -> dict[int, float]:
    """The score "merge.queries" of each chunk.

    If all rankings end with the same score: its mean over the forms of the question, and the maximum of that, of its
    score for the question as it was asked, and of its score for each part. A passage that several forms find is more
    likely to answer than one that a single form finds (CombSUM: Fox and Shaw, "Combination of Multiple Searches",
    TREC-2, 1994; divided by the number of forms, so that scores keep their scale), but no other form takes its place
    from a passage that answers the question. In a conversation the question alone says too little for that. A part has
    an answer of its own, which the others need not find (CombMAX).
    Otherwise reciprocal ranks, where 1 means the first place in every ranking.
    """
    states = [result.state for result in results]
    last = {candidate.last_stage for state in states for candidate in state.candidates}
    if len(last) != 1:
        return _reciprocal_ranks(states)
    (stage,) = last
    forms, of_parts = states[: len(states) - parts], states[len(states) - parts :]
    values: dict[int, float] = {}
    alone = [] if in_conversation else forms[:1]
    for group in (forms, alone, *([state] for state in of_parts)):
        for chunk, value in _means(group, stage).items():
            values[chunk] = max(value, values.get(chunk, value))
    return values


def _means(states: Sequence[State], stage: str) -> dict[int, float]:
    """The mean score of each chunk; in a ranking without the chunk, the lowest score of that ranking counts."""
    scores = [_scores(state, stage) for state in states if state.candidates]
    all_chunks = dict.fromkeys(candidate.chunk for state in states for candidate in state.candidates)
    return {
        chunk: fmean(score_of_chunk.get(chunk, min(score_of_chunk.values())) for score_of_chunk in scores)
        for chunk in all_chunks
    }


def _scores(state: State, stage: str) -> Mapping[int, float]:
    """The scores of this stage, also of candidates that were cut off after it."""
    every = chain(state.candidates, state.fallen.values())
    return {candidate.chunk: candidate.scores[stage] for candidate in every if stage in candidate.scores}


def _reciprocal_ranks(states: Sequence[State]) -> dict[int, float]:
    """The sum of reciprocal ranks by chunk, divided by its maximum."""
    values: dict[int, float] = {}
    for state in states:
        for rank, candidate in enumerate(state.candidates, 1):
            share = (RANK_OFFSET + 1) / (RANK_OFFSET + rank) / len(states)
            values[candidate.chunk] = values.get(candidate.chunk, 0.0) + share
    return values


def _best_candidates(results: Sequence[Retrieved]) -> dict[int, Candidate]:
    """Each chunk once, with the scores of its best form (the first one, if scales differ), and all its forms."""
    best: dict[int, Candidate] = {}
    forms: dict[int, list[int]] = {}
    for number, result in enumerate(results):
        for candidate in result.state.candidates:
            forms.setdefault(candidate.chunk, []).append(number)
            earlier = best.get(candidate.chunk)
            if earlier is None or (
                earlier.last_stage == candidate.last_stage and earlier.last_score < candidate.last_score
            ):
                best[candidate.chunk] = candidate
    return {chunk: replace(c, detail={**c.detail, "queries": forms[chunk]}) for chunk, c in best.items()}


def _merged(
    results: Sequence[Retrieved], candidates: Sequence[Candidate], share: int, repeated: Mapping[int, Sequence[int]]
) -> State:
    """The first state with these candidates; its records of dropped ones are extended by the other forms."""
    first, rest = results[0].state, [result.state for result in results[1:]]
    chunks_in = {candidate.chunk for candidate in candidates}
    chunks_before = dict.fromkeys(chain.from_iterable(_chunks(result) for result in results))
    gone = set(chain.from_iterable(repeated.values()))
    left_out = tuple(chunk for chunk in chunks_before if chunk not in chunks_in and chunk not in gone)
    drops = [replace(drop, chunks=tuple(c for c in drop.chunks if c not in chunks_before)) for drop in first.drops]
    drops.append(Drop(chunks=left_out, stage=STAGE, code="not_best_of_forms"))
    drops += [
        Drop(chunks=tuple(copies), stage=STAGE, code="repeats", data={"passage": chunk})
        for chunk, copies in repeated.items()
    ]
    record = StageRecord(
        stage=STAGE,
        seconds=sum(record.seconds for state in rest for record in state.records),
        before=len(chunks_before),
        after=len(candidates),
        note={"queries": [result.state.query.text for result in results], "places": share},
    )
    return replace(
        first,
        candidates=tuple(candidates),
        records=(*first.records, record),
        drops=tuple(drop for drop in drops if drop.chunks),
        fallen={chunk: candidate for chunk, candidate in first.fallen.items() if chunk not in chunks_in},
    )
