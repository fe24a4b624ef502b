"""Errors that the core raises; each carries a stable code that clients may rely on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class RagError(Exception):
    """Base of all expected errors: a stable `code`, a sentence for people, data for programs."""

    code: ClassVar[str] = "error"
    default_message: ClassVar[str] = "Something went wrong."

    def __init__(self, message: str | None = None, /, **data: Any) -> None:
        self.message = message or self.default_message
        self.data: Mapping[str, Any] = data
        super().__init__(self.message)


class PermanentError(RagError):
    """Trying again will not help."""

    code = "permanent_error"


class TransientError(RagError):
    """Trying again later may help."""

    code = "transient_error"
    default_message = "The service is busy. Please try again in a moment."


class InvalidOptionsError(PermanentError):
    """An option has an unknown name or a value outside its range."""

    code = "invalid_options"
    default_message = "An option is unknown or out of range."


class UnsupportedFormatError(PermanentError):
    """No parser accepts files of this kind."""

    code = "unsupported_format"
    default_message = "Files of this format cannot be read."


class EmptyDocumentError(PermanentError):
    """The file was read, and no text was found in it."""

    code = "empty_document"
    default_message = "The document contains no text."


class CorruptDocumentError(PermanentError):
    """The file is damaged or not what its name says."""

    code = "corrupt_document"
    default_message = "The file is damaged or is not what its name says."


class PasswordProtectedError(PermanentError):
    """The file is encrypted."""

    code = "password_protected"
    default_message = "The file is protected by a password. Remove it and upload the file again."


class ResourceLimitError(PermanentError):
    """Reading the file took more memory, time or output than allowed."""

    code = "resource_limit"
    default_message = "Reading the file took more memory or time than is allowed."


class ConverterMissingError(PermanentError):
    """A format of old office programs that only LibreOffice reads, which is not installed here."""

    code = "converter_missing"
    default_message = "This old format can only be read where LibreOffice is installed. Save it in the newer format."


class UnsafeArchiveError(PermanentError):
    """An archive that unpacks to more than is allowed, nests too deeply, or wants to write elsewhere."""

    code = "unsafe_archive"
    default_message = "The archive is too large or too deep when unpacked, or it is built to do harm."


class RecognitionUnavailableError(TransientError):
    """The process that reads text from pictures ended or does not start."""

    code = "recognition_unavailable"
    default_message = "Character recognition is not available at the moment."


class ModelUnavailableError(TransientError):
    """A model server could not be reached, refused or timed out.

    `data["model"]`: the model that did not answer after all retries; not there where it refused at once.
    `data["busy"]`: whether its last word was that there are too many requests.
    """

    code = "model_unavailable"
    default_message = "The language model cannot be reached at the moment."


class EmbedderRefusedError(PermanentError):
    """The embedding model does not yield what the index needs (768 dimensions, usable 384 prefix)."""

    code = "embedder_refused"
    default_message = "The embedding model does not fit the index."


class RerankerRefusedError(PermanentError):
    """The reranking model cannot be loaded, or what it answers are no scores."""

    code = "reranker_refused"
    default_message = "The reranking model cannot be used."


class UrlNotAllowedError(PermanentError):
    """An address that may not be fetched: no web page, inside the own network, or leading there."""

    code = "url_not_allowed"
    default_message = "This address may not be fetched. Only public pages and the hosts that the operator names are."


class UrlUnreachableError(TransientError):
    """A host could not be found, did not answer in time, or answered with a fault of its own."""

    code = "url_unreachable"
    default_message = "The page could not be reached. Please try again later."


class UrlRefusedError(PermanentError):
    """The host answered that there is no such page, that it needs a sign-in, or that robots are not welcome."""

    code = "url_refused"
    default_message = "The site does not give this page to us."


class UrlTooLargeError(PermanentError):
    """More bytes than are allowed, counted while they arrive and after they are decompressed."""

    code = "url_too_large"
    default_message = "The page is larger than is allowed."
