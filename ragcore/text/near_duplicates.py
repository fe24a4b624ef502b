"""Which of a few passages only repeat another one, in milliseconds (V16).

Similarity is the Jaccard index of runs of five letters or digits, read off bit sets: a run sets one of 65 536 bits, so
that texts of some thousand characters hardly collide. Passages that are alike and yet say something else, because a
number, a unit, a comparison, a name or a "not" differs, are no copies: their `facts` are compared, in order.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from ragcore.text.normalise import nfkc
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


def size(one: Print) -> int:
    """How many runs it holds."""
    return int(np.bitwise_count(one).sum(dtype=np.int64))


def similarities(one: Print, others: npt.NDArray[np.uint64], sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """float64[n] of uint64[1024], uint64[n, 1024] and the sizes of the latter: Jaccard indices, 0 to 1.

    Texts without letters are like none.
    """
    shared = np.bitwise_count(others & one).sum(axis=1, dtype=np.int64)
    return np.asarray(shared / np.maximum(size(one) + sizes - shared, 1), np.float64)


def stands_in(text: str, other: str) -> bool:
    """Whether the other text holds this one word for word, from the beginning of a sentence on."""
    if not LONG <= len(text) <= len(other):
        return False
    place = other.find(text)
    return place == 0 or (place > 0 and other[:place].rstrip()[-1:] in _ENDS)


def same_facts(one: str, other: str) -> bool:
    """Whether two texts have the same facts in the same order; what they begin and end with alike is not read."""
    shorter = min(len(one), len(other))
    start = bisect_left(range(1, shorter + 1), 1, key=lambda size: one[:size] != other[:size])
    end = bisect_left(range(1, shorter - start + 1), 1, key=lambda size: one[-size:] != other[-size:])
    first, last = max(start - CONTEXT, 0), max(end - CONTEXT, 0)
    return facts(one[first : len(one) - last]) == facts(other[first : len(other) - last])


def facts(text: str) -> str:
    """What must not differ: numbers with sign and unit, comparisons, names, words such as "not" and "two"; in order."""
    found = ("".join(fact.split()) for fact in _FACT.findall(nfkc(text).replace("’", "'")))
    return "\0".join(["", *filter(_is_fact, found), ""])


def _is_fact(found: str) -> bool:
    """Numbers and signs are; of words names, which have capitals, and those that turn a sentence round."""
    if not found.isalpha() or not found.isascii():
        return True
    word = found.lower()
    return word in _words() or (word != found and word not in stop_words())


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
