"""Sentences whose ranges hold the amounts of a question: "From 6 hours: premium economy", 第 4 次起每次扣 50 元."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragcore.extractive.sentences import Statement
from ragcore.ports import FloatArray
from ragcore.text.amount_ranges import MONEY, Amount, AmountRange, amounts_in, levels_in, ranges_in

HOLDS = 4.0  # log-odds of a sentence whose range holds an amount of the question
MISSES = -4.0  # of one with ranges of such amounts, none of which holds it

_Group = tuple[
    int, int, int, str, bool
]  # question's amount, source, paragraph, unit, whether the range has no upper end


def band_odds(question: str, statements: Sequence[Statement]) -> FloatArray:
    """float32[n]: log-odds by which sentences answer better, or worse, whose ranges say for which amounts they hold.

    Of ranges without an end that stand in one paragraph only the tightest counts: of 10 hours "from 9 hours".
    """
    odds = np.zeros(len(statements), np.float32)
    certain = amounts_in(question)
    amounts = [*certain, *levels_in(question)]  # R1 may be the name of a rack, which "R4 and R5" does not concern
    if not amounts:
        return odds
    tightest: dict[_Group, tuple[float, list[int]]] = {}
    for at, statement in enumerate(statements):
        ranges = [] if statement.is_code else list(ranges_in(statement.text))
        for number, amount in enumerate(amounts):
            like = [candidate for candidate in ranges if _is_of(amount, candidate)]
            holding = [candidate for candidate in like if candidate.holds(amount)]
            if not holding:
                is_missed = bool(like) and all(candidate.size == amount.size for candidate in like)
                odds[at] += MISSES if is_missed and number < len(certain) else 0.0
                continue
            if all(candidate.is_bounded for candidate in holding):
                odds[at] += HOLDS
                continue
            best = min((c for c in holding if not c.is_bounded), key=lambda c: c.distance(amount))
            key = (number, statement.source.number, statement.paragraph, best.unit, best.has_low)
            distance, members = tightest.get(key, (best.distance(amount), []))
            if best.distance(amount) < distance:
                distance, members = best.distance(amount), []
            if best.distance(amount) == distance:
                tightest[key] = (distance, [*members, at])
            else:
                tightest[key] = (distance, members)
    for _distance, members in tightest.values():
        odds[members] += HOLDS
    return odds


def _is_of(amount: Amount, candidate: AmountRange) -> bool:
    """Whether both name one unit; 9万 is money where the range is."""
    if not candidate.unit:
        return False
    if not amount.unit:
        return candidate.unit in MONEY
    return amount.is_like(candidate)
