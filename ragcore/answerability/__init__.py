"""Whether sources answer a question, without a language model (D21, D23)."""

from ragcore.answerability.model import Answerability, answerability, threshold_for

__all__ = ["Answerability", "answerability", "threshold_for"]
