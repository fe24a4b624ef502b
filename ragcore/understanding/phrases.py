"""Whole messages by the phrases of a data file: `(a|b)` is one of several, `[a|b]` one of them or none."""

from __future__ import annotations

import re

from ragcore.text.normalise import normalise_query

_BRACKETS = {"(": "(?:", ")": ")", "[": "(?:", "]": ")?", "|": "|", "?": "?"}
_NOISE = re.compile(r"[^\w\s]+")
_SYNTAX = re.compile(r"[()\[\]|?]|\s+|[^()\[\]|?\s]+")
_TRADITIONAL = (
    "謝谢 們们 嗎吗 見见 囉啰 麼么 問问 題题 說说 話话 對对 談谈 總总 結结 討讨 論论 內内 個个 煩烦 剛刚 過过 還还 "
    "請请 給给 幫帮 歸归 納纳 顧顾 複复 復复 啟启 會会 這这 關关 於于 語语 漢汉 講讲 訴诉 幾几 數数 聽听 麗丽 後后 開开"
)
_SIMPLIFIED = str.maketrans({pair[0]: pair[1] for pair in _TRADITIONAL.split()})


def phrase_text(text: str) -> str:
    """Lower case, punctuation and pictures as single spaces, simplified where a line needs it."""
    folded = normalise_query(text).lower().replace("’", "'").translate(_SIMPLIFIED)
    return normalise_query(_NOISE.sub(" ", folded))


def phrase_pattern(line: str) -> str:
    """A line of the data file as a pattern; words of Latin script are whole words, spaces may be several or none."""
    return "".join(_piece(piece) for piece in _SYNTAX.findall(line))


def _piece(piece: str) -> str:
    if piece in _BRACKETS:
        return _BRACKETS[piece]
    if piece.isspace():
        return r"\s*"
    return rf"\b{re.escape(piece)}\b" if piece.isascii() else re.escape(piece)
