"""How likely a quoted answer is right, by what is known of its sentences before anybody reads them.

Where the embedding model reads question and sentence together, two things tell right answers from wrong ones in every
set that was looked at, whichever documents it is of: how well the best sentence reads, and how far it stands out among
all sentences. A logistic model of both, fitted on several kinds of sets together, each with the same weight, is in
confidence.MODEL.json; `make bench-calibration` measures and fits it. Each is cut where more of it says no more.

Without such a model there is the score of the sources, which is drawn on public sets, whose questions are about a
sentence that exists. What people of an organisation ask is answered more often than a low score says, and less often
than a high one does: Platt scaling (Platt 1999) on answers to everyday questions over two organisations' documents.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragcore.answerability.own_line import log_odds
from ragcore.fitted_weights import fitted_weights

SLOPE, OFFSET = 0.12, 1.6  # of the log-odds of the score
DOUBTFUL = 0.37  # score of one in ten answerable questions, and of up to nine in ten others
CERTAIN = 0.7  # score from which hardly a question is left that the sources do not answer
BEYOND_REFUSAL = 0.144  # score from which a model that refuses is wrong
FILE = "confidence.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known of a quoted answer."""

    score: float  # that the sources answer, see Answerability
    read: float | None = None  # log-odds that the best sentence answers, read with the question; None: nothing was read
    lead: float = 1.0  # how likely the likeliest sentence is the best one of all, 0 to 1

    def values(self) -> dict[str, float]:
        """What the confidence is computed from, by name; log-odds."""
        return {"read": self.read or 0.0, "lead": log_odds(self.lead)}


def quoted_confidence(evidence: Evidence, model: str) -> float:
    """0 to 1: the share of right ones among such answers. `model`: the embedding model that read the sentences."""
    record = fitted_weights(__package__, FILE, model)
    if record is None or evidence.read is None:
        return answer_confidence(evidence.score)
    return confidence_by(record, evidence.values())


def confidence_by(record: Mapping[str, Any], values: Mapping[str, float]) -> float:
    """0 to 1 by fitted weights. `record`: the content of FILE."""
    return 1 / (1 + math.exp(-(sum(map(float.__mul__, record["weights"], cut(record, values))) + record["offset"])))


def cut(record: Mapping[str, Any], values: Mapping[str, float]) -> Sequence[float]:
    """The values in the order of the weights, each between the bounds from where more of it says no more."""
    names, bounds = record["evidence"], record["bounds"]
    return [min(max(values[name], least), most) for name, (least, most) in zip(names, bounds, strict=True)]


def answer_confidence(score: float) -> float:
    """0 to 1 by the score of the sources alone, higher is surer. `score`: see Answerability."""
    return 1 / (1 + math.exp(-(SLOPE * log_odds(score) + OFFSET)))
