"""Errors of the chat app."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from knowledge.file_errors import FileBusyError, FileUnmakeableError
from ragcore.errors import PermanentError, RagError, Sentence, TransientError


class BusyError(TransientError):
    """As many questions are being answered as may be."""

    code = "busy"
    default_message = "Too many questions are being answered at the moment. Please try again shortly."


class ConversationBusyError(TransientError):
    """The turn before this one in the same conversation did not end in time."""

    code = "conversation_busy"
    default_message = "The previous question of this conversation is still being answered."


class AnswerTimeoutError(TransientError):
    """A limit of time was reached."""

    code = "timeout"
    default_message = "The answer took too long."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "search": "The search took too long.",
    }


class NotApprovableError(PermanentError):
    """An answer was to be approved without a question, a text or a source."""

    code = "not_approvable"
    default_message = "An approved answer needs a question, an answer and at least one source."


class FactsNotApprovableError(PermanentError):
    """An answer that cites imported facts was to be approved: nothing says when such a fact has changed."""

    code = "facts_not_approvable"
    default_message = (
        "An answer that cites imported facts cannot be approved, because nobody is notified when they change."
    )


class ExportBusyError(FileBusyError):
    """Other files of answers are being made; this one's turn did not come in time."""

    default_message = "Another export is being prepared. Please try again shortly."


class ExportTooLongError(FileUnmakeableError):
    """A conversation takes too long to become a file of this format."""

    code = "export_too_long"
    default_message = "This is too long for a file of this format. Export it as Markdown, or export single answers."


class AttachmentNotReadyError(PermanentError):
    """A question names an attached file that is still being read, or could not be read."""

    code = "attachment_not_ready"
    default_message = "“%(name)s” is still being read. Ask again when it is ready."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "failed": "“%(name)s” could not be read. Remove it, then ask again.",
    }


class TooManyAttachmentsError(PermanentError):
    """A conversation has as many attached files as it may have, or a person as many bytes."""

    code = "too_many_attachments"
    default_message = "A conversation can have %(limit)s attached files. Remove one, or start a new chat."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "bytes": "Your attached files may have %(limit_mb)s MB together. Delete a conversation with files first.",
        "waiting": "%(limit)s attached files wait for their first question. Remove some, or try again tomorrow.",
        "text": "The file has too much text to be attached. Ask an owner of a knowledge set to add it there.",
    }


class AttachmentTooLargeError(PermanentError):
    """A file is larger than one that may be attached."""

    code = "upload_too_large"
    default_message = "Attached files may have %(limit_mb)s MB each."


class NotSharableError(PermanentError):
    """An answer that is not there yet, or never came, cannot be shared."""

    code = "not_sharable"
    default_message = "Only finished answers can be shared."


class CsrfFailedError(PermanentError):
    """A browser session sent a change without its token."""

    code = "csrf_failed"
    default_message = "The CSRF token is missing or wrong. Send it as X-CSRFToken, or use an API key."


class UnknownModelError(PermanentError):
    """The OpenAI-compatible API knows `ragsite` and `ragsite/<set code>`."""

    code = "not_found"
    default_message = "There is no such model."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "forbidden": "There is no model '%(model)s', or you may not use it.",
        "suffix": "There is no model '%(model)s'; after the colon use one of %(known)s.",
        "embedding": "There is no model '%(model)s'; use %(usual)s, or %(question)s for questions.",
        "usual": "There is no model '%(model)s'; use %(usual)s or %(usual)s/<set code>.",
    }


class InvalidAnswerRequestError(PermanentError):
    """A value of a question is missing, unknown or outside its limits; `faults` says which."""

    code = "invalid"
    default_message = "The request is not valid."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "field": "The request is not valid. %(field)s: %(problem)s",
        "last_event_id": "The header Last-Event-ID must be the number of an event.",
        "too_many_questions": (
            "%(questions)s questions at once are more than the %(limit)s that one person may ask in a minute."
        ),
        "needs_model": (
            "The request is not valid. %(field)s: a language model has to follow it, and none is connected. Leave it "
            "out, or connect one."
        ),
        "source_missing": "Say which source: document_id or chunk_id.",
    }


class _TurnError(RagError):
    """The error with which a turn ended elsewhere: its code and message, and what is needed to translate it."""

    def __init__(
        self, code: str, message: str, *, message_data: Mapping[str, str | int] | None = None, **data: Any
    ) -> None:
        super().__init__(**data)
        self.code = code  # type: ignore[misc]  # each instance stands for another error
        self.message, self.args = message, (message,)
        self._message_data = dict(message_data or {})

    def message_data(self) -> dict[str, str | int]:
        """That of the error it stands for."""
        return self._message_data


class TurnFailedError(_TurnError, TransientError):
    """A turn that ran elsewhere ended with an error; trying again may help."""


class TurnRefusedError(_TurnError, PermanentError):
    """A turn that ran elsewhere ended with an error that trying again does not cure."""
