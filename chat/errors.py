"""Errors of the chat app."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from accounts.wording import worded
from ragcore.errors import PermanentError, TransientError


class BusyError(TransientError):
    """This process answers as many questions as it may (V13)."""

    code = "busy"
    default_message = "Too many questions are being answered at the moment. Please try again shortly."


class ConversationBusyError(TransientError):
    """The turn before this one in the same conversation did not end in time (D16)."""

    code = "conversation_busy"
    default_message = "The previous question of this conversation is still being answered."


class AnswerTimeoutError(TransientError):
    """A limit of time was reached."""

    code = "timeout"
    default_message = "The answer took too long."


class CsrfFailedError(PermanentError):
    """A browser session sent a change without its token."""

    code = "csrf_failed"
    default_message = "The CSRF token is missing or wrong. Send it as X-CSRFToken, or use an API key."


class UnknownModelError(PermanentError):
    """The OpenAI-compatible API knows `ragsite` and `ragsite/<set code>`."""

    code = "not_found"
    default_message = "There is no such model."


class InvalidAnswerRequestError(PermanentError):
    """A value of a question is missing, unknown or outside its limits; `faults` says which."""

    code = "invalid"
    default_message = "The request is not valid."


class TurnFailedError(TransientError):
    """A turn that ran elsewhere ended with an error; carries the error's own code."""

    def __init__(self, code: str, message: str, **data: Any) -> None:
        super().__init__(message, **data)
        self.code = code  # type: ignore[misc]  # each instance stands for another error


class TurnRefusedError(PermanentError):
    """A turn that ran elsewhere ended with an error that trying again does not cure; carries the error's own code."""

    def __init__(self, code: str, message: str, **data: Any) -> None:
        super().__init__(message, **data)
        self.code = code  # type: ignore[misc]  # each instance stands for another error


# Nothing that the reader could do better; the sentences of these errors are for operators and programs.
DOWN = frozenset({"retrieval_unavailable", "unavailable", "internal"})


def failure_words(code: str, message: str) -> str:
    """An error in the language of the thread or task; one sentence for everything that is down (U14)."""
    if code in DOWN:
        return _(
            "The system has a technical problem at the moment. Please try again later. If it does not go away, "
            "please contact technical support."
        )
    return worded(message)
