"""Errors of the feedback app."""

from __future__ import annotations

from ragcore.errors import PermanentError


class NothingSaidError(PermanentError):
    """A judgement has neither a vote nor a rating."""

    code = "nothing_said"
    default_message = "Give a vote or a rating."
