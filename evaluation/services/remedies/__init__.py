"""One-click remedies of feedback cases: one file each. The order of the imports is the order on the page."""

# ruff: noqa: I001  # the order of the page
from evaluation.services.remedies import question
from evaluation.services.remedies import synonym
from evaluation.services.remedies import enable
from evaluation.services.remedies import recut
from evaluation.services.remedies import withdraw
from evaluation.services.remedies import weight
from evaluation.services.remedies import set_option
from evaluation.services.remedies import generation
from evaluation.services.remedies import prompt
from evaluation.services.remedies import approve
from evaluation.services.remedies import ask_owner
from evaluation.services.remedies import golden_case

__all__ = [
    "approve",
    "ask_owner",
    "enable",
    "golden_case",
    "prompt",
    "question",
    "recut",
    "set_option",
    "synonym",
    "weight",
    "withdraw",
    "generation",
]
