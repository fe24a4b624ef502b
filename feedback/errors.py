"""Errors of the feedback app."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.errors import PermanentError, Sentence


class NothingSaidError(PermanentError):
    """A judgement has neither a vote nor a rating."""

    code = "nothing_said"
    default_message = "Give a vote or a rating."


class EstimateError(PermanentError):
    """The minutes that an answer saves are out of range; `data["most"]`."""

    code = "invalid_estimate"
    default_message = "The estimate must be a whole number of minutes from 0 to 480."


class MarkHiddenError(PermanentError):
    """The right answer is marked in a document that the actor may not open."""

    code = "mark_hidden"
    default_message = (
        "The right answer is marked in a document that you may not open. "
        "Name the document that you have yours from to replace it."
    )


class ResolutionError(PermanentError):
    """A case cannot be resolved like this."""

    code = "invalid_resolution"
    default_message = "Choose a resolution."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "refused": "The question was refused. Choose another resolution than “Should have been refused”.",
        "answered": "The question was answered. Choose another resolution than “Rightly refused”.",
        "closed": "It is closed already.",
        "alone": "Decide it one by one: there are signs that the answer is in the documents.",
        "many": "At most %(limit)s cases are closed at once; you chose %(given)s.",
    }
