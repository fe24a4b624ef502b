"""Keeping the sentences of a passage that matter, word for word and in their order: units, their scores, choice.

A unit is a sentence, or a code block, table or formula, which mean nothing in parts. Units joined are the text again.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ragcore.ports import Embedder, TokenCounter, Tokenizer
from ragcore.text.matching import cosine_matrix, keywords
from ragcore.text.scripts import cjk_share
from ragcore.text.sentences import split_sentences

UnitKind = Literal["sentence", "item", "head", "heading", "block"]

_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_ROW = re.compile(r"\s*\|")
_HEADING = re.compile(r"\s*#{1,6}\s")
_ITEM = re.compile(r"\s*(?:[-*+•·●▪◦]\s|\d{1,3}[.)、．]\s?|[(（]\d{1,3}[)）]|[一二三四五六七八九十]{1,3}、)")
_FORMULA = re.compile(r"\s*(\$\$|\\\[|\\begin\{(\w+\*?)\})")
_COLON = re.compile(r"[:：][*_\s]*\Z")
_WIDE = "\u2e7f"
SHORTEST = 20  # columns; what is not longer is no sentence worth keeping

ENOUGH = 0.5  # words that are found decide; vectors, which take a hundred times as long, are asked only below this
LONG = 20  # words from which a unit counts as long
GOOD_ENOUGH = 0.7
USUAL_RATIO = (0.3, 0.8)  # of the words after and before; beyond it much was lost, or little was gained
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A piece of a passage with the white space behind it."""

    text: str
    kind: UnitKind = "sentence"
    head: int | None = None  # the heading or the sentence before a list without which the unit hangs in the air


def units_of(text: str) -> list[Unit]:
    """The units of a passage in reading order; "".join of their texts is the passage."""
    units: list[Unit] = []
    heading: int | None = None  # of what follows
    introduction: int | None = None  # of the items that follow
    for piece, is_block in _pieces(text):
        kind = _kind(piece, is_block)
        if kind == "item" and units and units[-1].kind == "sentence" and _COLON.search(units[-1].text):
            introduction = len(units) - 1
            units[-1] = replace(units[-1], kind="head")
        elif kind not in ("item", "block"):
            introduction = None
        if kind == "item" and units and _is_short_list(units[-1], piece):
            units[-1] = replace(units[-1], text=units[-1].text + piece)
            continue
        head = introduction if introduction is not None else heading
        units.append(Unit(text=piece, kind=kind, head=head))
        if kind == "heading":
            heading = len(units) - 1
            units[-1] = replace(units[-1], head=None)
    return units


def width(text: str) -> int:
    """Length in columns: a character of Chinese, which says about as much as two Latin letters, counts twice."""
    return sum(2 if char > _WIDE else 1 for char in text.strip())


def _is_short_list(before: Unit, piece: str) -> bool:
    """Items of a word or two are no sentences of their own: they stay with their neighbour."""
    return before.kind == "item" and min(width(before.text), width(piece)) <= SHORTEST


def _kind(piece: str, is_block: bool) -> UnitKind:
    if is_block:
        return "block"
    if _HEADING.match(piece):
        return "heading"
    return "item" if _ITEM.match(piece) else "sentence"


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Blocks as they stand, and the sentences between them."""
    prose = ""
    for lines, is_block in _runs(text):
        if not is_block:
            prose += lines
            continue
        yield from ((sentence, False) for sentence in split_sentences(prose))
        prose = ""
        yield lines, True
    yield from ((sentence, False) for sentence in split_sentences(prose))


def _runs(text: str) -> Iterator[tuple[str, bool]]:
    """Runs of lines: code, tables and formulas with the blank lines behind them, and single other lines."""
    lines = text.splitlines(keepends=True)
    at = 0
    while at < len(lines):
        end = _block_end(lines, at)
        is_block = end > at
        end = max(end, at + 1)
        while is_block and end < len(lines) and not lines[end].strip():
            end += 1
        yield "".join(lines[at:end]), is_block
        at = end


def _block_end(lines: list[str], at: int) -> int:
    """Behind the last line of the block that begins here; `at` where none does."""
    line = lines[at]
    if fence := _FENCE.match(line):
        return _closed(lines, at, lambda other: other.strip().startswith(fence[1]))
    if formula := _FORMULA.match(line):
        closing = {"$$": "$$", "\\[": "\\]"}.get(formula[1], f"\\end{{{formula[2]}}}")
        if closing in line[formula.end() :]:
            return at + 1
        return _closed(lines, at, lambda other: closing in other)
    end = at
    while end < len(lines) and _ROW.match(lines[end]):
        end += 1
    return end


def _closed(lines: list[str], at: int, closes: Callable[[str], bool]) -> int:
    """Behind the closing line; a block that is never closed goes on to the end of the passage."""
    return next((number + 1 for number in range(at + 1, len(lines)) if closes(lines[number])), len(lines))


def importance(*, similarity: float, is_edge: bool, words: int) -> float:
    """0.7 of the similarity to the question, 0.2 for the first and the last of a chunk, 0.1 of min(words/20, 1)."""
    return 0.7 * similarity + 0.2 * is_edge + 0.1 * min(words / LONG, 1.0)


def similarities(
    query: str, groups: Sequence[Sequence[str]], *, tokenizer: Tokenizer, embedder: Embedder | None
) -> list[list[float]]:
    """Similarity of each text to the question, 0 to 1, by group: shared keywords, or the higher of them and meaning.

    Keywords of the question count by how few of all the texts have them. A group in which a text has half of their
    weight is decided by words; all others are embedded in one call, the question in another. The cosine is limited by
    how far the embedder can be relied on for the script of the question.
    """
    shared = iter(_coverage(query, [text for group in groups for text in group], tokenizer))
    by_group = [[next(shared) for _ in group] for group in groups]
    open_groups = [at for at, values in enumerate(by_group) if values and max(values) < ENOUGH]
    trust = embedder.trust(cjk_share(query)) if embedder is not None and open_groups else 0.0
    if embedder is None or trust <= 0:
        return by_group
    texts = [text for at in open_groups for text in groups[at]]
    cosines = iter(cosine_matrix(embedder.embed_queries([query]), embedder.embed_documents(texts))[0].tolist())
    for at in open_groups:
        by_group[at] = [max(words, min(1.0, max(0.0, trust * next(cosines)))) for words in by_group[at]]
    return by_group


def _coverage(query: str, texts: Sequence[str], tokenizer: Tokenizer) -> list[float]:
    """Weighted share of the question's keywords that each text has."""
    have = [frozenset(tokenizer.words(text)) for text in texts]
    words_of_query = keywords(query, tokenizer)
    holders = Counter(word for words in have for word in words_of_query if word in words)
    weight = {word: math.log(1 + len(texts) / (holders[word] + 0.5)) for word in words_of_query}
    total = sum(weight.values())
    return [sum(weight[word] for word in words_of_query if word in words) / total if total else 0.0 for words in have]


# ── a text shortened by a language model ─────────────────────────────────────────────────────


def quality(*, retention: float, before: float, after: float, ratio: float) -> float:
    """0.4 retention + 0.4 min(after / max(before, 0.1), 1) + 0.2 (1 within 0.3 to 0.8 of the words, else 0.5).

    `retention`: share of keywords that are still there; `before`, `after`: similarity of the passage and of what is
    left of it to the question, 0 to 1.
    """
    low, high = USUAL_RATIO
    return 0.4 * retention + 0.4 * min(after / max(before, 0.1), 1.0) + 0.2 * (1.0 if low <= ratio <= high else 0.5)


def keyword_retention(before: str, after: str, tokenizer: Tokenizer) -> float:
    """Share of the keywords of a passage that are left, 0 to 1; 1 where it has none."""
    has = set(tokenizer.words(after))
    words = keywords(before, tokenizer)
    return sum(word in has for word in words) / len(words) if words else 1.0


def invents_figures(before: str, after: str) -> bool:
    """Whether a figure stands in the shorter text only."""
    return not _figures(after) <= _figures(before)


def _figures(text: str) -> set[str]:
    return {number.replace(",", "").rstrip(".") for number in _NUMBER.findall(text)}


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
        edges = (numbers[0], numbers[-1])  # of the sentences: a heading in front is none
        scored = [
            _Scored(number=number, score=_score(units[number], number in edges, similarity, tokenizer))
            for number, similarity in zip(numbers, alike[at], strict=True)
        ]
        results.append(_extract(units, _chosen(units, scored, budget=budgets[at], counter=counter), start, counter))
    return results


def _usable(units: Sequence[Unit]) -> list[int]:
    """Units that may be chosen: blocks, and what is longer than 20 columns; headings only come with what they
    head. Where there is nothing else, short lines and in the end headings are chosen from.
    """
    filled = [number for number, unit in enumerate(units) if unit.text.strip()]
    bodies = [number for number in filled if units[number].kind != "heading"]
    long = [n for n in bodies if units[n].kind == "block" or width(units[n].text) > SHORTEST]
    return long or bodies or filled


def _score(unit: Unit, is_edge: bool, similarity: float, tokenizer: Tokenizer) -> float:
    return importance(similarity=similarity, is_edge=is_edge, words=len(tokenizer.words(unit.text)))


def _chosen(units: Sequence[Unit], scored: Sequence[_Scored], *, budget: int, counter: TokenCounter) -> list[int]:
    """Numbers of the units to keep, ascending."""
    ranked = sorted(scored, key=lambda s: (-s.score, s.number))
    selection: set[int] = set()
    spent = 0
    costs = [counter.count(unit.text) for unit in units]  # of a part; joined they are rarely more, which is seen below
    for candidate in ranked:
        added = _with_heads(units, candidate.number) - selection
        cost = sum(costs[number] for number in added)
        if spent + cost <= budget or not selection:  # the best one says most, however long it is
            selection |= added
            spent += cost
    order = [s.number for s in ranked if s.number in selection]
    while len(order) > 1 and counter.count(_text(units, selection)) > budget:
        order.pop()
        selection = set().union(*(_with_heads(units, number) for number in order))
    alone = len(order) == 1 and counter.count(_text(units, selection)) > budget
    return order if alone else sorted(selection)


def _with_heads(units: Sequence[Unit], number: int) -> set[int]:
    """A unit with everything that it hangs on."""
    numbers = {number}
    head = units[number].head
    while head is not None and head not in numbers:
        numbers.add(head)
        head = units[head].head
    return numbers


def _text(units: Sequence[Unit], numbers: Iterable[int]) -> str:
    return "".join(units[number].text for number in sorted(numbers)).strip()


def _extract(units: Sequence[Unit], chosen: Sequence[int], start: int, counter: TokenCounter) -> Extract:
    """The chosen units as one text."""
    text, before, offset = "", 0, 0
    for number, unit in enumerate(units):
        if number in chosen:
            piece = unit.text if text else unit.text.lstrip()
            before += len(piece) if offset + len(unit.text) <= start else 0
            text += piece
        offset += len(unit.text)
    text = text.rstrip()
    return Extract(text=text, tokens=counter.count(text), start=min(before, len(text)))
