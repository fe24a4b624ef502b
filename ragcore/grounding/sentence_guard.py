"""Lets through, sentence by sentence, what a model writes without marks: what sources say, with their numbers.

A sentence is judged when the next one begins, so a reader is late by one sentence and never sees one that no source
says. What is left out is counted by its reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from ragcore.grounding.attribution import Attribution
from ragcore.grounding.source_texts import MARKER
from ragcore.text.normalise import squeeze
from ragcore.text.scripts import is_other_language
from ragcore.text.sentences import split_sentences
from ragcore.text.word_lists import Cues, read_cues

Reason = Literal["unsupported", "facts", "denial", "refusal", "repeated", "empty", "language"]
MOST_REPEATS = 2  # of sentences that were there already, after which a model goes round in a circle
MIN_LETTERS = 4
LONGEST_SENTENCE = 2_000  # characters; a model that puts no full stop for so long writes no answer
_LIST_SIGN = re.compile(r"(?:[-*+•·]|\d{1,3}[.)、])\s")
_MARKS = re.compile(r"(?:(?<!\s)\s++)?(?:\[\d{1,3}\]|［\^?\d{1,3}］|【\d{1,3}】)")


@cache
def _cues() -> dict[str, Cues]:
    return dict(read_cues("ragcore.grounding", "refusal_cues.txt"))


def says_no_answer(sentence: str) -> bool:
    """Whether a sentence says of the sources that they do not answer."""
    plain = sentence.lower()
    cues = _cues()
    return bool(cues["says so"].pattern.search(plain)) and (
        bool(cues["of sources"].pattern.search(plain)) or len(plain) <= 60
    )


def may_become_refusal(beginning: str) -> bool:
    """Whether a text that begins so can still turn out to be a refusal, or marks alone."""
    plain = beginning.lstrip().lower()
    if not plain or plain[0] in "[【［":
        return True
    return any(entry.startswith(plain) or plain.startswith(entry) for entry in _cues()["begins"].entries)


@dataclass(slots=True)
class SentenceGuard:
    """Feed the text as it comes, get what may be shown.

    `attribute`: of `Attributor`. `instead`: a quoted sentence with its mark that is shown in the place of one of the
    model's, whatever that is; "" for none, None where the model's is left out. `counts`: sentences left out, by
    reason. `is_looping`: the model repeats itself and need not be read any more.
    """

    attribute: Callable[[str], Attribution]
    question: str = ""  # whose language the text must have
    instead: Callable[[str], str | None] | None = None
    counts: Counter[Reason] = field(default_factory=Counter)
    accepted: int = 0
    is_looping: bool = False
    _pending: str = ""
    _seen: set[str] = field(default_factory=set)
    _quotations: set[str] = field(default_factory=set)
    _repeats: int = 0

    def feed(self, text: str) -> str:
        """What is certain after this piece, with marks."""
        self._pending += text
        sentences = split_sentences(self._pending)
        if len(sentences) < 2 and len(self._pending) < LONGEST_SENTENCE:
            return ""
        self._pending = sentences.pop() if len(sentences) > 1 else ""
        return "".join(map(self._judged, sentences))

    def flush(self) -> str:
        """The rest at the end of the text."""
        pending, self._pending = self._pending, ""
        return "".join(map(self._judged, split_sentences(pending)))

    def _judged(self, sentence: str) -> str:
        """The sentence as it is shown; "" where it is left out."""
        if self.is_looping:
            return ""
        sign = _LIST_SIGN.match(sentence.lstrip())
        claim = MARKER.sub("", _MARKS.sub("", sentence.lstrip()[sign.end() if sign else 0 :])).strip()
        if not claim or claim.startswith("#") or claim.endswith((":", "：")):
            self.counts["empty"] += bool(claim)
            return ""
        key = squeeze(claim)
        if key in self._seen:
            self._repeats += sum(char.isalnum() for char in claim) >= MIN_LETTERS
            self.counts["repeated"] += 1
            self.is_looping = self._repeats >= MOST_REPEATS
            return ""
        self._seen.add(key)
        if says_no_answer(claim):
            self.counts["refusal"] += 1
            return ""
        quoted = self.instead(claim) if self.instead is not None else ""
        if quoted is None:
            self.counts["unsupported"] += 1
            return ""
        if quoted:
            return self._quoted(quoted, is_point=sign is not None)
        reason, attribution = self._judge(claim)
        if reason is not None:
            self.counts[reason] += 1
            return ""
        marks = "".join(f"[{number}]" for number in attribution.numbers)
        return self._shown(f"{_MARKS.sub('', sentence).strip()} {marks}", is_point=sign is not None)

    def _judge(self, claim: str) -> tuple[Reason | None, Attribution]:
        """Why a sentence is left out, or None, and the sources that say it."""
        if sum(char.isalnum() for char in claim) < MIN_LETTERS:
            return "empty", Attribution()
        if is_other_language(self.question, claim):
            return "language", Attribution()
        attribution = self.attribute(claim)
        if attribution.is_safe:
            return None, attribution
        return "facts" if attribution.missing else "denial" if attribution.is_denial else "unsupported", attribution

    def _quoted(self, quoted: str, *, is_point: bool) -> str:
        """A quoted sentence, once."""
        key = squeeze(quoted)
        if key in self._quotations:
            self.counts["repeated"] += 1
            return ""
        self._quotations.add(key)
        return self._shown(f"- {quoted}" if is_point else quoted, is_point=is_point)

    def _shown(self, text: str, *, is_point: bool) -> str:
        """A sentence with its marks, and a space or line before it."""
        self.accepted += 1
        before = "" if self.accepted == 1 else "\n" if is_point else " "
        return f"{before}{text}"
