"""Whether sources answer a question, without a language model (D21, D23)."""

from ragcore.answerability.model import Answerability, score_answerability, threshold_for

__all__ = ["Answerability", "score_answerability", "threshold_for"]
