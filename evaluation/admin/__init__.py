"""Admin pages for feedback cases, golden sets and evaluation runs."""

from evaluation.admin import cases, golden, runs, wanted

__all__ = ["cases", "golden", "runs", "wanted"]
