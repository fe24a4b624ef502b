"""Messages for readers about degraded, incomplete and cut answers."""

from __future__ import annotations

from django.utils.translation import gettext as _

from ragcore.llm.usage import TooExpensiveError


def degraded_message(reason: str, status: int | None = None) -> str:
    """Why the sources are quoted instead of a model's answer, by the reason of the error, in words for the reader.

    What the server itself says is for administrators and strict clients.
    """
    if reason == TooExpensiveError.code:
        return _("A language model would exceed the cost limit; this answer was compiled from the sources.")
    if reason == "slow":
        return _("The language model did not answer in time; this answer was compiled from the sources.")
    if reason in ("lost", "cut", "empty_answer"):
        return _("The language model stopped without an answer; this answer was compiled from the sources.")
    if reason in ("rejected", "rejected_said", "not_compatible", "not_a_stream"):
        if status:
            words = _(
                "The server of the language model refused the request (HTTP %(status)s); "
                "this answer was compiled from the sources."
            )
            return words % {"status": status}
        return _("The language model failed; this answer was compiled from the sources.")
    return _("The language model cannot be reached; this answer was compiled from the sources.")


def incomplete_message(cause: str) -> str:
    """The note on a text that ended before its end: by its server, by silence, or by the limit of the model."""
    if cause == "stalled":
        return _("The language model stopped responding; this answer is incomplete.")
    if cause == "late":
        return _("The language model reached its time limit; this answer is incomplete.")
    return _("The language model stopped in the middle; this answer is incomplete.")


def cut_message() -> str:
    """The note on an answer that ends at its limit of tokens."""
    return _("The answer was cut at its length limit.")
