"""Where a set's own line of refusals lies, from how well it answers questions made of its own passages.

The shipped line is drawn on public sets. In a set of forms, of short notes or of pages that resemble each other even
questions that it answers score lower, and the shipped line refuses too many of them. What people ask there is not
known, but in seven public sets the score below which 4 % of people's answerable questions lie followed the median of
questions made of the sets' own sentences: 2.0 to 3.0 log-odds below it, 2.6 on average. So the line lies at most
`BELOW_MEDIAN` below that median. It is only ever lowered: that made questions score well does not say that people ask
as clearly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

LEAST_QUESTIONS = 60  # made ones that found their passage; fewer say too little
BELOW_MEDIAN = 2.85  # log-odds
MOST_LOWERED = 1.5  # log-odds
CERTAIN_FROM = 20  # questions that count as much as the shipped line does
LEAST_SCORE = 1e-6


def lowered_by(scores: Sequence[float], shipped: float) -> float:
    """By how many log-odds a set's line lies below the shipped one, 0 to MOST_LOWERED.

    `scores`: of made questions (`score_answerability`) whose passage was found; `shipped`: the line for a set of this
    size and language. 0 with fewer than LEAST_QUESTIONS. Of few questions less is believed.
    """
    if len(scores) < LEAST_QUESTIONS:
        return 0.0
    median = float(np.median([log_odds(score) for score in scores]))
    full_shift = log_odds(shipped) - (median - BELOW_MEDIAN)
    believed = len(scores) / (len(scores) + CERTAIN_FROM)
    return float(np.clip(believed * full_shift, 0.0, MOST_LOWERED))


def lowered_line(line: float, lowered: float) -> float:
    """A line of `threshold_for`, lowered by this many log-odds; 0 stays 0."""
    return 1 / (1 + math.exp(lowered - log_odds(line))) if line and lowered else line


def log_odds(score: float) -> float:
    """log(p / (1 - p)), finite for 0 and 1."""
    inside = min(max(score, LEAST_SCORE), 1 - LEAST_SCORE)
    return math.log(inside / (1 - inside))
