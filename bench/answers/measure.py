"""What extractive answers contain, cite and how long they are."""

from __future__ import annotations

import random
import re
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from ragcore.answerability.made_questions import question_of_passage
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.ports import Embedder, FloatArray, GenerationRequest
from ragcore.text.normalise import squeeze
from ragcore.text.scripts import language_of
from ragcore.training.answer_sets import SEED, AnswerSet, Ranking, SetQuestion
from ragcore.training.refusal_training import judged_made, scores
from ragcore.training.unanswerable import QuestionSources
from ragcore.types import Source

MADE = 150  # questions of the passages of a set
_MARKER = re.compile(r"\s?\[(\d+)\]")
_MARKS = re.compile(r"[*|]|^(?:-|\d+\.) |---", re.MULTILINE)
HEAD = (
    "| set | questions | contains | cites | source found | words or characters | p95 | ms |\n"
    "|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One answer against what is known of its question."""

    contains: bool  # a right answer, letter by letter
    cites: bool  # a document that answers
    found: bool  # such a document was among the sources
    length: int  # English words or Chinese characters, without markers
    seconds: float


def answers_of(data: AnswerSet, asked: Sequence[SetQuestion], generator: ExtractiveGenerator) -> list[Outcome]:
    """One outcome for every question that has a right answer."""
    return [
        outcome_of(question, data.ranking.sources(question.text), generator)
        for question in asked
        if any(squeeze(answer) for answer in question.answers)
    ]


def outcome_of(question: SetQuestion, sources: Sequence[Source], generator: ExtractiveGenerator) -> Outcome:
    """Answer from the sources and compare."""
    start = time.perf_counter()
    text = "".join(generator.blocks(GenerationRequest(question=question.text, sources=tuple(sources))))
    seconds = time.perf_counter() - start
    cited = {int(number) for number in _MARKER.findall(text)}
    by_number = {source.number: source.passage.external_id for source in sources}
    squeezed = squeeze(text)
    return Outcome(
        contains=any(gold in squeezed for answer in question.answers if (gold := squeeze(answer))),
        cites=any(by_number.get(number) in question.relevant for number in cited),
        found=any(source.passage.external_id in question.relevant for source in sources),
        length=length_of(text, chinese=language_of(text) == "zh"),
        seconds=seconds,
    )


def made_scores(ranking: Ranking, weights: FloatArray, *, embedder: Embedder | None) -> list[float]:
    """How likely questions that are made of the passages of a set are answered, of those that find their passage."""
    chance, passages = random.Random(SEED), list(ranking.passages)
    chance.shuffle(passages)
    made = ((p, question_of_passage(p.text, ranking.tokenizer, chance)) for p in passages)
    asked = islice(((p, question, ranking.sources(question)) for p, question in made if question), MADE)
    found = (
        QuestionSources(text=question, sources=sources, idf=ranking.query(question).weights)
        for passage, question, sources in asked
        if any(source.passage.document == passage.document for source in sources)
    )
    return [float(one) for one in scores(judged_made("made", found, ranking, embedder=embedder), weights)]


def length_of(text: str, *, chinese: bool) -> int:
    """Words, or for Chinese all characters that are no white space; markers and Markdown marks do not count."""
    plain = _MARKS.sub("", _MARKER.sub("", text))
    return len(re.sub(r"\s", "", plain)) if chinese else len(plain.split())


def table_row(name: str, outcomes: Sequence[Outcome]) -> str:
    """One row of the table."""
    lengths = sorted(o.length for o in outcomes)
    cells = [
        f"{statistics.fmean(values):.3f}"
        for values in ([o.contains for o in outcomes], [o.cites for o in outcomes], [o.found for o in outcomes])
    ]
    milliseconds = 1000 * statistics.median(o.seconds for o in outcomes)
    length = f"{statistics.fmean(lengths):.0f} | {lengths[int(0.95 * (len(lengths) - 1))]}"
    return f"| {name} | {len(outcomes)} | {' | '.join(cells)} | {length} | {milliseconds:.0f} |"
