"""Hashed character n-grams: a lexical vector for any script, without a model."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from zlib import crc32

import numpy as np
import numpy.typing as npt

from ragcore.ports import FloatArray
from ragcore.text.normalise import nfkc
from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stem, stop_words

Hashes = npt.NDArray[np.uint64]

# Chosen by nDCG@10 of this vector alone; see decision 005.
CJK_WEIGHTS = {1: 0.8, 2: 1.0}  # by length of the n-gram; 3-grams crowd 384 columns and lose
RARITY_POWER_CJK = 2.0
LATIN_WEIGHTS = {3: 0.3, 4: 0.5, 5: 0.5}
WORD_WEIGHT = 1.0
RARITY_POWER_LATIN = 1.0
UNKNOWN_HAN = 0.5  # rarity of characters that the dictionary lacks: most of the traditional ones
RARE_HAN_COUNT = 300  # occurrences below which the dictionary says too little

_CJK_RUNS = re.compile(f"[{CJK}]+")
_LATIN_WORDS = re.compile(rf"[^\W_{CJK}]+")
_CODE_POINTS = 0x32000


def hashed_ngrams(texts: Sequence[str], *, dimensions: int, rarity: Callable[[str], float]) -> FloatArray:
    """float32[n, dimensions], L2-normalised: signed feature hashing of n-grams (Weinberger et al. 2009).

    CJK runs give characters and pairs, other words their stem and the 3- to 5-grams of it with its edges.
    Without statistics of the collection, a prior stands in for the idf: for Han the character frequencies of
    jieba's dictionary, for words `rarity` (0 common to 1 rare). Term frequency counts as 1 + ln(tf).
    The hash is fixed: vectors of all processes and machines agree.
    """
    rows = np.zeros((len(texts), dimensions), np.float32)
    for row, text in zip(rows, texts, strict=True):
        plain = nfkc(text).lower()
        _add_cjk(row, plain)
        _add_words(row, plain, rarity)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms == 0, 1, norms), dtype=np.float32)


def _add_cjk(row: FloatArray, text: str) -> None:
    """Add the n-grams of all CJK runs of one text to its row."""
    joined = " ".join(_CJK_RUNS.findall(text)).encode("utf-32-le", "replace")
    codes = np.frombuffer(joined, np.uint32)
    for n, weight in CJK_WEIGHTS.items():
        if len(codes) < n:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(codes, n)
        windows = windows[(windows != ord(" ")).all(axis=1)]
        hashes = np.full(len(windows), n, np.uint64)
        for column in windows.T:
            hashes = _mix(hashes, column.astype(np.uint64))
        unique, first, counts = np.unique(hashes, return_index=True, return_counts=True)
        rarity = _han_rarity()[windows[first]].mean(axis=1) ** RARITY_POWER_CJK
        signs = np.where(unique >> np.uint64(63), 1.0, -1.0)
        columns = (unique % np.uint64(len(row))).astype(np.int64)
        values = signs * weight * rarity * (1 + np.log(counts))
        row += np.bincount(columns, weights=values, minlength=len(row)).astype(np.float32)


def _add_words(row: FloatArray, text: str, rarity: Callable[[str], float]) -> None:
    """Add the words of other scripts of one text, with their n-grams, to its row."""
    stop = stop_words()
    for word, count in Counter(_LATIN_WORDS.findall(text)).items():
        if word not in stop:
            columns, values = _word_features(word, len(row))
            weight = rarity(word) ** RARITY_POWER_LATIN * (1 + math.log(count))
            np.add.at(row, columns, weight * values)


@lru_cache(maxsize=32768)
def _word_features(word: str, dimensions: int) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Columns and signed weights of a word and its n-grams."""
    stemmed = stem(word)
    edged = f" {stemmed} "
    features = [(f"={stemmed}", WORD_WEIGHT)]
    for n, weight in LATIN_WEIGHTS.items():
        features += [(edged[at : at + n], weight) for at in range(len(edged) - n + 1)]
    hashes = [crc32(feature.encode("utf-8", "replace")) for feature, _ in features]
    columns = np.array([h % dimensions for h in hashes], np.int64)
    values = np.array([w if h >> 31 else -w for h, (_, w) in zip(hashes, features, strict=True)], np.float32)
    return columns, values


@cache
def _han_rarity() -> FloatArray:
    """float32[code points]: 0 for the commonest characters to 1 for rare ones, from jieba's word frequencies."""
    import jieba

    counts = np.zeros(_CODE_POINTS, np.float64)
    with jieba.get_dict_file() as lines:
        for line in lines:
            word, frequency, *_ = line.decode("utf-8").split(" ")
            for char in word:
                counts[ord(char)] += int(frequency)
    # 12 = -ln(6e-6): characters less frequent than that are equally rare
    rarity = np.clip(-np.log(np.maximum(counts, 1) / counts.sum()) / 12, 0, 1)
    rarity = np.where(counts >= RARE_HAN_COUNT, rarity, np.minimum(rarity, UNKNOWN_HAN))
    return np.asarray(rarity, dtype=np.float32)


def _mix(state: Hashes, value: Hashes) -> Hashes:
    """One round of splitmix64 (Steele et al. 2014) over a running hash and the next character."""
    with np.errstate(over="ignore"):
        z = state * np.uint64(0x100000001B3) + value + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)), dtype=np.uint64)
