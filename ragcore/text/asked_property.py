"""The property whose value a question asks for, and whether a text speaks of it: the warranty of the rack.

A text about the rack that says nothing of a warranty does not answer, whatever it says of the rack.
"""

from __future__ import annotations

import re

from ragcore.glossary_port import Glossary
from ragcore.ports import Tokenizer
from ragcore.text.glossary import glossary_of
from ragcore.text.normalise import nfkc
from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stem

NAMED = 0.5  # share of a meaning from which a word of the other language names the property
_ENGLISH = re.compile(r"\bwhat (?:is|are|was|were) the ((?:[\w-]+ ){1,4}?)(?:of|for) ", re.IGNORECASE)
_CHINESE = re.compile(rf"([{CJK}]{{2}})(?:一[天月年次晚]|每[天月年次晚])(?:是|有)?多少")
# says how a value is given, not of what
_GENERIC = re.compile(
    r"name|number|value|purpose|reason|cause|difference|role|meaning|time|date|period|way|size|amount|level|rate|kind|type"
    r"|list|status|limit|most|best|worst|main|total|last|final|next|step|maximum|minimum|max|min|rules?|terms?|steps?|details?"
    r"|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth"
    r"|最多|最少|一共|总共|可以|需要|能报|大概|员工|我们",
    re.IGNORECASE,
)


def asked_property(question: str) -> str:
    """In lower case; "" where a question asks for no value, or only in words that every value has ("the period")."""
    plain = nfkc(question)
    if match := _ENGLISH.search(plain):
        words = [word for word in match[1].lower().split() if len(word) > 3 and not _GENERIC.fullmatch(word)]
        return words[-1] if words else ""
    match = _CHINESE.search(plain)
    return match[1] if match and not _GENERIC.fullmatch(match[1]) else ""


def speaks_of(text: str, word: str, tokenizer: Tokenizer) -> bool:
    """Whether a text has a word, one that means the same, or one of the other language that does.

    By the dictionary of the tokenizer; True without one.
    """
    glossary = glossary_of(tokenizer)
    lower, stems = text.lower(), frozenset(tokenizer.words(text))
    if glossary is None or word in lower or stem(word) in stems:
        return True
    if word.isascii():
        chinese = [translation for translation, share in glossary.translations(word).items() if share >= NAMED]
        return any(translation in lower for translation in chinese if len(translation) > 1) or _means_alike(
            chinese, stems, glossary
        )
    if not glossary.meanings(word):
        return True  # not known: nothing can be said
    english = [meaning for meaning in glossary.meanings(word) if meaning <= stems]
    alike = (
        synonym
        for meaning in glossary.meanings(word)
        if len(meaning) == 1
        for synonym in _chinese_of(meaning, glossary)
    )
    return bool(english) or any(synonym in text for synonym in alike)


def _means_alike(chinese: list[str], stems: frozenset[str], glossary: Glossary) -> bool:
    """Whether a text has another English word for one of these: "cost" for "price"."""
    return any(
        meaning <= stems for translation in chinese for meaning in glossary.meanings(translation) if len(meaning) == 1
    )


def _chinese_of(meaning: frozenset[str], glossary: Glossary) -> list[str]:
    (sense,) = meaning
    return [word for word, share in glossary.translations(sense).items() if share == 1.0 and len(word) > 1]
