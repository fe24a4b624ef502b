"""Marks figures and identifiers that no source of their sentence holds, while a model's text streams."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ragcore.extractive.formatting import Wording
from ragcore.grounding.facts import figures, plain_figure
from ragcore.grounding.source_texts import MARKER, SourceTexts, missing_facts
from ragcore.ports import Tokenizer
from ragcore.text.normalise import nfkc
from ragcore.text.sentences import split_sentences
from ragcore.types import Source

LONGEST_SENTENCE = 2_000  # characters; what goes on for longer is no sentence, and is not looked at
_NUMBERS = re.compile(r"\[(\d{1,3})\]")
_NUMBERING = re.compile(
    r"^\s*+(?:[-*+•·]\s|\d{1,3}[.)、]\s|[(（]\d{1,3}[)）]|\d{1,3}(?:\.\d{1,3}){1,4}\s)"
    r"|\b(?:step|phase|option|case|example|note)\s*\d+|(?:步骤|步驟|阶段|階段|方案|选项|選項|例|第)\s*\d+",
    re.IGNORECASE,
)
_ENDS = frozenset(".!?。！？\n")
_CLOSING = frozenset(" \t\n[]0123456789.!?。！？…\"'”’)）*_")  # of which the end of a sentence may consist
_BLOCKS = ("```", "~~~", "$$")  # that stand around code and formulas
_NO_PROSE = ("|", "`", "$", "\\(", "\\[", "](", "://")  # in a sentence that is left alone
_NO_PROSE_BEFORE = ("    ", "#", ">")  # in front of it


@dataclass(slots=True)
class FigureMarks:
    """Feed the text as it comes, get the same with a note in each sentence that has such a figure, before its end.

    The end of a sentence is held back until the next one begins. Compared are the sources that a sentence cites, or all
    where it cites none, and the question. Headings, introductions of lists, and lines with code, formulas, links or
    tables are left alone; so are the numbers of steps. `count`: notes so far. Wants normalised marks (`MarkerStream`).
    """

    sources: Sequence[Source]
    tokenizer: Tokenizer
    question: str
    words: Wording
    count: int = 0
    _texts: SourceTexts = field(init=False)
    _open: str = ""  # the sentence under way
    _emitted: int = 0  # characters of it that are out
    _may_end: bool = False
    _block: str = ""  # sign of the block of code or formulas that is open

    def __post_init__(self) -> None:
        self._texts = SourceTexts(self.sources, self.tokenizer)

    def feed(self, text: str) -> str:
        """What may be output after this piece."""
        self._open += text
        self._may_end = self._may_end or not _ENDS.isdisjoint(text) or len(self._open) > LONGEST_SENTENCE
        output = ""
        if self._may_end:
            *sentences, last = split_sentences(self._open) or [""]
            if sentences and not _closing_from(last) and len(self._open) <= LONGEST_SENTENCE:
                last = sentences.pop() + last  # a mark of it may follow
            output = "".join(map(self._closed, sentences))
            if len(last) > LONGEST_SENTENCE:
                output, last = output + self._rest(last), ""
            self._open, self._may_end = last, not _ENDS.isdisjoint(last)
        certain = max(self._emitted, _closing_from(self._open))
        output += self._open[self._emitted : certain]
        self._emitted = certain
        return output

    def flush(self, *, is_whole: bool = True) -> str:
        """The rest at the end of the text; without notes where it breaks off, perhaps in the middle of a number."""
        rest, self._open = self._open, ""
        return "".join(map(self._closed, split_sentences(rest))) if is_whole else self._rest(rest)

    def _rest(self, sentence: str) -> str:
        """What of a sentence is not out yet."""
        start, self._emitted = self._emitted, 0
        return sentence[start:]

    def _closed(self, sentence: str) -> str:
        """The rest of a whole sentence, with its note."""
        start, rest = self._emitted, self._rest(sentence)
        note = self._note(sentence)
        if not note:
            return rest
        self.count += 1
        at = max(start, _end_from(sentence)) - start
        return f"{rest[:at]}{note}{rest[at:]}"

    def _note(self, sentence: str) -> str:
        plain = sentence.strip()
        if self._is_in_block(plain) or not _is_prose(sentence):
            return ""
        cited = [int(number) for number in _NUMBERS.findall(sentence)]
        missing = self._missing(_NUMBERING.sub(" ", MARKER.sub("", sentence)), cited)
        if not missing:
            return ""
        is_cited = any(source.number in cited for source in self.sources)
        return (self.words.not_cited if is_cited else self.words.not_in_sources).format(facts=", ".join(missing))

    def _is_in_block(self, plain: str) -> bool:
        """Whether a line belongs to a block of code or formulas, as its first or last line, too."""
        if self._block:
            if plain.endswith(self._block):
                self._block = ""
            return True
        opening = next((sign for sign in _BLOCKS if plain.startswith(sign)), "")
        if opening and not (plain.endswith(opening) and len(plain) > len(opening)):
            self._block = opening
        return bool(opening)

    def _missing(self, claim: str, cited: Sequence[int]) -> list[str]:
        """Figures and identifiers that neither one of these sources nor the question has, as written."""
        if not self.sources or not any(char.isdigit() for char in claim):
            return []
        by_source = [missing_facts(claim, text) for text in self._texts.of(cited)]
        in_question = {plain_figure(figure) for figure in figures(self.question)}
        question = nfkc(self.question).lower()
        return [
            fact
            for fact in by_source[0]
            if all(fact in missing for missing in by_source[1:])
            and plain_figure(fact) not in in_question
            and fact.lower() not in question
        ]


def _is_prose(sentence: str) -> bool:
    """Whether a sentence states something in plain words."""
    if any(sign in sentence for sign in _NO_PROSE) or sentence.startswith(_NO_PROSE_BEFORE):
        return False
    return not MARKER.sub("", sentence).rstrip(" \n*_").endswith((":", "："))


def _closing_from(text: str) -> int:
    """Where the run of characters at the end begins that may close a sentence."""
    at = len(text)
    while at and text[at - 1] in _CLOSING:
        at -= 1
    return at


def _end_from(sentence: str) -> int:
    """Where the full stop, closing signs and citations at the end of a sentence begin."""
    at = len(sentence)
    while at:
        ends = " \t\n.!?。！？…\"'”’*_"
        stripped = sentence[:at].rstrip(ends if "(" in sentence[:at] or "（" in sentence[:at] else f"{ends})）")
        if stripped.endswith("]") and (mark := stripped.rfind("[")) >= 0 and MARKER.fullmatch(stripped[mark:]):
            at = mark
        elif len(stripped) == at:
            return at
        else:
            at = len(stripped)
    return at
