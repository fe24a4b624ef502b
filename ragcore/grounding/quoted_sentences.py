"""The quoted sentence that says what a model says, for models that are better at choosing than at writing.

A reply is shown as the sentence that it was taken from, letter by letter; where a short reply stands in it, it is set
in bold. A longer reply is shown as it was written if it is a part of a much longer sentence, letter by letter. What no
sentence says is left out: words of several sentences put together may say what none of them does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ragcore.grounding.source_texts import MARKER
from ragcore.grounding.support import lent_markers
from ragcore.ports import Tokenizer
from ragcore.text.matching import keywords
from ragcore.text.scripts import cjk_share, columns, language_of
from ragcore.text.sentences import split_sentences

SHORT_COLUMNS = 60  # up to which a reply is shown as the sentence that it was taken from
CONDENSED = 2.5  # times as long a sentence must be, for a longer reply to be shown in its place
LEAST_SHARED = 0.5  # of the words of a reply, from which a sentence says the same
OF_QUESTION = 0.1  # weight of the words of the question, between sentences that have the reply alike
LONGEST = 400  # columns of a sentence, from which a reply that is a part of it stands for it
_SIGN = re.compile(r"^\s*+(?:[-*+•·]|\d{1,3}[.)、])\s+")
_NUMBER_BEFORE, _NUMBER_BEHIND = re.compile(r"\d[.,:]\Z"), re.compile(r"[.,:]\d")  # parts of a longer number
_NO_BOLD = ("*", "`", "$", "](", "://")  # signs of bold, code, formulas and links
_STOPS = " \t\n.。!！?？,，;；"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sentence:
    text: str  # as it is quoted, with its mark
    plain: str
    words: frozenset[str]


@dataclass(slots=True)
class QuotedSentences:
    """The sentences of a quoted answer (`extract`, with marks) to a question, but for those in another language."""

    extract: str
    question: str
    tokenizer: Tokenizer
    _sentences: Sequence[_Sentence] = field(init=False)
    _question_words: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self._question_words = frozenset(keywords(self.question, self.tokenizer))
        self._sentences = [
            _Sentence(text=text, plain=plain, words=frozenset(self.tokenizer.words(plain)))
            for text in _with_marks(self.extract)
            if (plain := MARKER.sub("", text).strip()) and not plain.startswith(("**", "#", "|"))
            if not _is_foreign(self.question, plain)
        ]

    def instead_of(self, claim: str) -> str | None:
        """The sentence that is shown in the place of a claim, with its mark.

        "" where the claim itself may be shown: letter by letter a part of a longer sentence, or there is no sentence in
        the language of the question. None where no sentence says it.
        """
        reply = claim.strip(_STOPS)
        words = frozenset(keywords(reply, self.tokenizer)) or frozenset(self.tokenizer.words(reply))
        if not reply or not self._sentences:
            return ""
        best = max(self._sentences, key=lambda sentence: self._worth(words, reply, sentence))
        share = _share(words, best)
        is_part = _place_of(reply, best.plain) >= 0
        if not (is_part or share >= LEAST_SHARED):
            return None
        is_shorter = columns(best.plain) >= CONDENSED * columns(reply)
        if is_part and columns(reply) > SHORT_COLUMNS and (is_shorter or columns(best.plain) > LONGEST):
            return ""
        return _with_bold(best.text, reply)

    def _worth(self, words: frozenset[str], reply: str, sentence: _Sentence) -> float:
        """One with the whole reply comes before others with all its words."""
        worth = _share(words, sentence) + (_place_of(reply, sentence.plain) >= 0)
        return worth + OF_QUESTION * _share(self._question_words, sentence)


def _is_foreign(question: str, sentence: str) -> bool:
    """Whether who asks so cannot read the sentence; a Chinese one may be full of English words."""
    language = language_of(question)
    return cjk_share(sentence) == 0 if language == "zh" else language_of(sentence) == "zh"


def _with_marks(extract: str) -> list[str]:
    """Its sentences without list signs, each with its own marks or those of the next one in its line that has some."""
    sentences = split_sentences(extract)
    texts = [_SIGN.sub("", sentence).strip() for sentence in sentences]
    lent = ("".join(f"[{number}]" for number in numbers) for numbers in lent_markers(extract, sentences))
    return [f"{text} {marks}".rstrip() for text, marks in zip(texts, lent, strict=True)]


def _share(words: frozenset[str], sentence: _Sentence) -> float:
    """Share of the words that a sentence has."""
    return len(words & sentence.words) / len(words) if words else 0.0


def _place_of(reply: str, text: str) -> int:
    """Where a reply stands in a text in whole words and numbers, letter by letter; -1 where it does not."""
    at = text.find(reply)
    while at >= 0:
        before, after = text[:at], text[at + len(reply) :]
        is_part = _joined(before[-1:], reply[0]) or _joined(reply[-1], after[:1])
        is_part = is_part or (reply[0].isdigit() and _NUMBER_BEFORE.search(before[-2:]) is not None)
        if not (is_part or (reply[-1].isdigit() and _NUMBER_BEHIND.match(after))):
            return at
        at = text.find(reply, at + 1)
    return -1


def _joined(first: str, second: str) -> bool:
    return (first + second).isascii() and first.isalnum() and second.isalnum()


def _with_bold(sentence: str, reply: str) -> str:
    """The sentence with a short reply in bold that is a part of it, where Markdown reads the asterisks as bold."""
    at = _place_of(reply, sentence)
    if at < 0 or columns(reply) > SHORT_COLUMNS or len(reply) > len(sentence) * 2 // 3:
        return sentence
    before, after = sentence[at - 1 : at] if at else " ", sentence[at + len(reply) : at + len(reply) + 1]
    is_flanked = (not reply[0].isalnum() and before.isalnum()) or (not reply[-1].isalnum() and after.isalnum())
    if is_flanked or any(sign in sentence for sign in _NO_BOLD):
        return sentence
    return f"{sentence[:at]}**{reply}**{sentence[at + len(reply) :]}"
