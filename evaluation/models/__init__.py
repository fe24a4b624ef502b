"""Golden sets and runs over them."""

from evaluation.models.golden import GoldenCase, GoldenSet
from evaluation.models.runs import EvaluationRun

__all__ = ["EvaluationRun", "GoldenCase", "GoldenSet"]
