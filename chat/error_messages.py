"""User messages for failed questions and unsupported sentences."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from accounts.error_messages import stored_message, translated
from chat.models import Message
from ragcore.grounding.support import REASONS

# Nothing that the user could do better; the messages of these errors are for operators and programs.
DOWN = frozenset({"retrieval_unavailable", "unavailable", "internal"})
_REASON = re.compile(r'data-support-reason="([^"]*)"')


def failure_message(code: str, message: str, data: Mapping[str, Any] | None = None) -> str:
    """An error in the language of the thread or task; one sentence for everything that is down."""
    if code in DOWN:
        return _(
            "The system has a technical problem at the moment. Please try again later. If it does not go away, "
            "please contact technical support."
        )
    return stored_message(code, message, data)


def answer_html(message: Message) -> str:
    """The stored HTML of an answer with the reasons beside its sentences in the user's language."""
    reasons = {
        sentence["reason"]: sentence.get("reason_data") or {}
        for sentence in message.sentences
        if sentence.get("reason")
    }

    def shown(match: re.Match[str]) -> str:
        reason = html.unescape(match[1])
        return f'data-support-reason="{html.escape(_reason(reason, reasons.get(reason, {})))}"'

    return _REASON.sub(shown, message.answer_html)


def _reason(reason: str, data: Mapping[str, Any]) -> str:
    """Answers of earlier versions have no data; a reason that no catalog knows stays as it is."""
    if sentence := REASONS.get(data.get("reason", "")):
        return translated(sentence, data)
    return _(reason) if reason else ""
