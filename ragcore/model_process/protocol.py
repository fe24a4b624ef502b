"""Messages of the model process; a connection carries one request and its answer.

A message is the length of its header as four bytes (big-endian), the header as JSON, and as many bytes as the header's
"bytes" says: float32, little-endian, row by row.
A request has no such bytes. Answers: {"state": "loading" | "waiting"} again and again as a sign of life, then once
{"rows": n, "columns": d, "batch": b} with n * d numbers, or {"error": {"class", "reason", "data"}}.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ragcore.errors import EmbedderRefusedError, ModelUnavailableError, RagError, RerankerRefusedError
from ragcore.ports import FloatArray

Read = Callable[[int], bytes]  # reads exactly so many bytes or raises EOFError

MAX_REQUEST_BYTES = 8 * 1024 * 1024
MAX_REQUEST_TEXTS = 256
MAX_ANSWER_HEADER_BYTES = 64 * 1024
MAX_NUMBERS_BYTES = 64 * 1024 * 1024
_LENGTH = struct.Struct(">I")
_NUMBER = np.dtype("<f4")
_ERRORS = {error.__name__: error for error in (EmbedderRefusedError, RerankerRefusedError, ModelUnavailableError)}
ESCAPED_BYTES = 12  # of a character in JSON, at most
OPTION_TYPES = (str, int, bool)


class RequestTooLargeError(ValueError):
    """A request of more than MAX_REQUEST_BYTES or MAX_REQUEST_TEXTS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelKey:
    """Which model: a loader of the server, a folder or name, and how it is loaded. Equal keys share the model."""

    kind: str
    source: str
    options: tuple[tuple[str, str | int | bool], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Texts for a model; none: it is only loaded. A cross-encoder reads each text together with `question`."""

    model: ModelKey
    texts: tuple[str, ...] = ()
    question: str = ""
    is_urgent: bool = False  # somebody waits for the answer to a question


@dataclass(frozen=True, slots=True)
class Answer:
    """float32[n, d], row i for text i. `batch`: texts that the model takes best at a time; 0: it does not say."""

    rows: FloatArray
    batch: int = 0


def text_batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts in order, as many together as a request surely takes; one that is too large is alone."""
    start = size = 0
    for at, text in enumerate(texts):
        size += ESCAPED_BYTES * (len(text) + 1)
        if at > start and (size > MAX_REQUEST_BYTES // 2 or at - start == MAX_REQUEST_TEXTS):
            yield texts[start:at]
            start, size = at, ESCAPED_BYTES * (len(text) + 1)
    yield texts[start:]


def encode_request(request: Request) -> bytes:
    """The message of a request. Raises RequestTooLargeError."""
    body = json.dumps(asdict(request)).encode()  # ASCII, so also lone surrogates arrive
    if len(body) > MAX_REQUEST_BYTES or len(request.texts) > MAX_REQUEST_TEXTS:
        raise RequestTooLargeError(f"{len(body)} bytes, {len(request.texts)} texts")
    return _LENGTH.pack(len(body)) + body


def read_request(read: Read) -> Request:
    """The request of a connection. Raises EOFError for half a message, ValueError for one that is none."""
    header = _header(read, MAX_REQUEST_BYTES)
    try:
        model, texts = header["model"], header["texts"]
        options = tuple((str(name), value) for name, value in model["options"])
        request = Request(
            model=ModelKey(kind=model["kind"], source=model["source"], options=options),
            texts=tuple(texts),
            question=header["question"],
            is_urgent=header["is_urgent"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError("not a request") from error
    _check(request)
    return request


def _check(request: Request) -> None:
    strings = (request.model.kind, request.model.source, request.question, *request.texts)
    values = [value for _, value in request.model.options]
    if not all(isinstance(text, str) for text in strings) or not isinstance(request.is_urgent, bool):
        raise ValueError("not a request")
    if not all(isinstance(value, OPTION_TYPES) for value in values):
        raise ValueError("not a request")
    if len(request.texts) > MAX_REQUEST_TEXTS:
        raise RequestTooLargeError(f"{len(request.texts)} texts")


def encode_state(state: str) -> bytes:
    """A sign of life."""
    return _message({"state": state})


def encode_answer(answer: Answer) -> bytes:
    """The numbers. Raises RequestTooLargeError where they do not fit into a message."""
    rows = np.ascontiguousarray(answer.rows, _NUMBER)
    if rows.nbytes > MAX_NUMBERS_BYTES:
        raise RequestTooLargeError(f"{rows.nbytes} bytes of numbers")
    header = {"rows": rows.shape[0], "columns": rows.shape[1], "batch": answer.batch, "bytes": rows.nbytes}
    return _message(header) + rows.tobytes()


def encode_error(error: RagError) -> bytes:
    """A failure that the client raises again, with what its sentence is filled from."""
    data = {name: value for name, value in error.message_data().items() if name != "reason"}
    return _message({"error": {"class": type(error).__name__, "reason": error.reason, "data": data}})


def read_answer(read: Read) -> Answer | str:
    """The numbers, or a state: the answer is still to come.

    Raises the error of the server, EOFError where it is gone, ValueError for what is no answer.
    """
    header = _header(read, MAX_ANSWER_HEADER_BYTES)
    if "state" in header:
        return str(header["state"])
    if "error" in header:
        raise _error(header["error"])
    try:
        rows, columns, batch = int(header["rows"]), int(header["columns"]), int(header["batch"])
    except (KeyError, TypeError) as error:
        raise ValueError("not an answer") from error
    size = rows * columns * _NUMBER.itemsize
    if min(rows, columns) < 0 or size > MAX_NUMBERS_BYTES or size != header.get("bytes"):
        raise ValueError("not an answer")
    numbers = np.frombuffer(read(size), _NUMBER).reshape(rows, columns)
    return Answer(numbers.astype(np.float32), batch)


def _error(values: Any) -> RagError:
    try:
        return _ERRORS[values["class"]](values["reason"], **values["data"])
    except (KeyError, TypeError) as error:
        raise ValueError("not an answer") from error


def _message(header: Mapping[str, Any]) -> bytes:
    body = json.dumps(header).encode()
    return _LENGTH.pack(len(body)) + body


def _header(read: Read, limit: int) -> dict[str, Any]:
    (length,) = _LENGTH.unpack(read(_LENGTH.size))
    if length > limit:
        raise RequestTooLargeError(f"a header of {length} bytes")
    try:
        header = json.loads(read(length))
    except (UnicodeDecodeError, RecursionError) as error:
        raise ValueError("not a message") from error
    if not isinstance(header, dict):
        raise ValueError("not a message")
    return header
