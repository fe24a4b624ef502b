"""Names that may mean the same: they stand among the same words, and their vectors are near.

Distributional similarity: rows of positive pointwise mutual information over the words around a name, compared by
cosine (Church & Hanks 1990; Levy, Goldberg & Dagan, Improving distributional similarity, 2015, for the smoothed
contexts). Opposites and siblings stand among the same words, too: what comes out are suggestions for a person.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ragcore.ports import Tokenizer
from ragcore.text.mining.phrases import normal_word, sentences_of, surface_words
from ragcore.text.tokenise import stop_words

WINDOW = 4  # words on either side
LEAST_PLACES = 5  # of a name that is compared
MOST_NAMES = 1000  # compared at once, those with most places
MOST_CONTEXTS = 5000  # words around names, the most frequent ones
SMOOTHING = 0.75  # exponent of the frequencies of contexts
MOST_WORDS = 6  # of a name
LEAST_CONTEXT, LEAST_VECTOR = 0.12, 0.4  # cosines from which a pair is looked at
LEAST_SCORE = 0.3  # geometric mean of the two from which it is suggested; of contexts alone the same
LEAST_SHARED = 4  # words around both
SHARED_WORDS = 0.75  # of the shorter name, from which one is a kind of the other: carrier, uplink carrier
TOGETHER = 0.2  # share of the places of the rarer name beside the other one: parts of a list, not names of one thing

LEAST_TEXTS = 3  # with a name
_NUMBER = re.compile(r"\d+|[一二三四五六七八九十百千]+[条章节年月日号项款]?")

Matrix = npt.NDArray[np.float32]
Embed = Callable[[Sequence[str]], Matrix]  # names -> float32[n, d], L2-normalised


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelySynonym:
    """Two names of maybe one thing. `score`: geometric mean of the two cosines, which an embedder is needed for."""

    first: str  # the one with more places
    second: str
    score: float
    context: float
    vector: float | None
    count: int  # places of the rarer one


@dataclass(slots=True)
class NameContexts:
    """The words around some names. `add` each text, then `likely_synonyms`."""

    names: Sequence[str]
    tokenizer: Tokenizer
    counts: Counter[int] = field(default_factory=Counter)  # places of each name, by its number
    around: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    together: Counter[frozenset[int]] = field(default_factory=Counter)  # places of two names in one sentence
    texts: Counter[int] = field(default_factory=Counter)  # texts with a name
    by_first: dict[str, list[tuple[tuple[str, ...], int]]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self.names = tuple(dict.fromkeys(self.names))
        names_read: set[tuple[str, ...]] = set()
        for number, name in enumerate(self.names):
            words = name_words(name, self.tokenizer)
            if words and len(words) <= MOST_WORDS and words not in names_read:
                names_read.add(words)
                self.by_first[words[0]].append((words, number))
        for names in self.by_first.values():
            names.sort(key=lambda name: -len(name[0]))  # the longest name at a place

    def add(self, text: str) -> None:
        """Count the words around the names of one text."""
        stop = stop_words()
        numbers: set[int] = set()
        for sentence in sentences_of(text):
            here: set[int] = set()
            words = [normal_word(word) for word in surface_words(sentence, self.tokenizer)]
            at = 0
            while at < len(words):
                number, length = self._name_at(words, at)
                if length:
                    near = words[max(0, at - WINDOW) : at] + words[at + length : at + length + WINDOW]
                    self.counts[number] += 1
                    here.add(number)
                    self.around[number].update(word for word in near if word and word not in stop)
                at += max(length, 1)
            self.together.update(frozenset(pair) for pair in combinations(sorted(here), 2))
            numbers |= here
        self.texts.update(numbers)

    def _name_at(self, words: Sequence[str], at: int) -> tuple[int, int]:
        for name, number in self.by_first.get(words[at], ()):
            if tuple(words[at : at + len(name)]) == name:
                return number, len(name)
        return -1, 0

    def likely_synonyms(
        self, *, embed: Embed | None = None, different: frozenset[str] = frozenset()
    ) -> list[LikelySynonym]:
        """Pairs of names that are each other's nearest, the likeliest first. `different`: names no two of which are
        names of one thing."""
        usual = self.counts.most_common(MOST_NAMES)
        numbers = [n for n, count in usual if count >= LEAST_PLACES and self.texts[n] >= LEAST_TEXTS]
        if len(numbers) < 2:
            return []
        names = [self.names[number] for number in numbers]
        context = self.context_cosines(numbers)
        score, vector = context, None
        if embed is not None:
            rows = embed(names)
            vector = np.maximum(rows @ rows.T, 0)
            score = np.sqrt(np.maximum(context, 0) * vector)
        allowed = np.where(self._may_be_one(numbers, different), score, -1.0)
        nearest = allowed.argmax(axis=1)
        pairs = []
        for at, other in enumerate(nearest.tolist()):
            if nearest[other] != at or at > other or allowed[at, other] < LEAST_SCORE:
                continue
            near = None if vector is None else float(vector[at, other])
            if context[at, other] < LEAST_CONTEXT or (near is not None and near < LEAST_VECTOR):
                continue
            pairs.append(
                LikelySynonym(
                    first=names[at],
                    second=names[other],
                    score=round(float(allowed[at, other]), 4),
                    context=round(float(context[at, other]), 4),
                    vector=None if near is None else round(near, 4),
                    count=self.counts[numbers[other]],
                )
            )
        return sorted(pairs, key=lambda pair: (-pair.score, pair.first))

    def context_cosines(self, numbers: Sequence[int]) -> Matrix:
        """float32[n, n]: cosines of the rows of positive pointwise mutual information."""
        total: Counter[str] = Counter()
        for number in numbers:
            total.update(self.around[number])
        column = {word: at for at, (word, _count) in enumerate(total.most_common(MOST_CONTEXTS))}
        counts = np.zeros((len(numbers), max(len(column), 1)), dtype=np.float32)
        for row, number in enumerate(numbers):
            for word, count in self.around[number].items():
                if word in column:
                    counts[row, column[word]] = count
        everything = max(float(counts.sum()), 1.0)
        smooth = counts.sum(axis=0) ** SMOOTHING
        share = smooth / max(float(smooth.sum()), 1.0)
        expected = np.outer(counts.sum(axis=1) / everything, share)
        with np.errstate(divide="ignore", invalid="ignore"):
            rows = np.log(counts / everything / expected)
        rows = np.where(np.isfinite(rows), np.maximum(rows, 0), 0).astype(np.float32)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        rows /= np.where(norms > 0, norms, 1)
        cosines: Matrix = rows @ rows.T
        return cosines

    def _may_be_one(self, numbers: Sequence[int], different: frozenset[str]) -> npt.NDArray[np.bool_]:
        """bool[n, n]: whether two names may mean one thing."""
        names = [self.names[number] for number in numbers]
        words = [set(name_words(name, self.tokenizer)) for name in names]
        allowed = ~np.eye(len(names), dtype=np.bool_)
        for first, other in combinations(range(len(names)), 2):
            if self._is_apart(numbers[first], numbers[other], words[first], words[other], different):
                allowed[first, other] = allowed[other, first] = False
        return allowed

    def _is_apart(
        self, first: int, other: int, words: set[str], other_words: set[str], different: frozenset[str]
    ) -> bool:
        """Whether two names are surely not names of one thing: kinds of each other, parts of one list, numbers."""
        if len(words & other_words) >= SHARED_WORDS * min(len(words), len(other_words)):
            return True
        least = min(self.counts[first], self.counts[other])
        if self.together[frozenset((first, other))] > TOGETHER * least:
            return True
        a, b = self.names[first], self.names[other]
        if _numbers(a) != _numbers(b) or (a in different and b in different):
            return True
        return len(self.around[first].keys() & self.around[other].keys()) < LEAST_SHARED


def _numbers(name: str) -> list[str]:
    """Numbers in digits, and Chinese ones that count something."""
    return [number for number in _NUMBER.findall(name) if number[-1] not in "一二三四五六七八九十百千"]


def name_words(name: str, tokenizer: Tokenizer) -> tuple[str, ...]:
    """What a name is looked for by; () for one with a border of a phrase in it."""
    words = tuple(normal_word(word) for word in surface_words(name, tokenizer))
    return words if all(words) else ()


def contexts_of(texts: Iterable[str], names: Sequence[str], tokenizer: Tokenizer) -> NameContexts:
    """The words around some names in some texts."""
    contexts = NameContexts(names, tokenizer)
    for text in texts:
        contexts.add(text)
    return contexts
