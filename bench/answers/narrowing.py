"""What narrowing a search to one knowledge set does to answers and refusals; without a database.

The documents of a public set are dealt to SETS knowledge sets by their titles. A question is asked everywhere, and in
the set that has the document which the answer cites first. "alone": judged by what that set says; "mended": as the
product does, with the judgement over everything where the set alone would refuse.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from ragcore.answerability import score_answerability, threshold_for
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.options import AnswerOptions
from ragcore.ports import GenerationRequest
from ragcore.text.scripts import language_of
from ragcore.training.answer_sets import AnswerSet, Ranking, SetQuestion

SETS = 60
HEAD = (
    "| set | asked | answered everywhere | of these refused in the set alone | mended "
    "| without an answer | answered everywhere | in their set alone | mended |\n|---|---|---|---|---|---|---|---|---|"
)
_MARKER = re.compile(r"\[(\d+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class NarrowedAnswers:
    """Counts of one kind of questions."""

    asked: int = 0
    everywhere: int = 0
    narrowed: int = 0  # of those that are asked in a set
    alone: int = 0  # answered there by the set alone
    mended: int = 0  # answered there as the product does


def table_row(data: AnswerSet, *, limit: int) -> str:
    """One row of the table below HEAD."""
    parts = _parts(data.ranking)
    good = _counted(data.ranking, parts, data.sample(limit), only_answered=True)
    bad = _counted(data.ranking, parts, data.unanswerable[:limit], only_answered=False)
    cells = [data.name, good.asked, good.everywhere, good.narrowed - good.alone, good.narrowed - good.mended]
    return f"| {' | '.join(map(str, [*cells, bad.asked, bad.everywhere, bad.alone, bad.mended]))} |"


def _set_of(title: str) -> int:
    return zlib.crc32(title.encode()) % SETS


def _parts(ranking: Ranking) -> list[Ranking]:
    return [
        ranking.part([passage for passage in ranking.passages if _set_of(passage.title) == number])
        for number in range(SETS)
    ]


def _counted(
    ranking: Ranking, parts: list[Ranking], questions: Iterable[SetQuestion], *, only_answered: bool
) -> NarrowedAnswers:
    """`only_answered`: asked in a set only where everything answers, else in the set of the title asked about."""
    asked = everywhere = narrowed = alone = mended = 0
    for question in questions:
        asked += 1
        answered, first = _asked(ranking, question.text)
        everywhere += answered
        if only_answered and not answered:
            continue
        number = _set_of(first if only_answered else question.about)
        narrowed += 1
        inside = _asked(parts[number], question.text)[0]
        alone += inside
        mended += inside or (answered and _set_of(first) == number)
    return NarrowedAnswers(asked=asked, everywhere=everywhere, narrowed=narrowed, alone=alone, mended=mended)


def _asked(ranking: Ranking, question: str) -> tuple[bool, str]:
    """Whether it is answered, and the title of the document that the answer cites first."""
    sources = tuple(ranking.sources(question))
    if not sources:
        return False, ""
    judged = score_answerability(question, sources, tokenizer=ranking.tokenizer, idf=ranking.query(question).weights)
    count = len(ranking.passages)
    least = threshold_for(language_of(question), count, AnswerOptions().false_refusals)
    request = GenerationRequest(question=question, sources=sources)
    text = "".join(ExtractiveGenerator(ranking.tokenizer).blocks(request))
    match = _MARKER.search(text)
    number = int(match[1]) if match else sources[0].number
    return judged.is_answerable(least, count), sources[number - 1].passage.title
