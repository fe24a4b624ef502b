"""The order in which chosen sentences are shown: the one that answers comes first.

Sentences stand in the order of their source, as they follow from each other. What stands there before the best one and
does not concern the question would be read as the answer; it is shown behind.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragcore.extractive.choice import leans_back
from ragcore.extractive.sentence_model import SentenceFeatures
from ragcore.extractive.sentences import Statement
from ragcore.ports import FloatArray

AS_GOOD = 1.0  # log-odds below the best sentence, up to which another one may stand before it
CONCERNS = 3.0  # the same of one with
LEAST_COVERAGE = 0.34  # of the question


def best_first(
    chosen: Sequence[Statement], best: Statement, features: SentenceFeatures, scores: FloatArray
) -> list[Statement]:
    """The sentences with those behind the best one that stand before it and hardly concern the question.

    Of other paragraphs those are left out that do not concern it at all. The sentence that the best one leans on stays
    before it. Rows of tables stay in the order of their table.
    `scores`: float32[n], log-odds of the sentences of `features`.
    """
    at = next((place for place, statement in enumerate(chosen) if statement is best), 0)
    if not at or any(statement.head for statement in chosen):
        return list(chosen)
    begin = at
    while begin and leans_back(chosen[begin]) and _is_before(chosen[begin - 1], chosen[begin]):
        begin -= 1
    coverage = dict(zip(map(id, features.statements), features.column("coverage").tolist(), strict=True))
    odds = dict(zip(map(id, features.statements), scores.tolist(), strict=True))

    def stays(statement: Statement) -> bool:
        below = odds[id(best)] - odds[id(statement)]
        is_near = _is_same_text(statement, best) and below <= CONCERNS and coverage[id(statement)] >= LEAST_COVERAGE
        return below <= AS_GOOD or is_near

    def concerns(statement: Statement) -> bool:
        is_near = odds[id(best)] - odds[id(statement)] <= CONCERNS
        return is_near or coverage[id(statement)] > 0 or statement.paragraph == best.paragraph

    before = [statement for statement in chosen[:begin] if stays(statement)]
    moved = [statement for statement in chosen[:begin] if not stays(statement) and concerns(statement)]
    return [*before, *chosen[begin:], *moved]


def _is_before(statement: Statement, other: Statement) -> bool:
    return statement.source is other.source and statement.position + 1 == other.position


def _is_same_text(statement: Statement, best: Statement) -> bool:
    """Whether both are sentences of one paragraph, and no points or lines by themselves."""
    is_same = statement.source is best.source and statement.paragraph == best.paragraph
    return is_same and not (statement.is_item or best.is_item) and best.continues
