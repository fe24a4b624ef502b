"""Errors that the core raises; each carries a stable code that clients may rely on.

A class declares the English sentences of its code, one by default and one per reason, with placeholders `%(name)s`.
`accounts/error_messages.py` translates an error by its code, reason and data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

PLACEHOLDER = re.compile(r"%\((\w+)\)s")


class Plural(NamedTuple):
    """A sentence whose form depends on a number; `by` names the placeholder that decides."""

    one: str
    other: str
    by: str


Sentence = str | Plural


class RagError(Exception):
    """Base of all expected errors: a stable `code`, a `reason` within it, an English `message`, data for programs."""

    code: ClassVar[str] = "error"
    default_message: ClassVar[str] = "Something went wrong."
    reasons: ClassVar[Mapping[str, Sentence]] = MappingProxyType({})  # reason → sentence

    def __init__(self, reason: str = "", /, **data: Any) -> None:
        """Raises KeyError for a reason that the class does not declare."""
        self.reason = reason
        self.sentence: Sentence = self.reasons[reason] if reason else self.default_message
        self.data: Mapping[str, Any] = data
        self.message = filled(self.sentence, data)
        super().__init__(self.message)

    def message_data(self) -> dict[str, str | int]:
        """What has to be stored beside `message` to translate it later, JSON-ready; empty for a default sentence."""
        if not self.reason:
            return {}
        values = {name: self.data[name] for name in placeholders(self.sentence) if name in self.data}
        return {"reason": self.reason, **{name: _plain(value) for name, value in values.items()}}


def filled(sentence: Sentence, data: Mapping[str, Any]) -> str:
    """The English sentence with its placeholders filled; one without a value in `data` becomes a question mark."""
    if isinstance(sentence, Plural):
        sentence = sentence.one if data.get(sentence.by) == 1 else sentence.other
    return fill(sentence, data) if PLACEHOLDER.search(sentence) else sentence


def fill(template: str, data: Mapping[str, Any]) -> str:
    """A template in any language with its placeholders filled; lists are joined."""
    values = {name: _joined(data.get(name, "?")) for name in PLACEHOLDER.findall(template)}
    return template % values


def placeholders(sentence: Sentence) -> set[str]:
    """The names that a sentence is filled from."""
    forms = sentence[:2] if isinstance(sentence, Plural) else (sentence,)
    return {name for form in forms for name in PLACEHOLDER.findall(form)}


def _joined(value: Any) -> Any:
    """Sentences are joined by semicolons, words by commas."""
    if not isinstance(value, (list, tuple)):
        return value
    texts = [str(item) for item in value]
    return ("; " if any(" " in text for text in texts) else ", ").join(texts)


def _plain(value: Any) -> str | int:
    """Short enough to be stored, and without characters that PostgreSQL does not take."""
    if isinstance(value, int):
        return value
    return str(_joined(value)).replace("\0", "").encode("utf-8", "replace").decode()[:500]


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
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "unknown_compression": "There is no compression '%(method)s' to %(ratio)s.",
        "unknown_strategy": "There is no strategy '%(strategy)s'.",
        "faults": "%(faults)s",
        "unknown_stage": "There is no stage '%(stage)s'.",
        "unknown_stage_option": "Stage '%(stage)s' has no option %(unknown)s.",
        "above": "Must not be more than %(limit)s, the value of %(other)s.",
        "loop_budget": "One context and one answer must together have at most %(most)s tokens, as all rounds.",
    }


class EmptyDocumentError(PermanentError):
    """The file was read, and no text was found in it."""

    code = "empty_document"
    default_message = "The document contains no text."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "archive": "The archive contains no file that can be read.",
        "no_bytes": "The file is empty (0 bytes).",
        "passage": "A passage needs text. To hide it, exclude it from search.",
    }


class CorruptDocumentError(PermanentError):
    """The file is damaged or not what its name says."""

    code = "corrupt_document"
    default_message = "The file is damaged or is not what its name says."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "sitemap_entities": "The sitemap declares XML entities, which is not allowed.",
        "not_a_sitemap": "This is not a sitemap.",
        "binary": "The file is binary, not text.",
        "json": "Line %(line)s of the file cannot be read as JSON.",
        "old_office": "This is a file of an old office program under a new name.",
        "page": "This page cannot be rendered.",
    }


class PasswordProtectedError(PermanentError):
    """The file is encrypted."""

    code = "password_protected"
    default_message = "Password-protected file. Remove the password, then upload it again."
    reasons: ClassVar[Mapping[str, Sentence]] = {"message": "The message is encrypted."}


class ResourceLimitError(PermanentError):
    """Reading the file took more memory, time or output than allowed."""

    code = "resource_limit"
    default_message = "Reading the file exceeded the limits of memory or time."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "slow_recognition": "Reading a picture took too long.",
        "slow_page": "Rendering this page took too long.",
        "large_source": "Source files of more than 2 MB are not read.",
        "minified_source": "Source files with lines of more than 5,000 characters are not read: programs made them.",
    }


class ConverterMissingError(PermanentError):
    """A format of old office programs that only LibreOffice reads, which is not installed here."""

    code = "converter_missing"
    default_message = "This old format can only be read where LibreOffice is installed. Save it in the newer format."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "save_as": (
            "This old format can only be read where LibreOffice is installed. Save it as "
            "%(format)s and upload it again."
        ),
    }


class SandboxUnavailableError(PermanentError):
    """Confinement is required (REQUIRE_SANDBOX) and this machine cannot confine the process that reads a file."""

    code = "sandbox_unavailable"
    default_message = "Files are not read here: this machine cannot confine the process that would read them."


class UnsafeArchiveError(PermanentError):
    """An archive that unpacks to more than is allowed, nests too deeply, or wants to write elsewhere."""

    code = "unsafe_archive"
    default_message = "The archive is too large or too deeply nested when unpacked, or malicious."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "xml_entities": "The file declares XML entities, which is not allowed.",
    }


class RecognitionUnavailableError(TransientError):
    """The process that reads text from pictures ended or does not start."""

    code = "recognition_unavailable"
    default_message = "Character recognition is not available at the moment."


class ModelUnavailableError(TransientError):
    """The reason says how. `data`: "model", "busy" after all retries; "status", "said" of a server that refused."""

    code = "model_unavailable"
    default_message = "The language model cannot be reached at the moment."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "unreachable": "The language model cannot be reached: no connection to its server.",
        "slow": "The language model did not begin to answer within %(seconds)s seconds.",
        "lost": "The server of the language model closed the connection before it answered.",
        "cut": "The language model stopped in the middle of its answer.",
        "rejected": "The server of the language model refused the request (HTTP %(status)s).",
        "rejected_said": "The server of the language model refused the request (HTTP %(status)s): %(said)s",
        "not_compatible": "Not an OpenAI-compatible server (HTTP %(status)s).",
        "not_a_stream": "Not an OpenAI-compatible server.",
        "reranker_busy": "The reranking model is busy.",
        "reranker_slow": "The reranking model is too slow.",
        "reranker_failed": "The reranking model failed: %(problem)s",
        "reranker_silent": "The reranking server does not answer: %(status)s.",
        "local_failed": "The local language model failed: %(problem)s.",
        "prompt_too_long": Plural(
            "The prompt of %(tokens)s token does not fit into the local language model.",
            "The prompt of %(tokens)s tokens does not fit into the local language model.",
            "tokens",
        ),
        "no_json": "The language model did not keep to the form that was asked for.",
        "no_call": "The language model called no tool, although one had to be called.",
        "out_of_context": "The prompt is longer than the context of the language model.",
        "local_not_loaded": "The local language model cannot be loaded.",
        "embedder_silent": "The embedding endpoint does not answer: %(problem)s.",
        "process_silent": "The process that computes with the model '%(model)s' does not answer: %(problem)s",
        "model_failed": "The model '%(model)s' failed: %(problem)s",
        "reranker_rests": "The reranker %(name)s is left alone for a while: %(problem)s",
        "empty_answer": "The language model returned an empty answer.",
    }

    @property
    def is_about_prompt(self) -> bool:
        """Whether the model does not take this prompt; another one may be answered."""
        return self.reason in ("prompt_too_long", "out_of_context") or self.data.get("status") in (400, 413, 422)


class AdapterRefusedError(PermanentError):
    """A query adapter cannot be used with the embedding model, or its file is damaged."""

    code = "adapter_refused"
    default_message = "The fitted query vectors cannot be used."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "dimensions": "The query vectors were fitted for %(found)s dimensions; the embedding model has %(wanted)s.",
        "damaged": "The stored query adapter is damaged.",
    }


class WeightsRefusedError(PermanentError):
    """Fitted weights cannot be used by the linear reranker of this version of the product."""

    code = "weights_refused"
    default_message = "The fitted weights cannot be used."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "features": "These weights were fitted for other features of the reranker. Fit them again.",
        "damaged": "The stored weights are damaged.",
    }


class EmbedderRefusedError(PermanentError):
    """The embedding model does not yield what the index needs (at least 64 dimensions, a usable 384 prefix)."""

    code = "embedder_refused"
    default_message = "The embedding model does not fit the index."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "not_prepared": "The built-in embedding model could not be prepared.",
        "package_missing": "The package %(package)s is not installed.",
        "weights_damaged": "The weights in the package %(package)s are damaged or of another version.",
        "wrong_count": Plural(
            "The embedding endpoint gave %(given)s vector for %(expected)s texts.",
            "The embedding endpoint gave %(given)s vectors for %(expected)s texts.",
            "given",
        ),
        "answer_format": "The embedding endpoint's answer is not in the expected format.",
        "request_refused": "The embedding endpoint refused the request: %(problem)s.",
        "not_loaded": "The embedding model '%(model)s' cannot be loaded: %(problem)s",
        "dimensions": (
            "The embedding model '%(model)s' gives %(dimensions)s dimensions; at least %(needed)s are needed."
        ),
        "vectors": "The embedding model '%(model)s' gives vectors that are zero or not finite.",
        "code_not_trusted": (
            "The embedding model '%(model)s' comes with code of its own, which runs only where it is allowed "
            "(EMBEDDER_TRUST_REMOTE_CODE=1)."
        ),
        "pooling": "The embedding model '%(model)s' has no pooling '%(pooling)s'.",
        "all_alike": "The embedding model '%(model)s' gives the same vector for every text.",
        "not_fitted": (
            "The embedding model '%(model)s' gives %(dimensions)s dimensions, and nothing says how to shorten them."
        ),
        "other_dimensions": (
            "The embedding model '%(model)s' gives %(dimensions)s dimensions; its stored vectors have %(needed)s."
        ),
        "other_weights": (
            "The embedding model '%(model)s' gives other vectors than when its stored ones were made: its weights have "
            "changed. Register the new weights under another name or folder, or bring the former ones back."
        ),
        "no_prefix": (
            "The embedding model '%(model)s' cannot be shortened to 768 numbers: "
            "only %(kept)s %% of the nearest texts stay the nearest."
        ),
        "cuts_texts": (
            "The embedding model '%(model)s' reads only %(tokens)s tokens of a text; at least %(least)s are needed."
        ),
    }


class RerankerRefusedError(PermanentError):
    """The reranking model cannot be loaded, or what it answers are no scores."""

    code = "reranker_refused"
    default_message = "The reranking model cannot be used."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "not_loaded": "The reranking model '%(model)s' cannot be loaded: %(problem)s",
        "several_numbers": Plural(
            "The model gives %(count)s number a pair; it does not rank.",
            "The model gives %(count)s numbers a pair; it does not rank.",
            "count",
        ),
        "no_ranking_head": "'%(model)s' is a %(kind)s without a head that ranks.",
        "classifier": Plural(
            "'%(model)s' sorts into %(count)s class; it does not rank.",
            "'%(model)s' sorts into %(count)s classes; it does not rank.",
            "count",
        ),
        "openvino_missing": (
            "RERANKER_BACKEND=openvino needs the package optimum-intel with openvino, which is "
            "not installed. Install it beside the product, or use torch or onnx."
        ),
        "wrong_count": Plural(
            "The reranking server gave %(given)s score for %(expected)s texts.",
            "The reranking server gave %(given)s scores for %(expected)s texts.",
            "given",
        ),
        "answer_format": "The reranking server's answer is not in the expected format.",
        "request_refused": "The reranking server refused the request: status %(status)s.",
        "answer_unreadable": "The reranking server's answer cannot be read: %(problem)s",
        "answer_endless": "The reranking server's answer does not end.",
        "scores_missing": "The reranker %(name)s did not give a number for every passage.",
        "not_exported": (
            "'%(model)s' has no exported model: %(files)s, and tokenizer.json, are needed. `python "
            "-m ragcore.reranking.cross_encoder_export MODEL FOLDER` makes them."
        ),
    }


class UrlNotAllowedError(PermanentError):
    """An address that may not be fetched: no web page, inside the own network, or leading there."""

    code = "url_not_allowed"
    default_message = "Private address. Ask an administrator to allow it under “Folders and hosts”."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "scheme": "Only addresses that begin with http:// or https:// can be fetched.",
        "credentials": "The address contains a user name or password. Remove it.",
        "not_an_address": "This is not a web address.",
        "port": "Port %(port)s may not be used. Allowed are %(allowed)s and %(first)s to %(last)s.",
    }


class UrlUnreachableError(TransientError):
    """A host could not be found, did not answer in time, or answered with a fault of its own."""

    code = "url_unreachable"
    default_message = "The page could not be reached. Please try again later."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "unknown_host": "The host of this address was not found.",
        "incomplete": "The site sent only a part of the page.",
        "damaged": "The site sent a damaged page.",
        "slow": "The page took too long to load.",
    }


class UrlRefusedError(PermanentError):
    """The host answered that there is no such page, that it needs a sign-in, or that robots are not welcome."""

    code = "url_refused"
    default_message = "The site refused access to this page."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "compression": "The site uses a compression that is not supported.",
        "redirect_loop": "The address redirects in a loop.",
        "robots": "The site does not allow programs to read this page (robots.txt).",
        "sign_in": "The page needs a sign-in.",
        "not_found": "There is no such page.",
        "gone": "The page no longer exists.",
    }


class UrlTooLargeError(PermanentError):
    """More bytes than are allowed, counted while they arrive and after they are decompressed."""

    code = "url_too_large"
    default_message = "The page is larger than is allowed."
