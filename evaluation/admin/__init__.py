"""Admin pages for feedback cases, golden sets and evaluation runs."""

from evaluation.admin import approved, cases, gates, golden, runs, wanted

__all__ = ["approved", "cases", "gates", "golden", "runs", "wanted"]
