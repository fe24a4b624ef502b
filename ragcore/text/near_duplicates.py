"""What says the same: a few passages in milliseconds, and whole texts by MinHash sketches and their bands.

Of passages: the Jaccard index of runs of five letters or digits, read off bit sets: a run sets one of 65 536 bits, so
that texts of some thousand characters hardly collide. Passages that are alike and yet say something else, because a
number, a unit, a comparison, a name or a "not" differs, are no copies: their `facts` are compared, in order.

Of whole texts: Broder, "On the resemblance and containment of documents" (1997). The share of equal positions in two
sketches estimates the Jaccard similarity of the shingles, with a standard error of at most 1 / (2 * sqrt(128)) = 0.044.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from ragcore.text.normalise import nfkc
from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stop_words

BITS = 1 << 16
WORDS = BITS // 64
RUN = 5  # characters
CONTEXT = 24  # characters around a difference that belong to it, such as the number before a unit
LONG = 100  # characters that do not stand in another text by chance
Print = npt.NDArray[np.uint64]  # uint64[1024], a bit set

_MULTIPLIER = np.uint32(0x9E3779B1)  # Knuth's multiplicative hashing
_ENDS = tuple(".。!！?？;；:：|#")
_HAN = "〇零一二两兩三四五六七八九十百千万萬亿億不没沒无無未非勿莫禁否别別仅僅只前后後上下"  # numbers, "not", "before"
_FACT = re.compile(
    r"[A-Za-z]+(?:'t)?(?![A-Za-z0-9])"  # a word; _is_fact says which of them count
    r"|(?:[-+−±~≈]\s?)?[A-Za-z]*\d(?:[\dA-Za-z.,:/_–-]*[\dA-Za-z])?\s?(?:[%‰°][CFK]?|[A-Za-zµμΩ]{1,3}(?![A-Za-z]))?"
    rf"|[<>≤≥=]|[{_HAN}]+"
)

SIZE = 128
BANDS = 32  # of 4 rows: texts of similarity 0.8 share a band with probability 1, of 0.5 with 0.87, of 0.2 with 0.05
LATIN_SHINGLE = 3  # words
CJK_SHINGLE = 5  # characters
EMPTY = np.uint32(0xFFFFFFFF)  # every position of the sketch of a text without letters and digits
Sketch = npt.NDArray[np.uint32]
Hashes = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]
_CJK = re.compile(f"[{CJK}]")
_PART = re.compile(r".{1,65536}\S*", re.DOTALL)  # of a long text, so that memory stays small; no word is cut
_CLASS_OTHER, _CLASS_WORD, _CLASS_CJK = range(3)
_SEED = 0x5261677369746531  # changing it, or anything below, makes stored sketches worthless
_ODD = np.uint64(0x9E3779B97F4A7C15)
_BASE = np.uint64(0xD6E8FEB86659FD93)  # odd, so that it has an inverse modulo 2 ** 64
_INVERSE = np.uint64(pow(0xD6E8FEB86659FD93, -1, 2**64))


def fingerprint(text: str) -> Print:
    """uint64[1024]; the same for the same letters and digits whatever their case, spacing and punctuation."""
    codes = _folded()[np.minimum(np.frombuffer(text.encode("utf-32-le", "replace"), np.uint32), BITS - 1)]
    codes = codes[codes > 0]
    runs = np.zeros(max(len(codes) - RUN + 1, min(len(codes), 1)), np.uint32)
    for step in range(min(RUN, len(codes))):
        runs = (runs + codes[step : step + len(runs)]) * _MULTIPLIER
        runs ^= runs >> np.uint32(15)
    bits = np.zeros(BITS, bool)
    bits[runs & np.uint32(BITS - 1)] = True
    return np.packbits(bits).view(np.uint64)


def size(text_print: Print) -> int:
    """How many runs it holds."""
    return int(np.bitwise_count(text_print).sum(dtype=np.int64))


def similarities(
    text_print: Print, prints: npt.NDArray[np.uint64], sizes: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """float64[n] of uint64[1024], uint64[n, 1024] and the sizes of the latter: Jaccard indices, 0 to 1.

    Texts without letters are like none.
    """
    shared = np.bitwise_count(prints & text_print).sum(axis=1, dtype=np.int64)
    return np.asarray(shared / np.maximum(size(text_print) + sizes - shared, 1), np.float64)


def stands_in(text: str, other: str) -> bool:
    """Whether the other text holds this one word for word, from the beginning of a sentence on."""
    if not LONG <= len(text) <= len(other):
        return False
    place = other.find(text)
    return place == 0 or (place > 0 and other[:place].rstrip()[-1:] in _ENDS)


def same_facts(text: str, other: str) -> bool:
    """Whether two texts have the same facts in the same order; what they begin and end with alike is not read."""
    shorter = min(len(text), len(other))
    start = bisect_left(range(1, shorter + 1), 1, key=lambda size: text[:size] != other[:size])
    end = bisect_left(range(1, shorter - start + 1), 1, key=lambda size: text[-size:] != other[-size:])
    first, last = max(start - CONTEXT, 0), max(end - CONTEXT, 0)
    return facts(text[first : len(text) - last]) == facts(other[first : len(other) - last])


def facts(text: str) -> str:
    """What must not differ: numbers with sign and unit, comparisons, names, words such as "not" and "two"; in order."""
    facts_read = ("".join(fact.split()) for fact in _FACT.findall(nfkc(text).replace("’", "'")))
    return "\0".join(["", *filter(_is_fact, facts_read), ""])


def _is_fact(fact: str) -> bool:
    """Numbers and signs are; of words names, which have capitals, and those that turn a sentence round."""
    if not fact.isalpha() or not fact.isascii():
        return True
    word = fact.lower()
    return word in _words() or (word != fact and word not in stop_words())


@cache
def _words() -> frozenset[str]:
    lines = (files("ragcore.text") / "fact_words.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


@cache
def _folded() -> npt.NDArray[np.uint32]:
    """uint32[65536]: by code point the letter or digit that stands for it, lower case; 0 for anything else.

    The last one stands for all code points above.
    """
    table = np.zeros(BITS, np.uint32)
    for code in range(BITS - 1):
        char = chr(code)
        if char.isalnum():
            plain = nfkc(char).lower()
            table[code] = ord(plain) if len(plain) == 1 else code
    table[BITS - 1] = BITS - 1
    return table


def sketch(text: str) -> Sketch:
    """uint32[128]; the same for the same letters and digits whatever their case, spacing and punctuation.

    Equal in every process and version: nothing in it is random.
    """
    hashes = shingles(text)
    if not len(hashes):
        return np.full(SIZE, EMPTY, np.uint32)
    lowest = [((hashes * factor + offset) >> np.uint64(32)).min() for factor, offset in _permutations()]
    return np.asarray(lowest, np.uint32)


def similarity(a: Sketch, b: Sketch) -> float:
    """Estimated Jaccard similarity of the shingles of two texts, 0 to 1."""
    return float(np.mean(a == b))


def similarities_of_sketches(text_sketch: Sketch, sketches: npt.NDArray[np.uint32]) -> npt.NDArray[np.float64]:
    """float64[n] of uint32[128] and uint32[n, 128]: the estimated similarity of one text to each of the others."""
    return np.asarray((sketches == text_sketch).mean(axis=1), np.float64)


def bands(sketch: Sketch) -> tuple[int, ...]:
    """32 signed 64-bit numbers; texts that are much alike share at least one. None for a text without letters."""
    if (sketch == EMPTY).all():
        return ()
    rows = sketch.reshape(BANDS, -1).astype(np.uint64)
    folded = np.arange(1, BANDS + 1, dtype=np.uint64) * _ODD
    for column in rows.T:
        folded = _mixed(folded ^ column)
    return tuple(int(value) for value in folded.view(np.int64))


def shingles(text: str) -> Hashes:
    """uint64[n]: hashes of all runs of three words, or of five characters where a run begins with CJK; each once."""
    parts = [_tokens(match.group()) for match in _PART.finditer(nfkc(nfkc(text).lower()))]
    if not parts:
        return np.zeros(0, np.uint64)
    tokens, is_cjk = (np.concatenate(column) for column in zip(*parts, strict=True))
    padded = np.concatenate([tokens, np.zeros(CJK_SHINGLE - 1, np.uint64)])
    runs = np.zeros(len(tokens), np.uint64)
    for step in range(CJK_SHINGLE):
        grown = _mixed(runs + padded[step : step + len(tokens)])
        runs = np.where(is_cjk | (step < LATIN_SHINGLE), grown, runs)
    return np.unique(runs)


def _tokens(text: str) -> tuple[Hashes, Flags]:
    """A hash for each word and each CJK character in order, and which of them are CJK."""
    codes = np.frombuffer(text.encode("utf-32-le", "replace"), np.uint32)
    classes = _classes(text)[codes]
    is_cjk, is_word = classes == _CLASS_CJK, classes == _CLASS_WORD
    # a word is a run of its characters; a CJK character is a word of one
    before = np.concatenate([np.zeros(1, bool), is_word[:-1]])
    behind = np.concatenate([is_word[1:], np.zeros(1, bool)])
    starts = np.flatnonzero(is_cjk | (is_word & ~before))
    ends = np.flatnonzero(is_cjk | (is_word & ~behind)) + 1
    return _word_hashes(codes, starts, ends), is_cjk[starts]


def _classes(text: str) -> npt.NDArray[np.uint8]:
    """uint8[code point]: what kind of character each one in the text is."""
    characters = set(text) | {"?"}  # for what cannot be encoded
    classes = np.zeros(ord(max(characters)) + 1, np.uint8)
    for char in characters:
        classes[ord(char)] = _CLASS_CJK if _CJK.match(char) else _CLASS_WORD if char.isalnum() else _CLASS_OTHER
    return classes


def _word_hashes(codes: npt.NDArray[np.uint32], starts: npt.NDArray[np.intp], ends: npt.NDArray[np.intp]) -> Hashes:
    """Polynomial hashes of codes[start:end], all at once: differences of one running sum, moved to a common power."""
    powers = np.cumprod(np.full(len(codes), _BASE, np.uint64), dtype=np.uint64)
    values = np.cumsum(_mixed(codes.astype(np.uint64)) * powers, dtype=np.uint64)
    sums = np.concatenate([np.zeros(1, np.uint64), values])
    inverses = np.cumprod(np.full(len(codes), _INVERSE, np.uint64), dtype=np.uint64)
    return _mixed((sums[ends] - sums[starts]) * inverses[starts])


@cache
def _permutations() -> list[tuple[np.uint64, np.uint64]]:
    """128 odd factors and offsets of multiply-shift hashes."""
    stream = _mixed(np.uint64(_SEED) + np.arange(2 * SIZE, dtype=np.uint64) * _ODD)
    return list(zip(stream[:SIZE] | np.uint64(1), stream[SIZE:], strict=True))


def _mixed(values: Hashes) -> Hashes:
    """splitmix64's finaliser (Steele, Lea, Flood 2014): close numbers become unlike ones."""
    values = values + _ODD
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
