"""Admin pages for golden sets and evaluation runs."""

from evaluation.admin import golden

__all__ = ["golden"]
