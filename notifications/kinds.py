"""Kinds of notifications. An app declares its own beside the service that sends them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from django.utils.translation import get_language, gettext

from ragcore.errors import fill

Words = Callable[[Mapping[str, Any]], Mapping[str, Any]]

KINDS: dict[str, Kind] = {}  # by code


class Kind(NamedTuple):
    """A sentence in English with placeholders, which the catalogs translate; `words` makes these of what is stored."""

    sentence: str
    words: Words | None = None


def notification_kind(code: str, sentence: str, *, words: Words | None = None) -> str:
    """Declare a kind; returns its code. `sentence` is marked for translation where it stands (gettext_noop).

    `words`: from codes and figures to the placeholders, in the language of the thread.
    """
    KINDS[code] = Kind(sentence, words)
    return code


def sentence_of(*, kind: str, data: Mapping[str, Any]) -> str:
    """What a notification says, in the language of the thread; its code where no app declares the kind any more.

    Chinese readers are shown what is stored in Chinese (`set_zh`) in the place of its English version (`set`).
    """
    declared = KINDS.get(kind)
    if declared is None:
        return kind
    values = dict(declared.words(data) if declared.words is not None else data)
    if (get_language() or "").startswith("zh"):
        values |= {name.removesuffix("_zh"): text for name, text in values.items() if name.endswith("_zh") and text}
    return fill(gettext(declared.sentence), values)
