"""Admin pages for feedback cases, golden sets and evaluation runs."""

from evaluation.admin import approved, cases, golden, runs, wanted

__all__ = ["approved", "cases", "golden", "runs", "wanted"]
