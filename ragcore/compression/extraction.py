"""Keeping the sentences of a passage that matter, word for word and in their order (U9)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragcore.compression.scoring import importance, similarities
from ragcore.compression.units import SHORTEST, Unit, units_of, width
from ragcore.ports import Embedder, TokenCounter, Tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """A part of a text; `start` is where the part begins that stood behind a given offset."""

    text: str
    tokens: int
    start: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scored:
    number: int
    score: float


def extracted(
    texts: Sequence[str],
    query: str,
    *,
    budgets: Sequence[int],
    tokenizer: Tokenizer,
    embedder: Embedder | None,
    counter: TokenCounter,
    starts: Sequence[int] | None = None,
) -> list[Extract]:
    """The best units of each text within its budget of tokens, in reading order.

    A unit that is taken brings its heading or the sentence before its list. The best one is always taken; where it does
    not fit it stands alone. So a text has at most its budget or one unit, and never becomes empty. `starts`: offsets to
    follow, one a text; 0 where left out.
    """
    whole = [counter.count(text) for text in texts]
    cut = [
        units_of(text) if tokens > budget else [] for text, tokens, budget in zip(texts, whole, budgets, strict=True)
    ]
    usable = [_usable(units) for units in cut]
    groups = [[cut[at][number].text for number in numbers] for at, numbers in enumerate(usable)]
    alike = similarities(query, groups, tokenizer=tokenizer, embedder=embedder)
    results = []
    for at, (text, units, numbers) in enumerate(zip(texts, cut, usable, strict=True)):
        start = starts[at] if starts else 0
        if not numbers:
            results.append(Extract(text=text, tokens=whole[at], start=start))
            continue
        scored = [
            _Scored(number=number, score=_score(units[number], number, len(units), similarity, tokenizer))
            for number, similarity in zip(numbers, alike[at], strict=True)
        ]
        results.append(_extract(units, _chosen(units, scored, budget=budgets[at], counter=counter), start, counter))
    return results


def _usable(units: Sequence[Unit]) -> list[int]:
    """Units that may be chosen: blocks, and what is longer than 20 columns; headings only come with what they
    head. Where there is nothing else, short lines and in the end headings are chosen from.
    """
    written = [number for number, unit in enumerate(units) if unit.text.strip()]
    bodies = [number for number in written if units[number].kind != "heading"]
    long = [n for n in bodies if units[n].kind == "block" or width(units[n].text) > SHORTEST]
    return long or bodies or written


def _score(unit: Unit, number: int, count: int, similarity: float, tokenizer: Tokenizer) -> float:
    words = len(tokenizer.words(unit.text))
    return importance(similarity=similarity, is_edge=number in (0, count - 1), words=words)


def _chosen(units: Sequence[Unit], scored: Sequence[_Scored], *, budget: int, counter: TokenCounter) -> list[int]:
    """Numbers of the units to keep, ascending."""
    ranked = sorted(scored, key=lambda s: (-s.score, s.number))
    kept: set[int] = set()
    spent = 0
    costs = [counter.count(unit.text) for unit in units]  # of a part; joined they are rarely more, which is seen below
    for candidate in ranked:
        added = _with_heads(units, candidate.number) - kept
        cost = sum(costs[number] for number in added)
        if spent + cost <= budget or not kept:  # the best one says most, however long it is
            kept |= added
            spent += cost
    order = [s.number for s in ranked if s.number in kept]
    while len(order) > 1 and counter.count(_text(units, kept)) > budget:
        order.pop()
        kept = set().union(*(_with_heads(units, number) for number in order))
    alone = len(order) == 1 and counter.count(_text(units, kept)) > budget
    return order if alone else sorted(kept)


def _with_heads(units: Sequence[Unit], number: int) -> set[int]:
    """A unit with everything that it hangs on."""
    found = {number}
    head = units[number].head
    while head is not None and head not in found:
        found.add(head)
        head = units[head].head
    return found


def _text(units: Sequence[Unit], numbers: Iterable[int]) -> str:
    return "".join(units[number].text for number in sorted(numbers)).strip()


def _extract(units: Sequence[Unit], chosen: Sequence[int], start: int, counter: TokenCounter) -> Extract:
    """The chosen units as one text."""
    kept, before, offset = "", 0, 0
    for number, unit in enumerate(units):
        if number in chosen:
            piece = unit.text if kept else unit.text.lstrip()
            before += len(piece) if offset + len(unit.text) <= start else 0
            kept += piece
        offset += len(unit.text)
    kept = kept.rstrip()
    return Extract(text=kept, tokens=counter.count(kept), start=min(before, len(kept)))
