"""How complex the wording of a question is (U2)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragcore.ports import Tokenizer
from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stop_words
from ragcore.understanding.analysis_words import cues

_WORD = re.compile(rf"(?P<cjk>[{CJK}]+)|[^\W_{CJK}]+(?:[-_./'’][^\W_{CJK}]+)*")
_VERB_ENDING = re.compile(r"[a-z]{3,}(?:ed|ing|ise[sd]?|ize[sd]?|ifies|ify)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Complexity:
    """What the figure is made of."""

    word_length: float  # characters of a word, on average; 0 without words
    relations: int
    question_words: int

    @property
    def value(self) -> float:
        """0.3 * min(length / 7, 1) + 0.4 * min(relations / 10, 1) + 0.3 * min(question words / 3, 1), in [0, 1]."""
        return (
            0.3 * min(self.word_length / 7, 1)
            + 0.4 * min(self.relations / 10, 1)
            + 0.3 * min(self.question_words / 3, 1)
        )


def complexity_of(text: str, tokenizer: Tokenizer) -> Complexity:
    """The figures of a question. Words are as written; those of Chinese runs are the tokenizer's."""
    written = words_written(text, tokenizer)
    return Complexity(
        word_length=sum(map(len, written)) / len(written) if written else 0.0,
        relations=relations(written),
        question_words=len(cues("question_words").found(text)),
    )


def words_written(text: str, tokenizer: Tokenizer) -> list[str]:
    """Lower-case words in order, not stemmed."""
    words: list[str] = []
    for match in _WORD.finditer(normalise_query(text)):
        words.extend(tokenizer.words(match.group()) if match["cjk"] else [match.group().lower()])
    return words


def relations(words: list[str]) -> int:
    """Number of relations between words, without a parser.

    A predicate stands for its subject, the first content word behind it for its object, a preposition or a particle for
    what it joins, and each further content word in a row for a compound.
    """
    count, run, was_verb, wants_object = 0, 0, False, False
    for word in words:
        kind = _class(word)
        if kind == "verb":
            count += not was_verb
            wants_object = True
        elif kind == "joining":
            count += 1
            wants_object = False
        elif kind == "content":
            count += run > 0 or wants_object
            wants_object = False
        run = run + 1 if kind == "content" else 0
        was_verb = kind == "verb"
    return count


def _class(word: str) -> str:
    if word in cues("prepositions") or word in cues("particles"):
        return "joining"
    if word in cues("verbs"):
        return "verb"
    if word in stop_words() or word in cues("question_words"):
        return "function"
    return "verb" if _VERB_ENDING.fullmatch(word) else "content"
