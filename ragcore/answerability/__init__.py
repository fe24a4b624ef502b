"""Whether sources answer a question, without a language model."""

from ragcore.answerability.model import (
    Answerability,
    in_conversation,
    is_about,
    score_answerability,
    threshold_for,
)
from ragcore.answerability.relevance import DOUBTFUL_BELOW, RelevanceJudge, is_doubtful

__all__ = [
    "DOUBTFUL_BELOW",
    "Answerability",
    "RelevanceJudge",
    "in_conversation",
    "is_about",
    "is_doubtful",
    "score_answerability",
    "threshold_for",
]
