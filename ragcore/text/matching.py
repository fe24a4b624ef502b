"""How far two texts share words: keywords, weighted terms, and similarity of vectors and sets."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from itertools import accumulate, compress

import numpy as np
import numpy.typing as npt

from ragcore.ports import Tokenizer
from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stop_words

FloatArray = npt.NDArray[np.float32]

MARK = "\x01"  # stands before every Latin word and number of a searchable text
BETWEEN = "\x00"  # stands between texts that are searched as one
_WORD_START = re.compile(r"(?<![a-z0-9])(?=[a-z0-9])|(?<=[a-z])(?=[0-9])")
_SINGLE_CJK = re.compile(f"[{CJK}]")
_WRITTEN = re.compile(rf"[{CJK}]+|[^\W{CJK}](?:[^\s{CJK}]*[^\W{CJK}])?")


def keywords(text: str, tokenizer: Tokenizer) -> list[str]:
    """Words without stop words, each once, in order; single CJK characters only if there is nothing else."""
    stop = stop_words()
    words = [word for word in dict.fromkeys(tokenizer.words(text)) if word not in stop]
    return [word for word in words if not _SINGLE_CJK.fullmatch(word)] or words


def written_keywords(text: str, tokenizer: Tokenizer) -> dict[str, str]:
    """The keywords of a text in order, each with the word as it is written there first: {"respons": "responses"}.

    Keywords are stems, which are no words: what is searched with beside the text, or shown, takes the written ones.
    """
    spellings: dict[str, str] = {}
    for match in _WRITTEN.finditer(text):
        word = match.group()
        for stemmed in tokenizer.words(word):
            spellings.setdefault(stemmed, stemmed if _SINGLE_CJK.match(word) else word)
    return {word: spellings[word] for word in keywords(text, tokenizer) if word in spellings}


def overlap(text: str, other: str, tokenizer: Tokenizer) -> float:
    """Share of the keywords of `text` that `other` has too, 0 to 1; 0 if `text` has none."""
    words = keywords(text, tokenizer)
    have = set(tokenizer.words(other))
    return sum(word in have for word in words) / len(words) if words else 0.0


# ── terms of a question in a text ───────────────────────────────────────────────────────────────


@lru_cache(maxsize=20_000)
def searchable(text: str) -> str:
    """The text normalised, in lower case, with a mark before every Latin word and number."""
    return _WORD_START.sub(MARK, normalise_query(text).lower())


def needles(term: str) -> tuple[str, ...]:
    """One or two strings that a searchable text contains where it has the term: CJK anywhere, Latin at a word's start.

    A Porter stem that ends with i also matches y.
    """
    marked = _WORD_START.sub(MARK, term)
    return (marked, marked[:-1] + "y") if len(term) > 2 and term.endswith("i") else (marked,)


def share_in(weights: Mapping[str, float], text: str) -> float:
    """Share of the terms, by weight, that occur in a text, 0 to 1; 0 without any weight."""
    return shares_in(weights, [text])[text]


def shares_in(weights: Mapping[str, float], texts: Iterable[str]) -> dict[str, float]:
    """`share_in` for many texts; equal texts are computed once."""
    total = sum(weights.values())
    different = dict.fromkeys(texts, 0.0)
    if total <= 0:
        return different
    present = presence([needles(term) for term in weights], [searchable(text) for text in different])
    return {
        text: sum(compress(weights.values(), there)) / total
        for text, there in zip(different, present.tolist(), strict=True)
    }


def presence(terms: Sequence[Sequence[str]], ready: Sequence[str]) -> npt.NDArray[np.bool_]:
    """bool[texts, terms]: `contains_terms` for many searchable texts, which are searched as one."""
    there = np.zeros((len(ready), len(terms)), dtype=np.bool_)
    joined, starts = joined_texts(ready)
    for column, sought in enumerate(terms):
        for needle in sought:
            at = joined.find(needle)
            while at >= 0:
                row = bisect_right(starts, at) - 1
                there[row, column] = True
                at = joined.find(needle, starts[row + 1])
    return there


def joined_texts(ready: Sequence[str]) -> tuple[str, list[int]]:
    """The texts with a character between them that no term has, and where each begins; the last number is the end."""
    starts = list(accumulate((len(text) + 1 for text in ready), initial=0))
    return BETWEEN.join((*ready, "")), starts


def contains_terms(terms: Iterable[Sequence[str]], ready: str) -> list[bool]:
    """For the needles of each term, whether a searchable text has it."""
    return [sought[0] in ready or (len(sought) > 1 and sought[1] in ready) for sought in terms]


# ── vectors and sets ─────────────────────────────────────────────────────────────────────────────


def cosine(a: FloatArray, b: FloatArray) -> float:
    """Cosine of two vectors, -1 to 1; 0 if one of them is zero."""
    norm = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    return float(np.dot(a, b)) / norm if norm else 0.0


def cosine_matrix(a: FloatArray, b: FloatArray) -> FloatArray:
    """float32[n, m]: cosine of each row of a with each row of b; zero rows give 0."""
    return np.asarray(normalised(a) @ normalised(b).T, dtype=np.float32)


def normalised(rows: FloatArray) -> FloatArray:
    """Rows of length 1; zero rows stay zero."""
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(norms == 0, 1, norms), dtype=np.float32)


def jaccard(a: Set[str], b: Set[str]) -> float:
    """Shared members over all members, 0 to 1; 0 for two empty sets."""
    union = len(a | b)
    return len(a & b) / union if union else 0.0
