"""Whether two questions ask the same in slightly other words: the guard of the semantic answer cache.

A question becomes a sequence of what it asks: question word, names, numbers with units, dates, negations, comparisons,
prepositions, tense. Two questions are the same where these sequences are equal, in their order. Only words of closed
lists are left out or put for each other: politeness, articles, forms of "be" and "do", plural endings, and ways to ask
for the same kind of answer. Every other word counts, whether or not a model finds it similar.
"""

from __future__ import annotations

import re
from functools import cache

from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import language_of
from ragcore.text.word_lists import read_section_lines

MOST_CHARACTERS = 300  # of a question that is compared; a longer one is compared with nothing

_ENGLISH_TOKEN = re.compile(r'"[^"]*"|[^\W\d_]+|\d+(?:[.,:/-]\d+)*|[^\w\s]|_')
_CHINESE_TOKEN = re.compile(r"[a-z]+|\d+(?:[.,:/-]\d+)*|\S")
_ENDING = re.compile(r"[\s?？!！。.，,;；、~～]+$")
_SEVERAL = re.compile(r"[?？!！。；;\n]|\.\s")
_FRONTED = re.compile(r"^((?:in|for|under|within|during|on|at|with)\b[^,]{2,80}), *(\S.*)$")
_PLURAL = re.compile(r"(?:(?<=[^aeiou])ies|(?<=[sxz])es|(?<=[cs]h)es|(?<![sui])s)$")
_LEAST_PLURAL = 5  # letters; shorter words are abbreviations too often
_NO_PLURAL = frozenset({"always", "customs", "goods", "https", "means", "series", "species", "windows"})
_SAME_VERB = {"are": "is", "am": "is", "does": "do", "were": "was"}


def question_form(text: str) -> tuple[str, ...] | None:
    """What a question asks, in order; None where it cannot be compared: empty, too long, or several sentences.

    Equal forms mean the same question. The reverse does not hold: most paraphrases have different forms.
    """
    plain = _ENDING.sub("", normalise_query(text))
    if not plain or len(plain) > MOST_CHARACTERS or _SEVERAL.search(plain):
        return None
    form = _chinese(plain.casefold()) if language_of(text) == "zh" else _english(plain)
    return form if len(form) > 1 else None


def is_same_question(text: str, other: str) -> bool:
    """Whether both questions ask the same, as far as rules can tell; in doubt they do not."""
    form = question_form(text)
    return form is not None and form == question_form(other)


# ── English ───────────────────────────────────────────────────────────────────────────────────────


def _english(text: str) -> tuple[str, ...]:
    names = {word.casefold() for word in re.findall(r"\w+", text) if word != word.lower()}
    text = text.casefold().replace("’", "'")
    for pattern, replacement in _rules("english"):
        text = pattern.sub(replacement, text).strip()
    if fronted := _FRONTED.match(text):
        text = f"{fronted[2]} {fronted[1]}"
    silent = _silent_words("english")
    return tuple(_english_form(token, names) for token in _ENGLISH_TOKEN.findall(text) if token not in silent)


def _english_form(token: str, names: set[str]) -> str:
    """A verb or noun without its ending; what was written with a capital letter may be a name and stays as it is."""
    if len(token) >= _LEAST_PLURAL and token.isalpha() and token not in names and token not in _NO_PLURAL:
        return _PLURAL.sub(lambda match: "y" if match.group() == "ies" else "", token)
    return _SAME_VERB.get(token, token)


# ── Chinese ───────────────────────────────────────────────────────────────────────────────────────


def _chinese(text: str) -> tuple[str, ...]:
    for pattern, replacement in _rules("chinese"):
        text = pattern.sub(replacement, text).strip()
    silent = _silent_words("chinese")
    return tuple(token for token in _CHINESE_TOKEN.findall(text) if token not in silent)


# ── the lists ─────────────────────────────────────────────────────────────────────────────────────


@cache
def _rules(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Patterns with what stands in their place, in the order of the file."""
    lines = _lines(f"{language} rules")
    pairs = (line.partition(" =>") for line in lines)
    return tuple((re.compile(pattern), replacement[1:].replace("_", " ")) for pattern, _arrow, replacement in pairs)


@cache
def _silent_words(language: str) -> frozenset[str]:
    return frozenset(word for line in _lines(f"{language} words") for word in line.split())


def _lines(section: str) -> tuple[str, ...]:
    return read_section_lines("ragcore.understanding", "same_question.txt")[section]
