"""What goes with votes and ratings: which figures of an answer, which kinds of questions, which shortcomings.

Counted over the figures that are kept with each judgement (`feedback.features`), and over what comments of poor ones
name as a shortcoming (`comment_words.txt`); no word of an answer is read. What goes together need not be a cause: the
page says so.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

import numpy as np
from django.db.models import QuerySet
from django.utils import timezone

from feedback.models import Vote
from ragcore.text.word_lists import read_cues

MOST_READ = 20_000  # judgements, the latest
LEAST = 20  # judgements from which anything is said of a figure
LEAST_LOW = 5  # poor ones, from which shortcomings are told
LOW = 2  # score up to which an answer was poor, as a complaint is
BEST, WORST = 5, 1  # of a vote without a rating
SHORT_WORDS = 50
LONG_WORDS = 100
DOUBTFUL = 0.1  # relevance below which a quotation may not answer the question
NORMAL_QUANTILE = 1.96
MOST_SHOWN = 3

Features = Mapping[str, Any]
SCORES = range(WORST, BEST + 1)


class _Judged(NamedTuple):
    """One judgement: its score, the figures of the answer, and which shortcomings its comment names."""

    score: float
    features: Features
    complaints: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """Pearson's correlation of a figure with the score, -1 to 1, with its 95 % interval (Fisher's z)."""

    feature: str
    value: float
    low: float
    high: float
    judgements: int

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortcoming:
    """A pattern of poor answers: the shares of poor and of other answers that have it, 0 to 1."""

    name: str
    poor: int
    share_poor: float
    share_others: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredType:
    """A kind of question with its judgements and their mean score, 1 to 5."""

    name: str
    judgements: int
    mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedDay:
    """The judgements of one day of the site's time zone with their mean score, 1 to 5."""

    day: date
    judgements: int
    mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingPatterns:
    """`judgements`: how many were read; `left_out`: earlier ones of the same days.

    `distribution`: the number of judgements with each score from 1 to 5; `series`: by day, in order.
    """

    judgements: int
    left_out: int
    correlations: tuple[Correlation, ...] = ()
    shortcomings: tuple[Shortcoming, ...] = ()
    types: tuple[ScoredType, ...] = ()
    distribution: tuple[int, ...] = (0,) * len(SCORES)
    series: tuple[RatedDay, ...] = ()


def rating_patterns(votes: QuerySet[Vote]) -> RatingPatterns:
    """Of judgements within somebody's rights. Reads the figures of MOST_READ at most."""
    total = votes.count()
    names = ("vote", "rating", "features", "comment", "created")
    rows = list(votes.order_by("-created").values_list(*names)[:MOST_READ])
    scored = [
        _Judged(float(rating or (BEST if vote == Vote.Direction.UP else WORST)), features, _named_in(comment))
        for vote, rating, features, comment, _created in rows
    ]
    by_day: dict[date, list[float]] = defaultdict(list)
    for judged, row in zip(scored, rows, strict=True):
        by_day[timezone.localtime(row[-1]).date()].append(judged.score)
    return RatingPatterns(
        judgements=len(rows),
        left_out=total - len(rows),
        correlations=tuple(_correlations(scored)),
        shortcomings=tuple(_shortcomings(scored)),
        types=tuple(_types(scored)),
        distribution=tuple(sum(judged.score == score for judged in scored) for score in SCORES),
        series=tuple(RatedDay(day=d, judgements=len(v), mean=sum(v) / len(v)) for d, v in sorted(by_day.items())),
    )


def _named_in(comment: str) -> frozenset[str]:
    """The shortcomings that a comment names in words."""
    cues = read_cues("feedback", "comment_words.txt")
    return frozenset(name for name, words in cues.items() if words.matches(comment))


# ── figures ─────────────────────────────────────────────────────────────────────────────────────


def _support(features: Features) -> float | None:
    counts = features.get("support") or {}
    total = sum(counts.values())
    return counts.get("supported", 0) / total if total else None


def _aspects(features: Features) -> float | None:
    number = features.get("aspects_asked")
    return features["aspects_answered"] / number if number else None


def _named(name: str) -> Callable[[Features], float | None]:
    def read(features: Features) -> float | None:
        value = features.get(name)
        return None if value is None else float(value)

    return read


FIGURES: Mapping[str, Callable[[Features], float | None]] = {
    **{name: _named(name) for name in ("words", "citations", "confidence", "relevance", "seconds", "length")},
    **{name: _named(name) for name in ("terms", "numbers", "examples", "structure", "unmentioned")},
    "support": _support,
    "cosine": _named("cosine"),
    "aspects": _aspects,
}


def _correlations(scored: Sequence[_Judged]) -> list[Correlation]:
    """Of every figure that enough judgements have; those that are clear first, the strongest first."""
    correlations = []
    for name, read in FIGURES.items():
        pairs = [(value, score) for score, features, _said in scored if (value := read(features)) is not None]
        if len(pairs) < LEAST:
            continue
        values, scores = np.array(pairs, np.float64).T
        if values.std() < 1e-9 or scores.std() < 1e-9:
            continue
        r = float(np.clip(np.corrcoef(values, scores)[0, 1], -0.999999, 0.999999))
        spread = NORMAL_QUANTILE / math.sqrt(len(pairs) - 3)
        low, high = math.tanh(math.atanh(r) - spread), math.tanh(math.atanh(r) + spread)
        correlations.append(Correlation(feature=name, value=r, low=low, high=high, judgements=len(pairs)))
    return sorted(correlations, key=lambda correlation: (not correlation.is_clear, -abs(correlation.value)))


# ── shortcomings ────────────────────────────────────────────────────────────────────────────────


def _less(name: str, limit: float) -> Callable[[Features], bool | None]:
    def has(features: Features) -> bool | None:
        value = features.get(name)
        return None if value is None else value < limit

    return has


SHORTCOMINGS: Mapping[str, Callable[[Features], bool | None]] = {
    "short": _less("words", SHORT_WORDS),
    "irrelevant": _less("relevance", DOUBTFUL),
    "without_examples": lambda features: None if features.get("examples") is None else not features["examples"],
    "unsupported": lambda features: bool((features.get("support") or {}).get("unsupported")),
    "unstructured": lambda features: (
        None if features.get("words") is None else features["words"] >= LONG_WORDS and not features.get("structure")
    ),
    "uncited": lambda features: None if features.get("citations") is None else features["citations"] == 0,
    "inaccurate": lambda features: False,  # only people tell
}


def _shortcomings(scored: Sequence[_Judged]) -> list[Shortcoming]:
    """The MOST_SHOWN that poor answers have more often than others, the widest difference first.

    A poor answer has one by its figures, or because its comment names it.
    """
    shortcomings = []
    for name, has in SHORTCOMINGS.items():
        good = [has(judged.features) for judged in scored if judged.score > LOW]
        poor = [name in judged.complaints or has(judged.features) for judged in scored if judged.score <= LOW]
        poor_values, rest = ([value for value in values if value is not None] for values in (poor, good))
        if len(poor_values) < LEAST_LOW:
            continue
        share, share_others = sum(poor_values) / len(poor_values), sum(rest) / len(rest) if rest else 0.0
        if share > share_others:
            shortcomings.append(
                Shortcoming(name=name, poor=sum(poor_values), share_poor=share, share_others=share_others)
            )
    return sorted(shortcomings, key=lambda shortcoming: shortcoming.share_others - shortcoming.share_poor)[:MOST_SHOWN]


def _types(scored: Sequence[_Judged]) -> list[ScoredType]:
    """Kinds of questions, the worst first."""
    by_type: dict[str, list[float]] = defaultdict(list)
    for score, features, _said in scored:
        by_type[str(features.get("query_type") or "")].append(score)
    rows = [ScoredType(name=n, judgements=len(v), mean=sum(v) / len(v)) for n, v in by_type.items() if n]
    return sorted(rows, key=lambda row: (row.mean, -row.judgements))
