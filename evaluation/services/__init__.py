"""Writing golden sets, running them."""

from evaluation.services.golden_export import cases_as_jsonl
from evaluation.services.golden_import import GoldenImported, GoldenRow, golden_import, rows_from_file
from evaluation.services.runs import EvaluationOptions, evaluation_run

__all__ = [
    "EvaluationOptions",
    "GoldenImported",
    "GoldenRow",
    "cases_as_jsonl",
    "evaluation_run",
    "golden_import",
    "rows_from_file",
]
