"""Labels of outcomes for exports and shared pages, which have none of the chat's notices."""

from __future__ import annotations

from django.utils.translation import gettext as _

from accounts.error_messages import stored_message
from chat.models import Message


def outcome_words(message: Message) -> str:
    """The notice for a text that is no complete answer from the sources; "" for one that is."""
    if message.state == Message.State.STOPPED:
        return _("Stopped; partial answer kept.") if message.answer else _("Stopped.")
    if message.status == "degraded":
        if message.metadata.get("model") not in ("", None, "extractive"):
            why = stored_message("", message.metadata.get("error_message") or "")
            return f"{_('Incomplete')}: {why}" if why else _("Incomplete")
        return _("The language model could not be used, so the text is quoted from the sources.")
    words = {
        "refused": _("Not enough evidence"),
        "search_results": _("No direct answer"),
        "conversation": _("No documents were used for this reply."),
    }
    return words.get(message.status, "")


def unsupported_sentences(message: Message) -> tuple[str, ...]:
    """The sentences that no source supports, in the order of the answer."""
    return tuple(
        sentence["text"]
        for sentence in message.sentences
        if sentence.get("support") == "unsupported" and sentence.get("text")
    )
