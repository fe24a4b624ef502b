"""Messages of expected errors in the language of the thread or task.

The classes declare their sentences in English (`RagError.default_message`, `RagError.reasons`); the catalogs of
`locale/` translate them. An error that is stored keeps its code, its English message and the data of its placeholders
(`RagError.message_data`), so that it can be translated when somebody reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext, ngettext, pgettext

from ragcore.errors import PasswordProtectedError, Plural, RagError, Sentence, fill
from ragcore.parsing import FORMAT_ENDINGS

# English messages that earlier versions stored without data, and how they read today.
FORMER_MESSAGES: Mapping[str, str] = {
    "The file is protected by a password. Remove it and upload the file again.": (
        PasswordProtectedError.default_message
    ),
}


def error_message(error: RagError) -> str:
    """The message of an error."""
    if not error.reason:
        return stored_message(error.code, error.message, error.message_data())
    return translated(error.sentence, error.data)


def stored_message(code: str, message: str, data: Mapping[str, Any] | None = None) -> str:
    """The message of an error that was stored: by code and reason, else by its English text.

    A text that no catalog knows stays as it is; rows of earlier versions have no data.
    """
    data = data or {}
    sentence = sentences().get((code, str(data.get("reason", ""))))
    if sentence is not None:
        return translated(sentence, data)
    return gettext(FORMER_MESSAGES.get(message, message)) if message else ""


def code_message(code: str) -> str:
    """What an error says of which only the code was stored: that of no class stays as it is."""
    if code == "internal":
        return gettext("Something went wrong. It has been logged.")
    sentence = next((kind.default_message for kind in error_classes() if kind.code == code), None)
    return code if sentence is None else gettext(sentence)


def translated(sentence: Sentence, data: Mapping[str, Any]) -> str:
    """A sentence with its placeholders filled from data; an error in the data is a sentence of its own."""
    if isinstance(sentence, Plural):
        number = data.get(sentence.by)
        template = ngettext(sentence.one, sentence.other, number if isinstance(number, int) else 2)
    else:
        template = gettext(sentence)
    values = {name: error_message(value) if isinstance(value, RagError) else value for name, value in data.items()}
    return fill(template, {**values, "readable": readable_formats()} if "readable" in data else values)


def readable_formats() -> str:
    """What people call the formats of files that are read, as the parsers declare them: "CSV, Excel, Word"."""
    return pgettext("between formats", ", ").join(gettext(label) for label in FORMAT_ENDINGS)


def sentences() -> dict[tuple[str, str], Sentence]:
    """All sentences with a reason, by code and reason, of the error classes that are loaded."""
    return {(kind.code, reason): text for kind in error_classes() for reason, text in kind.reasons.items()}


def error_classes(kind: type[RagError] = RagError) -> Iterator[type[RagError]]:
    """All classes of expected errors that are loaded."""
    yield kind
    for below in kind.__subclasses__():
        yield from error_classes(below)
