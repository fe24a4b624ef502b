"""Errors of background work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.errors import PermanentError, Sentence


class JobStateError(PermanentError):
    """The job is not in a state from which this is possible."""

    code = "job_state"
    default_message = "The job is in a state in which this is not possible."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "open": "Work of this kind is already waiting or running.",
    }


class UnknownKindError(PermanentError):
    """A job of a kind that this version of the software does not have."""

    code = "unknown_kind"
    default_message = "This version of the software does not know this kind of background work."


class InterruptedAgainError(PermanentError):
    """Each worker that took up the job ended before it reached a new checkpoint."""

    code = "interrupted"
    default_message = "It was interrupted repeatedly."


class AuthorGoneError(PermanentError):
    """The job works with the rights of its author, whose account is closed."""

    code = "author_gone"
    default_message = "The account of the person who started it is closed."


class LeaseLostError(Exception):
    """Somebody has paused or cancelled the work, or other workers have claimed it. Nothing has failed."""


class JobLostError(LeaseLostError):
    """Another worker has claimed the job, or somebody has paused or cancelled it."""
