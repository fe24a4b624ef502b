"""Admin pages for feedback cases, golden sets and evaluation runs."""

from evaluation.admin import cases, golden

__all__ = ["cases", "golden"]
