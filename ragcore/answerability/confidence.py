"""How likely a quoted answer is of use to whoever asked, by how likely its sources answer.

The score of the sources is drawn on public sets, whose questions are about a sentence that exists. What people of an
organisation ask is answered more often than a low score says, and less often than a high one does. Platt scaling (Platt
1999) on the answers to everyday questions over two organisations' documents, a little lower, as other documents are
answered worse; `make bench-everyday` prints how well the confidence fits.
"""

from __future__ import annotations

import math

from ragcore.answerability.own_line import log_odds

SLOPE, OFFSET = 0.12, 1.6  # of the log-odds of the score
DOUBTFUL = 0.37  # score of one in ten answerable questions, and of up to nine in ten others
CERTAIN = 0.7  # score from which hardly a question is left that the sources do not answer
BEYOND_REFUSAL = 0.8  # confidence of a quoted answer from which a model that refuses is wrong


def answer_confidence(score: float) -> float:
    """0 to 1, higher is surer. `score`: see Answerability."""
    return 1 / (1 + math.exp(-(SLOPE * log_odds(score) + OFFSET)))
