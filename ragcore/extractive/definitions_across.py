"""Definitions in the other language than the question's: "What is random access?", 随机接入是终端与基站建立上行同步."""

from __future__ import annotations

import re
from collections.abc import Callable

from ragcore.extractive.answer_patterns import definition_subject
from ragcore.ports import Tokenizer
from ragcore.text.across_words import AcrossWord, across_words
from ragcore.text.glossary import glossary_of
from ragcore.text.scripts import CJK, language_of

MOST_CHARACTERS = 24  # of the term that a sentence begins with
SPARE_CHARACTERS = 1  # of a Chinese term that no word of the question means
_IN_BRACKETS = re.compile(r"[(（][^()（）]*[)）]")
_CHINESE = re.compile(
    rf"^[「“《]?([{CJK}A-Za-z0-9 -]{{2,{MOST_CHARACTERS}}}?)[」”》]?(?:[是為为](?!否|不是)|指(?![示标])|即|用[于於])"
)
_ENGLISH = re.compile(
    rf"^(?:an?\s|the\s)?([\w -]{{2,{2 * MOST_CHARACTERS}}}?)\s(?:is|are|means|refers to|describes|denotes)\s",
    re.IGNORECASE,
)


def definition_test_across(question: str, tokenizer: Tokenizer) -> Callable[[str], float]:
    """A test whether a sentence in the other language says what the subject of a definition question is.

    1 where the term before "is" means the subject, word by word by the dictionary, and nothing else; 0 for others, for
    other questions and without a dictionary.
    """
    glossary, subject = glossary_of(tokenizer), definition_subject(question)
    words = across_words(subject, tokenizer, glossary) if glossary is not None and subject else []
    if not words:
        return lambda sentence: 0.0
    if language_of(question) == "zh":
        return lambda sentence: float(_is_english_term(words, sentence, tokenizer))
    return lambda sentence: float(_is_chinese_term(words, sentence))


def either_test(first: Callable[[str], float], second: Callable[[str], float]) -> Callable[[str], float]:
    """The higher of what two tests say of a sentence."""
    return lambda sentence: first(sentence) or second(sentence)


def _is_chinese_term(words: list[AcrossWord], sentence: str) -> bool:
    match = _CHINESE.match(_IN_BRACKETS.sub("", sentence))
    if match is None:
        return False
    rest = match[1].lower()
    for word in words:
        spellings = [text for text in (word.text, *word.translations) if text in rest]
        if not spellings:
            return False
        rest = rest.replace(max(spellings, key=len), "", 1)
    return len(rest.strip()) <= SPARE_CHARACTERS


def _is_english_term(words: list[AcrossWord], sentence: str, tokenizer: Tokenizer) -> bool:
    match = _ENGLISH.match(_IN_BRACKETS.sub("", sentence))
    if match is None:
        return False
    stems, covered = set(tokenizer.words(match[1].lower())), set[str]()
    for word in words:
        options = [meaning for meaning in word.meanings if meaning <= stems]
        options += [frozenset([word.text])] if word.text in stems else []
        if not options:
            return False
        covered |= max(options, key=len)
    return covered == stems
