"""Whether what a model made of a question is still that question (D2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from ragcore.ports import Tokenizer
from ragcore.text.keywords import keywords
from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import language_of
from ragcore.understanding.asker import personal
from ragcore.understanding.dates import dated
from ragcore.understanding.words import alternatives

MOST_TIMES, MOST_CHARACTERS = 4, 2000  # of the length of the question, and at all
SHORT = 30  # characters that a question counts with at least: 为什么 may become a whole sentence
KEPT_SHARE = 0.5  # of the keywords of a question that its standalone form must still have
_WITH_DIGIT = re.compile(r"[A-Za-z]*\d(?:[\w.:/%-]*\w)?", re.ASCII)
_ANY_DAY = date(2000, 1, 15)  # only to learn which words are about time


def valid_form(
    text: str,
    question: str,
    history: Sequence[str],
    tokenizer: Tokenizer,
    *,
    any_language: bool = False,
    same: bool | None = None,
) -> str:
    """The text, normalised; "" if it changed the language, is too long, or shares no word with what was said.

    `history`: all that was said besides, and for `any_language` the other names of terms, too. `same`: whether the text
    must ask the same as the question, as a standalone form does and a related query need not; None: unless
    `any_language`. Then it is also "" where it no longer asks, lost a number or identifier or most of the words of the
    question, or brings a number that nobody said: it was answered and not rewritten.
    """
    form = normalise_query(text)
    if not form or len(form) > min(MOST_TIMES * max(len(question), SHORT), MOST_CHARACTERS):
        return ""
    if not any_language and "other" not in (pair := (language_of(form), language_of(question))) and pair[0] != pair[1]:
        return ""
    said = set(tokenizer.words(" ".join((question, *history))))
    if not said & set(keywords(form, tokenizer)):
        return ""
    must_be_same = not any_language if same is None else same
    return form if not must_be_same or asks_the_same(form, question, history, tokenizer) else ""


def asks_the_same(form: str, question: str, history: Sequence[str], tokenizer: Tokenizer) -> bool:
    """Whether a form asks, keeps numbers, identifiers and half of the keywords, and brings no number of its own.

    Words of time and of the asker do not count: they are meant to be replaced.
    """
    if asks(question) and not asks(form):
        return False
    when = dated(question, _ANY_DAY)
    whose = personal(question, None)
    rest = _without(question, [*when.signs, *whose.signs])
    have = numbers(form)
    if not numbers(rest) <= have:
        return False
    if not when.signs and not whose.signs and not have <= numbers(" ".join((question, *history))):
        return False
    own = {word for word in keywords(rest, tokenizer) if not any(c.isdigit() for c in word)}
    return len(own & set(tokenizer.words(form))) >= KEPT_SHARE * len(own)


def asks(text: str) -> bool:
    """Whether a text asks: a question mark, a question word, or an English sentence that begins as questions do."""
    if re.search(r"[?？]", text) or re.search(alternatives("chinese", "asks"), text):
        return True
    return bool(
        re.search(rf"(?:^|[.!;,:]\s+)(?:(?:and|but|so|please)\s+)*{alternatives('english', 'asks')}\b", text, re.I)
    )


def numbers(text: str) -> set[str]:
    """Numbers and identifiers with digits, lower case."""
    return {match.group().lower() for match in _WITH_DIGIT.finditer(text)}


def _without(text: str, words: Sequence[str]) -> str:
    for word in sorted(words, key=len, reverse=True):
        text = re.sub(re.escape(word), " ", text, flags=re.I)
    return text
