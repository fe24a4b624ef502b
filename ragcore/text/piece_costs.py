"""Estimated tokens of the pieces of a text, calibrated to stay at or above cl100k for running text.

Costs are tenths of a token. What a piece beyond ASCII costs is said by its only character, so that long texts are
looked up in a table, all characters at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from ragcore.text.scripts import HAN

Costs = npt.NDArray[np.int64]

_ASCII = (
    r"[A-Za-z]{1,24}|[0-9]{1,3}|(?<![ \t])[ \t]*[\r\n]|[ \t]{2,16}"
    r"|[ \t](?![^\s\d])"  # any other single space is part of the word behind it
)
_PIECE = re.compile(rf"[{HAN}]|{_ASCII}|[^ \t]")
_ASCII_PIECE = re.compile(rf"{_ASCII}|[\x00-\x08\x0a-\x1f!-\x7f]")
_HAN = re.compile(f"[{HAN}]")
_COMMON_PUNCTUATION = frozenset("，。、：；（）“”《》？！·—…")
_LONG = 100  # characters from which the table pays
_TAIL = 8  # pieces in front of a cut that are read again
_BMP = 0x10000
_RARE_HAN = (0x20000, 0x3134F)  # of HAN, those that lie beyond


@cache
def _one_token_han() -> frozenset[str]:
    text = (files("ragcore.text") / "one_token_han.txt").read_text(encoding="utf-8")
    return frozenset("".join(line for line in text.splitlines() if not line.startswith("#")))


@lru_cache(maxsize=65536)
def _cost(piece: str) -> int:
    """Tenths of a token of one piece, rather too many than too few."""
    if _HAN.fullmatch(piece):
        return 11 if piece in _one_token_han() else 24  # most others take two tokens, some three
    if piece.isascii() and piece.isalpha():
        return 10 * _word_tokens(piece)
    if piece in _COMMON_PUNCTUATION or (piece.isascii() and (piece.isspace() or piece.isdigit())):
        return 10
    return 10 * len(piece.encode("utf-8", "surrogatepass"))  # the worst case of a byte pair encoding


def _word_tokens(word: str) -> int:
    """Tokens of a Latin word: names and capitals are cut smaller than common words."""
    if word.islower():
        return 1 if len(word) <= 6 else -(-len(word) // 5)
    return max(1, -(-len(word) // (4 if word.istitle() else 2)))


def text_cost(text: str) -> int:
    """Of all pieces of a text."""
    if len(text) < _LONG:
        return _sum(_PIECE.findall(text))
    if text.isascii():
        return _sum(_ASCII_PIECE.findall(text))
    return int(_beyond_ascii(text).sum()) + _sum(_ASCII_PIECE.findall(text))


def fitting_end(text: str, most: int) -> int:
    """Where the longest run of pieces from the beginning ends that costs at most `most`; len(text): all of them do."""
    ends, costs = _long_costs(text) if len(text) >= _LONG else _short_costs(text)
    if not len(costs) or costs[-1] <= most:
        return len(text)
    fitting = int(np.searchsorted(costs, max(most, 0), side="right"))
    while fitting and _prefix_cost(text, ends, costs, fitting) > most:
        fitting -= 1  # a space that has lost the word behind it counts
    return int(ends[fitting - 1]) if fitting else 0


def _sum(pieces: Iterable[str]) -> int:
    return sum(map(_cost, pieces))


def _prefix_cost(text: str, ends: Costs, costs: Costs, fitting: int) -> int:
    """Of the text up to a cut behind so many pieces; only the last ones can have changed."""
    same = max(fitting - _TAIL, 0)
    start, before = (int(ends[same - 1]), int(costs[same - 1])) if same else (0, 0)
    return before + _sum(_PIECE.findall(text, start, int(ends[fitting - 1])))


def _short_costs(text: str) -> tuple[Costs, Costs]:
    """Ends of the pieces of a text, and what they cost up to each."""
    pieces = list(_PIECE.finditer(text))
    ends = np.fromiter((piece.end() for piece in pieces), np.int64, len(pieces))
    return ends, np.fromiter(accumulate(_cost(piece.group()) for piece in pieces), np.int64, len(pieces))


def _long_costs(text: str) -> tuple[Costs, Costs]:
    """The same, by the table."""
    at_end = np.zeros(len(text), np.int64) if text.isascii() else _beyond_ascii(text)
    pieces = [(piece.end() - 1, piece[0]) for piece in _ASCII_PIECE.finditer(text)]
    at_end[[place for place, _ in pieces]] = [_cost(piece) for _, piece in pieces]
    places = np.flatnonzero(at_end)
    return places + 1, np.cumsum(at_end[places])


def _beyond_ascii(text: str) -> Costs:
    """int64[n]: the cost of each character beyond ASCII, 0 of others."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    costs = _table()[np.minimum(codes, _BMP)].astype(np.int64)
    if codes.max() >= _BMP:
        costs[codes >= _BMP] = 40
        costs[(codes >= _RARE_HAN[0]) & (codes <= _RARE_HAN[1])] = 24
    return costs


@cache
def _table() -> npt.NDArray[np.uint8]:
    """uint8[65537]: the cost by code point; 0 for ASCII, and for the last one, which stands for all above."""
    table = np.zeros(_BMP + 1, np.uint8)
    table[128:_BMP] = [_cost.__wrapped__(chr(code)) for code in range(128, _BMP)]  # not all worth keeping
    return table
