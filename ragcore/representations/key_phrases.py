"""Phrases that a text keeps coming back to, as it writes them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ragcore.ports import Tokenizer
from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stop_words

MAX_WORDS = 4
MAX_PHRASES = 8

_RUN = re.compile(rf"[A-Za-z0-9][\w/-]*(?: [A-Za-z0-9][\w/-]*)*|[{CJK}]+")
_IDENTIFIER = re.compile(r"[A-Z][\w/-]*[A-Z0-9][\w/-]*")  # SCS, LTE-A, N2

Word = tuple[str, str]  # key and surface


def key_phrases(text: str, tokenizer: Tokenizer) -> list[str]:
    """Two to four words in a row, or an identifier, that occur more than once; the weightiest first.

    A phrase that only occurs inside a longer one is left out.
    """
    counted: Counter[tuple[str, ...]] = Counter()
    written: dict[tuple[str, ...], str] = {}
    for run in _RUN.findall(text):
        for words in _content_runs(run, tokenizer):
            for gram in _grams(words):
                key = tuple(word for word, _ in gram)
                counted[key] += 1
                written.setdefault(key, (" " if run.isascii() else "").join(surface for _, surface in gram))
    repeated = {key: times for key, times in counted.items() if times > 1}
    inner = {part for key, times in repeated.items() for part in _parts(key) if repeated.get(part) == times}
    ranked = sorted((key for key in repeated if key not in inner), key=lambda key: -repeated[key] * len(key))
    return [written[key] for key in ranked[:MAX_PHRASES]]


def _content_runs(run: str, tokenizer: Tokenizer) -> Iterator[list[Word]]:
    """Stretches of words that are neither stop words nor single characters."""
    stop = stop_words()
    words: list[Word] = []
    for surface in run.split(" ") if run.isascii() else tokenizer.words(run):
        key = next(iter(tokenizer.words(surface)), "") if run.isascii() else surface
        if len(surface) > 1 and key not in stop and not surface.isdigit():
            words.append((key, surface))
            continue
        yield words
        words = []
    yield words


def _grams(words: Sequence[Word]) -> Iterator[Sequence[Word]]:
    for start, (_, surface) in enumerate(words):
        if _IDENTIFIER.fullmatch(surface):
            yield words[start : start + 1]
        for end in range(start + 2, min(start + MAX_WORDS, len(words)) + 1):
            yield words[start:end]


def _parts(phrase: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """All shorter phrases inside one."""
    for size in range(1, len(phrase)):
        yield from (phrase[at : at + size] for at in range(len(phrase) - size + 1))
