"""Admin pages for feedback cases, golden sets and evaluation runs."""

from evaluation.admin import cases, golden, runs

__all__ = ["cases", "golden", "runs"]
