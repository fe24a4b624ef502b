"""Which sentences explain: connected runs of the best source, or the points of a question that names many things.

Both choose what most likely has the highest F1 with the sentences that belong into the answer: the expected share of
what is wanted against the expected share of what is shown, less a price for length.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ragcore.extractive.answer_patterns import Extent
from ragcore.extractive.choice import is_of_use
from ragcore.extractive.relevance import ASPECT_WEIGHT
from ragcore.extractive.sentence_model import LEAST_PRIOR, refers_back
from ragcore.extractive.sentences import Statement
from ragcore.ports import FloatArray
from ragcore.text.matching import jaccard
from ragcore.text.scripts import cjk_share, columns

SEEN = 22  # sentences of a source, around its best, that runs are chosen from
MISSED = 0.6  # sentences of the answer that may stand elsewhere
PRICE = 0.1  # of a thousand columns, in F1
PRIOR_WEIGHT = 3.0  # of the ranking of sources against the score of their best sentences
SCORE_SCALE = 5.0
Places = npt.NDArray[np.intp]
Numbers = npt.NDArray[np.float64]
POINT_COLUMNS: dict[Extent, int] = {  # of all points, by what is asked for
    "choice": 200,
    "each": 300,
    "several": 540,
    "reason": 440,
    "summary": 640,
}
CJK_SHARE = 0.7  # of these: Chinese says as much in fewer columns
ENOUGH = 0.85  # of them
SAME = 0.5  # Jaccard of the terms from which two points say the same
MOST_COLUMNS = 1400  # of runs
PARAGRAPH_COLUMNS = 500  # of the paragraph that completes runs
LEAST_COLUMNS = 200  # of an explanation, as long as its section goes on
_GOES_ON = re.compile(
    r"(?:however|therefore|thus|hence|moreover|furthermore|also|instead|otherwise|then|afterwards"
    r"|as a result|but|and|so)\b"
    r"|因此|所以|但是|但|然而|此外|另外|同时|同時|随后|隨後|否则|否則|于是|於是|其中|而且|并且|並且|再",
    re.IGNORECASE,
)


def main_source(statements: Sequence[Statement], scores: FloatArray, aspects: FloatArray) -> Places:
    """The places of the sentences of the section that explains: its best sentence and its source's rank both count."""
    if not statements:
        return np.zeros(0, np.intp)
    best_prior = max(max(s.source.score for s in statements), LEAST_PRIOR)
    worth = (scores + ASPECT_WEIGHT * aspects) / SCORE_SCALE
    worth = worth + PRIOR_WEIGHT * np.array([np.log(max(s.source.score / best_prior, LEAST_PRIOR)) for s in statements])
    best = statements[int(worth.argmax())]
    return np.array(
        [at for at, s in enumerate(statements) if s.source is best.source and s.heading == best.heading], np.intp
    )


def choose_runs(statements: Sequence[Statement], places: Places, chances: FloatArray, question: str) -> list[Statement]:
    """One or two runs of a source's sentences, in its order. `chances`: of every statement to belong into the answer.

    A run does not begin with a sentence that refers to the one before it; where its best sentence does, the one before
    comes with it.
    """
    usable = np.array([at for at in places if is_of_use(statements[at], question)], dtype=np.intp)
    if not len(usable):
        return []
    best = int(chances[usable].argmax())
    first = max(0, min(best - SEEN // 2, len(usable) - SEEN))
    usable = usable[first : first + SEEN]
    widths = np.array([max(columns(statements[at].text), 1) for at in usable], np.float64)
    opens = np.array([at == 0 or not needs_before(statements[usable[at]].text) for at in range(len(usable))])
    chosen = _best_runs(np.asarray(chances[usable], np.float64), widths, opens)
    return [statements[usable[at]] for at in _completed(chosen, widths)]


def _completed(chosen: Sequence[int], widths: Numbers) -> list[int]:
    """The places, and more behind them where that is hardly anything."""
    full = set(chosen)
    last = max(full)
    while sum(widths[at] for at in full) < LEAST_COLUMNS and last + 1 < len(widths):
        last += 1
        full.add(last)
    return sorted(full)


def nearest(runs: Sequence[Statement], chances: FloatArray, *, most_columns: int) -> list[Statement]:
    """Of some runs the best sentence and its neighbours, as many as have room. `chances`: of each sentence."""
    if not runs:
        return []
    first = last = int(chances.argmax())
    used = columns(runs[first].text)
    while True:
        sides = [at for at in (last + 1, first - 1) if 0 <= at < len(runs) and _is_beside(runs, at, first, last)]
        if not sides or used + columns(runs[sides[0]].text) > most_columns:
            return list(runs[first : last + 1])
        used += columns(runs[sides[0]].text)
        first, last = min(first, sides[0]), max(last, sides[0])


def _is_beside(runs: Sequence[Statement], at: int, first: int, last: int) -> bool:
    return abs(runs[at].position - runs[last if at > last else first].position) == 1


def paragraph_around(
    best: Statement, statements: Sequence[Statement], question: str, *, most_columns: int
) -> list[Statement]:
    """The paragraph of the best sentence; of one that is too long, the best sentence and its neighbours."""
    section = [
        s for s in statements if s.source is best.source and s.heading == best.heading and is_of_use(s, question)
    ]
    usable = section if best in section else [best]
    paragraph = [s for s in usable if s.paragraph == best.paragraph]
    if sum(columns(s.text) for s in paragraph) <= most_columns:
        return paragraph
    return nearest(usable, np.array([s is best for s in usable], np.float32), most_columns=most_columns)


def with_paragraph(
    runs: Sequence[Statement], best: Statement, statements: Sequence[Statement], question: str
) -> list[Statement]:
    """The runs of the best sentence's source and the rest of its paragraph, in the order of the source."""
    whole = paragraph_around(best, statements, question, most_columns=PARAGRAPH_COLUMNS)
    return sorted({id(s): s for s in [*runs, *whole]}.values(), key=lambda s: s.position)


def needs_before(text: str) -> bool:
    """Whether a sentence cannot be understood without the one before it."""
    return refers_back(text) or _GOES_ON.match(text) is not None


def _best_runs(chances: Numbers, widths: Numbers, opens: npt.NDArray[np.bool_]) -> list[int]:
    """The places of the best one or two runs by expected F1."""
    size = len(chances)
    starts, ends = np.triu_indices(size)
    allowed = opens[starts]
    starts, ends = starts[allowed], ends[allowed] + 1
    chance_sums, width_sums, right = (np.r_[0.0, np.cumsum(values)] for values in (chances, widths, chances * widths))
    parts = [total[ends] - total[starts] for total in (chance_sums, width_sums, right)]
    ones = _worth(parts[0], parts[1], parts[2], float(chance_sums[-1]))
    at = int(ones.argmax())
    best, runs = float(ones[at]), [(starts[at], ends[at])]
    behind = starts[None, :] > ends[:, None]
    if behind.any():
        sums = [part[:, None] + part[None, :] for part in parts]
        pairs = _worth(sums[0], sums[1], sums[2], float(chance_sums[-1]))
        pairs[~behind] = -1.0
        first, second = np.unravel_index(int(pairs.argmax()), pairs.shape)
        if pairs[first, second] > best:
            runs = [(starts[first], ends[first]), (starts[second], ends[second])]
    return [place for start, end in runs for place in range(int(start), int(end))]


def _worth(chances: Numbers, widths: Numbers, right: Numbers, all_wanted: float) -> Numbers:
    """Expected F1, less the price of length."""
    recall, precision = chances / (all_wanted + MISSED), right / widths
    worth = 2 * recall * precision / np.maximum(recall + precision, 1e-9) - PRICE * widths / 1000
    return np.asarray(np.where(widths > MOST_COLUMNS, worth - 1.0, worth), np.float64)


def point_columns(question: str, extent: Extent) -> int:
    """The budget of the points of an answer."""
    return round(POINT_COLUMNS[extent] * (1 - (1 - CJK_SHARE) * cjk_share(question)))


def choose_points(
    statements: Sequence[Statement], worth: FloatArray, question: str, *, most_columns: int
) -> list[list[Statement]]:
    """The best sentences of all sources within a budget, as runs in the order of their sources.

    `worth`: of each sentence as a point (focus.point_worth).
    """
    order = np.argsort(-worth, kind="stable")
    chosen: list[int] = []
    used = 0
    for place in map(int, order):
        width = columns(statements[place].text)
        if not is_of_use(statements[place], question) or (chosen and used + width > most_columns):
            continue
        terms = set(statements[place].terms)
        if any(jaccard(terms, set(statements[other].terms)) > SAME for other in chosen):
            continue
        chosen.append(place)
        used += width
        if used > ENOUGH * most_columns:
            break
    return as_runs(statements, chosen)


def as_runs(statements: Sequence[Statement], places: Sequence[int]) -> list[list[Statement]]:
    """Neighbours of one source together; a source whose sentence came first comes first."""
    rank: dict[int, int] = {}
    for place in places:
        rank.setdefault(statements[place].source.number, len(rank))
    runs: list[list[Statement]] = []
    last = -2
    for place in sorted(places, key=lambda at: (rank[statements[at].source.number], at)):
        if place == last + 1 and runs and runs[-1][0].source is statements[place].source:
            runs[-1].append(statements[place])
        else:
            runs.append([statements[place]])
        last = place
    return runs
