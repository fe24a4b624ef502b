"""Whether what is quoted answers the question: a sign of its own beside whether it stands in the source (B4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ragcore.answerability.model import score_answerability
from ragcore.grounding.source_texts import MARKER
from ragcore.ports import Tokenizer
from ragcore.types import Sentence, Source

DOUBTFUL_BELOW = 0.3  # of the probability: four fifths of foreign sentences are below, a third of lone right ones
MUCH_BETTER = 2.0  # times: beside a quotation that answers better, a doubtful one is told apart
HOPELESS_BELOW = 0.1  # of the best quotation: then all of them are doubtful


def is_doubtful(relevance: float | None, best: float) -> bool:
    """Whether a quotation may not answer the question. `best`: the highest relevance in the same answer."""
    if relevance is None:
        return False
    return best < HOPELESS_BELOW or (relevance < DOUBTFUL_BELOW and relevance * MUCH_BETTER < best)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevanceJudge:
    """Probabilities, 0 to 1, that texts answer a question. `idf`: see score_answerability."""

    question: str
    tokenizer: Tokenizer
    idf: Mapping[str, float] | None = None

    def of_source(self, source: Source) -> float:
        """That this source alone answers it."""
        judged = score_answerability(self.question, [source], tokenizer=self.tokenizer, idf=self.idf)
        return round(judged.score, 4)

    def of_quotations(self, text: str, sentences: Sequence[Sentence], sources: Sequence[Source]) -> list[Sentence]:
        """The sentences of `text`, in order, with their relevance.

        Neighbours in one line of the text from one source are judged together: a sentence that goes on with an answer
        is no worse than the one that begins it. Sentences without a citation have none.
        """
        by_number = {source.number: source for source in sources}
        judged: list[Sentence] = []
        for (_line, cited), group in groupby(_placed(text, sentences), key=lambda item: item[0]):
            found = [sentence for _place, sentence in group]
            value = self._of_text(found, by_number[cited]) if cited in by_number else None
            judged += [replace(sentence, relevance=value) for sentence in found]
        return judged

    def _of_text(self, sentences: Sequence[Sentence], source: Source) -> float:
        said = " ".join(MARKER.sub("", sentence.text) for sentence in sentences)
        return self.of_source(replace(source, text=said, passage=replace(source.passage, text=said)))


def _placed(text: str, sentences: Sequence[Sentence]) -> Iterator[tuple[tuple[int, int], Sentence]]:
    """Each sentence with the number of its line in the text and that of its first source (0: none)."""
    position = 0
    for sentence in sentences:
        start = text.find(sentence.text, position)
        position = start + len(sentence.text) if start >= 0 else position
        yield (text.count("\n", 0, max(start, 0)), next(iter(sentence.citations), 0)), sentence
