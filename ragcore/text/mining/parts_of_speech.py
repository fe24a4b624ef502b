"""Whether a phrase is built like a term, by parts of speech.

After Justeson & Katz, Technical terminology: some linguistic properties and an algorithm for identification in text,
1995: adjectives and nouns before a noun. A Chinese term may also hold verbs, and end with one (随机接入, 载波聚合).
Chinese words have the part of speech that jieba's dictionary gives them; the text around them is not looked at. For
English there is no such dictionary here, so only endings and closed classes of words count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from ragcore.text.chinese_dictionary import tagged_words
from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stop_words

_CHINESE = re.compile(f"[{CJK}]")
_NOUNS = ("n", "vn", "an", "j", "g", "l", "i", "s", "x")  # beginnings of tags; words that are not listed count as nouns
_BINDING = ("p", "c", "u", "y", "e", "o", "r", "z", "k", "h")  # prepositions, particles, pronouns, …
# adverbs, times, measures, numbers: of several characters they may begin a term (随机接入)
_LOOSE = ("d", "t", "q", "m")
DOUBTFUL = 0.5
_PARTICIPLE = re.compile(r"[a-z]+[^e]ed\Z")  # no speed, no feed
_GERUND = re.compile(r"[a-z]{3,}ing\Z")
# what goes with a verb, and does not end a noun: left out, looked up
_PARTICLES = frozenset(
    ("out", "up", "over", "through", "again", "away", "alone", "instead", "back", "off", "down", "together", "ahead")
)
_NUMBERS = frozenset(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "hundred"))
_JOINING = frozenset(("of",))  # between two nouns of a name: quality of service
_ADVERB = re.compile(r"[a-z]{3,}ly\Z")
_DETERMINERS = frozenset(
    ("another", "any", "both", "certain", "different", "each", "either", "every", "few", "following", "given", "many")
    + ("most", "much", "other", "own", "previous", "same", "several", "some", "such", "various", "whole")
)


def nominal(words: Sequence[str], tags: Mapping[str, str]) -> float:
    """How much a phrase is built like a term: 1 like one, 0 not at all, DOUBTFUL where a verb is its last word or an
    adverb its first one.

    `words` as they are written; `tags`: parts of speech of the Chinese ones, as `tags_of` finds them.
    """
    kinds = [_kind(word, tags) for word in words]
    if "form" in (kinds[0], kinds[-1]) or kinds[-1] == "quality":
        return 0.0
    return 1.0 if kinds[-1] == "noun" and kinds[0] != "loose" else DOUBTFUL


def is_compound(words: Sequence[str], tags: Mapping[str, str], *, verbs: Collection[str], is_named: bool) -> bool:
    """Whether a phrase is a noun with nouns and adjectives before it, and no verb in it.

    `verbs`: English words that these texts use as verbs; `is_named`: whether an article or its like stands before the
    phrase somewhere: the operating system, the access network, but (by) sending packets, (to) access files.
    """
    kinds = [_kind(word, tags) for word in words]
    first, last = words[0].lower(), words[-1].lower()
    if kinds[-1] != "noun" or last in _PARTICLES or first in _NUMBERS or _PARTICIPLE.match(last):
        return False
    if any(kind in ("verb", "loose") for kind in kinds):
        return False
    inner = words[1:-1]
    if "form" in (kinds[0], kinds[-1]) or any(
        kind == "form" and word.lower() not in _JOINING for word, kind in zip(inner, kinds[1:-1], strict=True)
    ):
        return False
    if not is_named and (_GERUND.match(first) or words[0] in verbs):
        return False
    return not any(word in verbs and (_ends_in_s(word) or _ends_in_s(before)) for before, word in pairwise(words))


def _ends_in_s(word: str) -> bool:
    """Whether an English word may be a plural, or a verb of the third person."""
    return word.endswith("s") and not word.endswith("ss")


def _kind(word: str, tags: Mapping[str, str]) -> str:
    """noun, verb, quality (adjective), loose (adverb, time, measure) or form (what binds or determines words)."""
    if not _CHINESE.match(word):
        plain = word.lower()
        return "form" if plain in _DETERMINERS or plain in stop_words() or _ADVERB.match(plain) else "noun"
    tag = tags.get(word, "n")
    if tag.startswith(_NOUNS):
        return "noun"
    if tag.startswith(_BINDING):
        return "form"
    if tag.startswith(_LOOSE):
        return "loose" if len(word) > 1 else "form"
    return "quality" if tag.startswith(("a", "b")) else "verb"


def tags_of(words: Collection[str]) -> dict[str, str]:
    """Part of speech of those of the words that jieba's dictionary has. Reads it through: some tenths of a second."""
    chinese = {word for word in words if _CHINESE.match(word)}
    if not chinese:
        return {}
    return {word: tag for word, tag in tagged_words() if word in chinese}
