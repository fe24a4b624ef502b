"""How much of a question a text in the other language says, word by word, by a dictionary."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ragcore.glossary_port import Glossary
from ragcore.ports import FloatArray, Tokenizer
from ragcore.text.glossary import glossary_of
from ragcore.text.scripts import CJK, language_of
from ragcore.text.tokenise import stop_words

LONGEST = 6  # characters of a Chinese word that is looked up within a longer one
SINGLE = 0.5  # what one character that means a word is worth: it stands in many words
LEAST_SHARE = 0.5  # of a meaning's words that a text must have
NEUTRAL = 0.5  # where no word of the question is known
_CJK_RUN = re.compile(rf"[{CJK}]+")
_WORD = re.compile(r"[A-Za-z][A-Za-z']*")
_NAME = re.compile(r"[A-Za-z0-9]+")
_DATE_PART = re.compile(r"\d{1,2}|(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class AcrossWord:
    """A word of a question with what says it in the other language."""

    text: str
    translations: Mapping[str, float] = field(default_factory=dict)  # Chinese words, of an English one
    meanings: Sequence[frozenset[str]] = ()  # stems, of a Chinese one

    @property
    def weight(self) -> float:
        """How much the word says, beside others: long Chinese words, and English ones with few translations, more."""
        if self.meanings:
            return float(len(self.text))
        return 1 / (1 + math.log10(max(len(self.translations), 1)))

    def share_in(self, text: str, stems: frozenset[str]) -> float:
        """How surely a text says it, 0 to 1. `text`: lower case; `stems`: of its words."""
        shares_of_meanings = [len(meaning & stems) / len(meaning) for meaning in self.meanings]
        shares_of_translations = [
            share * (1.0 if len(word) > 1 else SINGLE) for word, share in self.translations.items() if word in text
        ]
        best = max(
            [*shares_of_translations, *(share for share in shares_of_meanings if share >= LEAST_SHARE)], default=0.0
        )
        return 1.0 if self.text in stems else best


def across_words(question: str, tokenizer: Tokenizer, glossary: Glossary) -> list[AcrossWord]:
    """The words of a question that the dictionary knows, and names in Latin letters and numbers; no stop words."""
    if language_of(question) == "zh":
        return [*_chinese(question, tokenizer, glossary), *_names(question, tokenizer)]
    words = dict.fromkeys(word.lower() for word in _WORD.findall(question))
    across = [AcrossWord(word, translations=glossary.translations(word)) for word in words if word not in stop_words()]
    return [entry for entry in across if entry.translations] + _codes(question)


def covered_across(question: str, texts: Sequence[str], tokenizer: Tokenizer) -> FloatArray:
    """float32[n]: the share of the question's words, by weight, that each text in the other language says, 0 to 1.

    NEUTRAL where no word of the question is known, or no dictionary is there.
    """
    glossary = glossary_of(tokenizer)
    words = across_words(question, tokenizer, glossary) if glossary is not None else []
    if not words:
        return np.full(len(texts), NEUTRAL, np.float32)
    rows = []
    for text in texts:
        stems = frozenset(tokenizer.words(text))
        rows.append([word.share_in(text.lower(), stems) for word in words])
    weights = np.array([word.weight for word in words])
    return np.asarray(np.array(rows).reshape(len(texts), len(words)) @ weights / weights.sum(), np.float32)


def _chinese(question: str, tokenizer: Tokenizer, glossary: Glossary) -> list[AcrossWord]:
    across: dict[str, AcrossWord] = {}
    for word in tokenizer.words(question):
        if _CJK_RUN.fullmatch(word) and word not in stop_words():
            across |= {part: AcrossWord(part, meanings=meanings) for part, meanings in _parts(word, glossary).items()}
    return list(across.values())


def _parts(word: str, glossary: Glossary) -> dict[str, Sequence[frozenset[str]]]:
    """The word with its meanings, or the longest words in it that have any."""
    parts: dict[str, Sequence[frozenset[str]]] = {}
    at = 0
    while at < len(word):
        for size in range(min(LONGEST, len(word) - at), 0, -1):
            part = word[at : at + size]
            if meanings := glossary.meanings(part):
                if part not in stop_words():
                    parts[part] = meanings
                break
        at += size
    return parts


def _names(question: str, tokenizer: Tokenizer) -> list[AcrossWord]:
    names = (name for name in _NAME.findall(question) if not _DATE_PART.fullmatch(name))
    words = dict.fromkeys(word for name in names for word in tokenizer.words(name))
    return [AcrossWord(word) for word in words if word not in stop_words()]


def _codes(question: str) -> list[AcrossWord]:
    """Of an English question: what has a digit or a capital within it, which nobody translates."""
    names = (word for word in _NAME.findall(question) if not _DATE_PART.fullmatch(word))
    return [AcrossWord(name.lower()) for name in dict.fromkeys(filter(is_untranslated, names))]


def is_untranslated(word: str) -> bool:
    """Whether an English word is a name or code that nobody translates: AMF, TeleQuAD, N2."""
    return any(c.isupper() or c.isdigit() for c in word[1:])
