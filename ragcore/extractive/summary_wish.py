"""What a wish for a summary asks for: of which document, in how many points."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragcore.extractive.answer_patterns import asked_extent
from ragcore.ports import Tokenizer
from ragcore.text.codes import codes_in, folded_code, without_codes
from ragcore.text.named_dates import date_mentions, dates_not_in
from ragcore.text.normalise import nfkc
from ragcore.text.tokenise import stop_words
from ragcore.text.word_lists import read_spaced_words
from ragcore.types import Passage

MOST_POINTS = 8
BRIEF_POINTS = 5
OPENING_CHARACTERS = 160  # of the text of a document, in which it says what it is
LACKING = 4  # words of a wish for a summary of which one may stand in no title
_NUMBERS = {"a": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "four": 4, "few": 4, "five": 5, "six": 6}
_NUMBERS |= {han: number for number, han in enumerate("一二三四五六七", 1)} | {"两": 2, "兩": 2, "几": 4, "幾": 4}
_LENGTH = re.compile(
    r"\b(?:in\s+|[1-7][-–])?(?P<en>[1-7]|one|two|three|four|five|six|a\s+couple|(?:a\s+)?few|a)"
    r"(?:\s+(?:or|to)\s+(?P<en2>[1-7]|two|three|four|five|six))?(?:\s+(?:of|short|key|main|bullet))*"
    r"\s+(?:sentence|line|bullet|point)s?\b"
    r"|(?:[一二两兩三四五六七1-7][到至~-]?)?(?P<zh>[一二两兩三四五六七几幾1-7])(?:[句点點条條]话?|句話)",
    re.IGNORECASE,
)
_BRIEF = re.compile(
    r"\b(?:brief(?:ly)?|short(?:ly)?|quick(?:ly)?|in\s+a\s+nutshell|tl;?dr)\b|简短|簡短|简单|簡單|简要|簡要",
    re.IGNORECASE,
)
_REPLY = re.compile(
    r"\s{0,3}(?:(?:re|fwd?|aw|wg|sv|tr|答复|答覆|回复|回覆|转发|轉寄)\s{0,3}[:：]\s{0,3}){1,20}", re.IGNORECASE
)


def wants_summary(question: str) -> bool:
    """Whether a question wants something summed up."""
    return asked_extent(question, names=1) == "summary"


def summary_points(question: str) -> int:
    """How many points a wish for a summary leaves room for: "in three sentences", 三五句话."""
    if match := _LENGTH.search(question):
        word = (match["zh"] or match["en2"] or match["en"]).lower().split()[-1]
        number = int(word) if word.isdecimal() else _NUMBERS[word]
        return min(number, MOST_POINTS)
    return BRIEF_POINTS if _BRIEF.search(question) else MOST_POINTS


def is_same_text(one: Passage, other: Passage) -> bool:
    """Whether two passages are of one document, or of messages with one subject, such as "Re: Offer" and "Offer"."""
    if one.document == other.document:
        return True
    is_reply = any(_REPLY.match(passage.title) for passage in (one, other))
    return is_reply and _REPLY.sub("", one.title, count=1).strip() == _REPLY.sub("", other.title, count=1).strip() != ""


def wish_words(question: str, tokenizer: Tokenizer) -> set[str]:
    """What a wish for a summary says besides the wish itself: words without numbers, lengths and empty words."""
    listed = read_spaced_words("ragcore.extractive", "summary_words.txt")
    passed = stop_words().union(listed, *(tokenizer.words(word) for word in listed if word.isascii()))
    return {word for word in tokenizer.words(_LENGTH.sub(" ", question)) if word not in passed and not word.isdigit()}


def names_document(
    question: str, passages: Sequence[Passage], tokenizer: Tokenizer, *, first: Passage | None = None
) -> bool:
    """Whether title, headings, id and first lines of a document hold what a wish for a summary says besides the wish.

    Its codes and dates may stand anywhere in the first passage. `passages`: those of the document that were found, in
    reading order; `first`: of the document, where it may not be among them.
    """
    names = "\n".join(f"{passage.title} {' '.join(passage.heading_path)} {passage.external_id}" for passage in passages)
    opening = (first or passages[0]).text
    begins, plain = f"{names}\n{opening}", nfkc(question)
    names = f"{names}\n{opening[:OPENING_CHARACTERS]}"
    mentions, codes = date_mentions(plain), codes_in(question)
    if without_codes(codes, begins) or dates_not_in([mention.date for mention in mentions], [begins]):
        return False
    for mention in reversed(mentions):
        plain = f"{plain[: mention.start]} {plain[mention.end :]}"
    question_words = wish_words(plain, tokenizer)
    name_words, lower = set(tokenizer.words(names)), names.lower()
    of_codes = {word for word in question_words if any(folded_code(word) in folded_code(code) for code in codes)}
    lacking = [word for word in question_words - of_codes if word not in name_words and word not in lower]
    is_named = bool(question_words) or any(mention.date.day for mention in mentions)
    return is_named and len(lacking) <= len(question_words) // LACKING
