"""Whether what is quoted answers the question: a sign of its own beside whether it stands in the source."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby

from ragcore.answerability.model import judges_across, score_answerability
from ragcore.extractive.own_language import sources_across
from ragcore.grounding.source_texts import MARKER
from ragcore.ports import Embedder, Tokenizer
from ragcore.text.sentences import lines_of
from ragcore.types import Passage, Sentence, Source

_GOES_ON = re.compile(r"\|| {0,3}\d{1,3}\. ")  # a row of a table, a point of a numbered list
DOUBTFUL_BELOW = 0.1  # nearly all foreign sentences are below, a fifth of right ones by themselves
MUCH_BETTER = 2.0  # times: beside a quotation that answers better, a doubtful one is told apart
HOPELESS_BELOW = 0.03  # of the best quotation: then all of them are doubtful

NOTHING = "So it is. 就是这样。"  # a text that answers no question
MOST_FLOOR = 0.9


def is_doubtful(relevance: float | None, best: float) -> bool:
    """Whether a quotation may not answer the question. `best`: the highest relevance in the same answer."""
    if relevance is None:
        return False
    return best < HOPELESS_BELOW or (relevance < DOUBTFUL_BELOW and relevance * MUCH_BETTER < best)


@dataclass(frozen=True, kw_only=True)
class RelevanceJudge:
    """Probabilities, 0 to 1, that texts answer a question. `idf`: see score_answerability.

    `embedder`: judges what is quoted in the other language, where words cannot; without it nothing there answers.
    """

    question: str
    tokenizer: Tokenizer
    idf: Mapping[str, float] | None = None
    embedder: Embedder | None = None
    stated: Mapping[int, float] = field(default_factory=dict)  # fact that states the answer -> how likely it is right

    def of_source(self, source: Source) -> float:
        """That this source alone answers it: what it adds to the score of a text that has nothing to do with it."""
        fact = source.passage.fact
        if fact is not None and fact in self.stated:
            return self.stated[fact]
        if judges_across(self.embedder) and sources_across(self.question, [source]):
            judged = score_answerability(
                self.question, [source], tokenizer=self.tokenizer, embedder=self.embedder, idf=self.idf
            )
            return round(judged.score, 4)
        return round(max(0.0, (self._score(source) - self._floor) / (1 - self._floor)), 4)

    @cached_property
    def _floor(self) -> float:
        """The score by the question alone: some kinds are answered more often than others, whatever was found."""
        passage = Passage(chunk=0, document=0, version=0, text=NOTHING, title="")
        return min(self._score(Source(number=1, passage=passage, text=NOTHING, score=1.0)), MOST_FLOOR)

    def _score(self, source: Source) -> float:
        return score_answerability(self.question, [source], tokenizer=self.tokenizer, idf=self.idf).score

    def of_quotations(self, text: str, sentences: Sequence[Sentence], sources: Sequence[Source]) -> list[Sentence]:
        """The sentences of `text`, in order, with their relevance.

        Neighbours in one line of the text from one source are judged together, and so are the steps of a numbered list
        and the rows of a table: a sentence that goes on with an answer is no worse than the one that begins it.
        Sentences without a citation have none.
        """
        by_number = {source.number: source for source in sources}
        judged: list[Sentence] = []
        blocks = _blocks(text)
        lines = [blocks[line] for line in lines_of(text, [sentence.text for sentence in sentences])]
        placed = zip(lines, [next(iter(sentence.citations), 0) for sentence in sentences], sentences, strict=True)
        for (_line, cited), group in groupby(placed, key=lambda item: item[:2]):
            quotations = [sentence for _line, _cited, sentence in group]
            value = self._of_text(quotations, by_number[cited]) if cited in by_number else None
            judged += [replace(sentence, relevance=value) for sentence in quotations]
        return judged

    def _of_text(self, sentences: Sequence[Sentence], source: Source) -> float:
        text = " ".join(MARKER.sub("", sentence.text) for sentence in sentences)
        return self.of_source(replace(source, text=text, passage=replace(source.passage, text=text)))


def _blocks(text: str) -> list[int]:
    """For each line of a text the line with which its numbered list or table begins; other lines stand alone."""
    firsts: list[int] = []
    before = ""
    for number, line in enumerate(text.split("\n")):
        kind = match[0][-1:] if (match := _GOES_ON.match(line)) else ""
        firsts.append(firsts[-1] if kind and kind == before else number)
        before = kind
    return firsts
