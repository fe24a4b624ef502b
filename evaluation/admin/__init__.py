"""Admin pages for golden sets and evaluation runs."""

from evaluation.admin import golden, runs

__all__ = ["golden", "runs"]
