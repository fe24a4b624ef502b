"""Admin pages for feedback cases, golden sets and evaluation runs."""

from evaluation.admin import cases, gates, golden, runs

__all__ = ["cases", "gates", "golden", "runs"]
