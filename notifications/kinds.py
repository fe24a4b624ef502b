"""Kinds of notifications. An app declares its own beside the service that sends them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

from ragcore.errors import fill

KINDS: dict[str, str] = {}  # code → sentence in English with placeholders, which the catalogs translate


def notification_kind(code: str, sentence: str) -> str:
    """Declare a kind; returns its code. `sentence` is marked for translation where it stands (gettext_noop)."""
    KINDS[code] = sentence
    return code


def sentence_of(*, kind: str, data: Mapping[str, Any]) -> str:
    """What a notification says, in the language of the thread; its code where no app declares the kind any more."""
    sentence = KINDS.get(kind)
    return kind if sentence is None else fill(gettext(sentence), data)
