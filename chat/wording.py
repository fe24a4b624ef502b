"""What a reader of the web page is told of a question that failed."""

from __future__ import annotations

from django.utils.translation import gettext as _

from accounts.wording import worded

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
