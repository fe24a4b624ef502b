"""How often sources are looked at by their place, estimated from which of them people opened.

The position-based model (Craswell et al., WSDM 2008): a source is opened where it is looked at, which depends on its
place alone, and where it is worth opening, which depends on the source and what was asked. Looking is estimated by
expectation maximisation (Wang et al., WSDM 2018), from sources that stood at several places. Before there are clicks,
and as far as they say little, the prior of Joachims, Swaminathan and Schnabel (WSDM 2017) holds: 1 / place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

PLACES = 20  # later ones count as the last of them
PRIOR_WEIGHT = 20.0  # showings at each place that the prior is worth
WORTH_PRIOR = (1.0, 2.0)  # openings and showings more of each source, so that one click is no certainty
ROUNDS = 200
STILL = 1e-5  # largest change of a round after which it is over
LEAST = 0.1  # that an examination counts: an opening weighs at most 1 / LEAST (clipping, Joachims et al., section 4)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Showings:
    """Sources as they were shown: parallel lists."""

    items: Sequence[int]  # which source for which kind of question, numbered from 0
    places: Sequence[int]  # 1-based
    opened: Sequence[bool]


def examination_prior(places: int = PLACES) -> Floats:
    """float64[places]: 1 / place."""
    return 1.0 / np.arange(1, places + 1, dtype=np.float64)


def examination_fit(showings_seen: Showings) -> Floats:
    """float64[PLACES]: how often the source at each place is looked at, the first one always. The prior without data.

    Falls from place to place or stays: what stands further down is never looked at more often.
    """
    prior = examination_prior()
    if not showings_seen.items:
        return prior
    items = np.unique(np.asarray(showings_seen.items, np.int64), return_inverse=True)[1]
    places = np.minimum(np.asarray(showings_seen.places, np.int64), PLACES) - 1
    opened = np.asarray(showings_seen.opened, bool)
    showings = np.bincount(places, minlength=PLACES) + PRIOR_WEIGHT
    each = np.bincount(items) + WORTH_PRIOR[1]
    looked, worth = prior.copy(), np.full(len(each), WORTH_PRIOR[0] / WORTH_PRIOR[1])
    for _round in range(ROUNDS):
        both = looked[places] * worth[items]
        rest = np.maximum(1.0 - both, 1e-9)
        was_looked_at = np.where(opened, 1.0, (looked[places] - both) / rest)
        was_worth = np.where(opened, 1.0, (worth[items] - both) / rest)
        sums = np.bincount(places, weights=was_looked_at, minlength=PLACES)
        means = np.minimum.accumulate((sums + PRIOR_WEIGHT * prior) / showings)
        worth = (np.bincount(items, weights=was_worth) + WORTH_PRIOR[0]) / each
        scale = means[0]  # only products are seen: the first place is the unit
        means, worth = means / scale, np.minimum(worth * scale, 1.0)
        change, looked = float(np.abs(means - looked).max()), means
        if change < STILL:
            break
    return looked


def opening_weight(examination: Sequence[float] | Floats, place: int) -> float:
    """What an opening at a place counts: 1 by how often the place is looked at, 1 / LEAST at most."""
    return 1.0 / max(examined(examination, place), LEAST)


def examined(examination: Sequence[float] | Floats, place: int) -> float:
    """How often a place is looked at."""
    return float(examination[min(place, len(examination)) - 1])
