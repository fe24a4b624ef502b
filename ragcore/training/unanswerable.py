"""Questions that nothing answers, made out of questions that have an answer.

Unanswerable questions that people wrote are rare, and there is none in Chinese that may be learnt from. Three ways of
making some, beside taking the documents away:

- gapped: the sources stay, without the sentences that hold the answer. The subject is there, the fact is not.
- grafted: what is asked for is taken from a question about another document: which CITY becomes which GENUS.
- vague: names, figures and the rarest words are dropped, so that nothing says which document is meant.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ragcore.answerability.question_parts import NAME, NUMBER, heads
from ragcore.ports import Tokenizer
from ragcore.text.normalise import squeeze
from ragcore.text.question_type import wanted
from ragcore.text.sentences import split_sentences
from ragcore.text.tokenise import stop_words
from ragcore.training.answer_sets import SEED, Ranking, SetQuestion
from ragcore.types import Source

TELLING = 6  # characters of an answer that do not stand in another document by chance
RAREST = {"latin": 1, "cjk": 2}  # words that a vague question loses beside its names


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSources:
    """A question with the sources that it would be answered from."""

    text: str
    sources: Sequence[Source]
    idf: Mapping[str, float]  # of its terms that the corpus knows


def gapped(questions: Sequence[SetQuestion], ranking: Ranking) -> Iterator[QuestionSources]:
    """Of the questions whose right documents were found and hold the answer."""
    for question in questions:
        sources = ranking.sources(question.text)
        without = without_answer(question, sources)
        if without and without != sources:
            yield QuestionSources(text=question.text, sources=without, idf=ranking.query(question.text).weights)


def without_answer(question: SetQuestion, sources: Sequence[Source]) -> list[Source]:
    """The sources without the sentences that hold an answer; of other documents only where it is a long one."""
    golds = [gold for answer in question.answers if (gold := squeeze(answer))]
    gapped_sources = []
    for source in sources:
        is_right = source.passage.external_id in question.relevant
        telling = [gold for gold in golds if is_right or len(gold) >= TELLING]
        sentences = list(split_sentences(source.text))
        silent = [s for s in sentences if not any(gold in squeeze(s) for gold in telling)]
        if len(silent) == len(sentences):
            gapped_sources.append(source)
        elif silent:
            gapped_sources.append(replace(source, text="\n".join(silent)))
    return gapped_sources


def grafted(questions: Sequence[SetQuestion], ranking: Ranking) -> Iterator[QuestionSources]:
    """Of the questions that say what they ask for, with those words of another one of the same kind."""
    pools: dict[str, list[tuple[str, str]]] = defaultdict(list)
    spans = {question.id: _head(question.text, ranking.tokenizer) for question in questions}
    for question in questions:
        if span := spans[question.id]:
            pools[wanted(question.text)].append((question.about, question.text[slice(*span)]))
    chance = random.Random(SEED)
    for question in questions:
        span = spans[question.id]
        question_head = question.text[slice(*span)] if span else ""
        other_heads = [
            head for about, head in pools[wanted(question.text)] if about != question.about and head != question_head
        ]
        if span and other_heads:
            yield _with_sources(
                f"{question.text[: span[0]]}{chance.choice(other_heads)}{question.text[span[1] :]}", ranking
            )


def vague(questions: Sequence[SetQuestion], ranking: Ranking) -> Iterator[QuestionSources]:
    """Of the questions that have a content word left."""
    for question in questions:
        text = without_telling(question.text, ranking.tokenizer, ranking.idf)
        if text and text != question.text:
            yield _with_sources(text, ranking)


def without_telling(text: str, tokenizer: Tokenizer, idf: Mapping[str, float]) -> str:
    """A question without its names, figures and rarest words; "" if nothing else is left."""
    plain = NUMBER.sub("", NAME.sub("", text))
    words = re.findall(r"\w+", plain) if text.isascii() else tokenizer.words(plain)
    weighed = sorted(
        ((max((idf.get(t, 0.0) for t in tokenizer.terms(w)), default=0.0), w) for w in words if w not in stop_words()),
        reverse=True,
    )
    telling = [word for weight, word in weighed if weight > 0]
    lost = RAREST["latin" if text.isascii() else "cjk"]
    for word in telling[:lost]:
        plain = plain.replace(word, "", 1)
    return plain if len(telling) > lost else ""


def _head(text: str, tokenizer: Tokenizer) -> tuple[int, int] | None:
    return next((span for span in heads(text, tokenizer) if text[slice(*span)].lower() not in stop_words()), None)


def _with_sources(text: str, ranking: Ranking) -> QuestionSources:
    return QuestionSources(text=text, sources=ranking.sources(text), idf=ranking.query(text).weights)
