"""Places that a question names and no document knows: "the Porto office", 滨江医院.

What is said of another office shares every other word with the question, and is no answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache

from ragcore.ports import Tokenizer
from ragcore.text.across_words import AcrossWord, across_words
from ragcore.text.glossary import glossary_of
from ragcore.text.normalise import nfkc
from ragcore.text.spelling import likeness
from ragcore.text.tokenise import stem, stop_words
from ragcore.text.word_lists import longest_first, read_sections

LEAST_LETTERS = 4  # of a name
SLIP_LETTERS = 6  # of a word that may be another one with a slip: "offcie"
LIKE_WORD = 0.8
LEAST_HAN = 2
_CJK_RUN = re.compile(r"[\u4e00-\u9fff]+")


def unknown_places(
    question: str, texts: Sequence[str], known_terms: Collection[str], tokenizer: Tokenizer
) -> list[str]:
    """The names of places in a question, as it writes them, of which neither the texts nor any passage has a word.

    `known_terms`: those of the question that some passage has (Query.weights), none if that is not known. A name that
    a text has in the other language, and a slip of a word of a text, count as known.
    """
    names = list(_names(nfkc(question), tokenizer)) if known_terms else []
    if not names:
        return []
    whole = "\n".join(texts).lower()
    words = frozenset(tokenizer.words(whole))
    return [name for name in names if not is_known_name(name, whole, words | frozenset(known_terms), tokenizer)]


def _names(question: str, tokenizer: Tokenizer) -> Iterator[str]:
    english, chinese, no_names = _lists()
    for match in english.finditer(question):
        word = match["name"].lower()
        if len(word) >= LEAST_LETTERS and word not in no_names and not {word, stem(word)} & stop_words():
            yield match["name"]
    for run in _CJK_RUN.finditer(question):
        words = tokenizer.words(run.group())
        for at, word in enumerate(words):
            noun = next((noun for noun in chinese if word.endswith(noun)), "")
            name = word.removesuffix(noun) or _before(words, at)
            is_name = len(name) >= LEAST_HAN and name not in no_names and name not in stop_words()
            if noun and is_name and f"{name}{noun}" in run.group():
                yield name


def _before(words: Sequence[str], at: int) -> str:
    """The word before another one; where single characters stand there, as many as make up an unknown name."""
    name = ""
    while at > 0 and (not name or len(name) == len(words[at - 1]) == 1) and words[at - 1] not in stop_words():
        at -= 1
        name = words[at] + name
    return name


def is_known_name(name: str, whole: str, words: frozenset[str], tokenizer: Tokenizer) -> bool:
    """Whether a text has a name, one in the other language, or one from which it is a slip.

    A name of several words in the other language needs all of them.

    `whole`: the texts in lower case; `words`: theirs, and those of the question that some passage has.
    """
    if name.lower() in whole or not words.isdisjoint((*tokenizer.terms(name), *tokenizer.words(name))):
        return True
    across = _across(name, tokenizer)
    if across and all(entry.share_in(whole, words) for entry in across):
        return True
    return len(name) >= SLIP_LETTERS and any(likeness(stem(name.lower()), word) >= LIKE_WORD for word in words)


def _across(name: str, tokenizer: Tokenizer) -> Sequence[AcrossWord]:
    glossary = glossary_of(tokenizer)
    return across_words(name, tokenizer, glossary) if glossary is not None else ()


@cache
def _lists() -> tuple[re.Pattern[str], frozenset[str], frozenset[str]]:
    """English nouns behind a name, Chinese ones, and what is no name."""
    sections = read_sections("ragcore.text", "named_places.txt")
    english = "|".join(longest_first(word for word in sections["nouns"] if word.isascii()))
    pattern = re.compile(rf"(?<![\w-])(?P<name>[A-Za-z]+) (?:{english})s?(?![\w-])", re.IGNORECASE)
    chinese = frozenset(word for word in sections["nouns"] if not word.isascii())
    return pattern, chinese, frozenset(sections["no names"])
