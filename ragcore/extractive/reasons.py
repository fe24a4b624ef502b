"""Sentences that a document itself sets below a heading that says why: "Root cause", 原因分析."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragcore.extractive.answer_patterns import cue_kind, tells_reasons
from ragcore.extractive.sentences import Statement
from ragcore.ports import FloatArray

MOST_SECTIONS = 2  # of a document; a manual with more of them tells the causes of many things
LEAD = 4.0  # log-odds by which the best of these sentences stands before all others
MOST_LIFTED = 14.0  # log-odds


def lift_reasons(question: str, statements: Sequence[Statement], scores: FloatArray) -> FloatArray:
    """float32[n]: the scores, higher for such sentences of the best sentence's document, where a reason is asked for.

    `scores`: float32[n], log-odds of the sentences. The words of such a section are those of the cause and hardly those
    of the question, which names what happened.
    """
    if not statements or cue_kind(question) != "reason":
        return scores
    document = statements[int(scores.argmax())].source.passage.document
    places = [
        at for at, s in enumerate(statements) if s.source.passage.document == document and tells_reasons(s.heading)
    ]
    if not places or len({statements[at].heading for at in places}) > MOST_SECTIONS:
        return scores
    lifted = scores.copy()
    lifted[places] += np.clip(scores.max() + LEAD - scores[places].max(), 0.0, MOST_LIFTED)
    return lifted
