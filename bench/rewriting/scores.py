"""How near rewritten questions are to those of people: exact match and BLEU-4, with paired bootstrap intervals.

BLEU: Papineni et al. 2002, corpus level, one reference, no smoothing; characters for Chinese, words otherwise.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragcore.metrics.bootstrap import PERCENTILES, SEED, Interval, paired_interval
from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import language_of

ORDER = 4
RESAMPLES = 1000
_WORD = re.compile(r"\w+|[^\w\s]")
_ENDING = re.compile(r"[\s?.!。？！]+$")
Counts = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Ours and the copied question against the references; BLEU from 0 to 100, differences with 95 % intervals."""

    questions: int
    changed: int
    exact: float
    exact_copied: float
    exact_gain: Interval
    bleu: float
    bleu_copied: float
    bleu_gain: Interval


def compared(ours: Sequence[str], copied: Sequence[str], references: Sequence[str]) -> Compared:
    """Raises ValueError for lists that differ in length or are empty."""
    hits = [exact(text, wanted) for text, wanted in zip(ours, references, strict=True)]
    copies = [exact(text, wanted) for text, wanted in zip(copied, references, strict=True)]
    mine = np.array([counts(text, wanted) for text, wanted in zip(ours, references, strict=True)], np.float64)
    theirs = np.array([counts(text, wanted) for text, wanted in zip(copied, references, strict=True)], np.float64)
    return Compared(
        questions=len(references),
        changed=sum(one != other for one, other in zip(ours, copied, strict=True)),
        exact=sum(hits) / len(hits) if hits else 0.0,
        exact_copied=sum(copies) / len(copies) if copies else 0.0,
        exact_gain=paired_interval([float(hit) for hit in hits], [float(hit) for hit in copies]),
        bleu=bleu(mine.sum(axis=0)),
        bleu_copied=bleu(theirs.sum(axis=0)),
        bleu_gain=_bleu_gain(mine, theirs),
    )


def exact(text: str, reference: str) -> bool:
    """The same words; case, spaces around Han and the final mark do not matter."""
    return _bare(text) == _bare(reference)


def counts(text: str, reference: str) -> list[float]:
    """What corpus BLEU sums: both lengths, then matches and n-grams of the text for each order."""
    mine, wanted = tokens(text), tokens(reference)
    row = [float(len(mine)), float(len(wanted))]
    for order in range(1, ORDER + 1):
        have, want = _grams(mine, order), _grams(wanted, order)
        row += [float((have & want).total()), float(have.total())]
    return row


def bleu(summed: Counts) -> float:
    """BLEU-4, 0 to 100, of summed counts; 0 where an order has no match."""
    matches, grams = summed[2::2], summed[3::2]
    if matches.min() <= 0:
        return 0.0
    brevity = min(1.0, float(np.exp(1 - summed[1] / summed[0])))
    return 100 * brevity * float(np.exp(np.log(matches / grams).mean()))


def tokens(text: str) -> list[str]:
    plain = normalise_query(text).lower()
    return [c for c in plain if not c.isspace()] if language_of(plain) == "zh" else _WORD.findall(plain)


def _grams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + order]) for at in range(len(words) - order + 1))


def _bare(text: str) -> str:
    plain = _ENDING.sub("", normalise_query(text).lower())
    return plain.replace(" ", "") if language_of(plain) == "zh" else plain


def _bleu_gain(mine: Counts, theirs: Counts) -> Interval:
    """Of the difference of corpus BLEU, the same questions drawn for both."""
    random = np.random.default_rng(SEED)
    drawn = random.multinomial(len(mine), np.full(len(mine), 1 / len(mine)), size=RESAMPLES).astype(np.float64)
    gains = [bleu(one) - bleu(other) for one, other in zip(drawn @ mine, drawn @ theirs, strict=True)]
    value = bleu(mine.sum(axis=0)) - bleu(theirs.sum(axis=0))
    low, high = np.percentile(gains, PERCENTILES)
    return Interval(value=value, low=float(low), high=float(high))
