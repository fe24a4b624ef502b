"""Readings above or beside characters (ruby): what is kept of them."""

from __future__ import annotations

import re

_KANA_OR_HANGUL = re.compile("[\u3040-\u30ff\u31f0-\u31ff\uac00-\ud7af]")


def is_reading_kept(reading: str) -> bool:
    """Whether people search by a reading: kana and Hangul, not pinyin or zhuyin, which stand for every character."""
    return _KANA_OR_HANGUL.search(reading) is not None
