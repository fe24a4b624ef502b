"""Messages of the model process: what was sent arrives, and nothing else is taken for a message."""

from __future__ import annotations

import io
import json
import struct

import numpy as np
import pytest

from ragcore.errors import EmbedderRefusedError, ModelUnavailableError
from ragcore.model_process.protocol import (
    MAX_REQUEST_BYTES,
    MAX_REQUEST_TEXTS,
    Answer,
    ModelKey,
    Request,
    RequestTooLargeError,
    encode_answer,
    encode_error,
    encode_request,
    encode_state,
    read_answer,
    read_request,
    text_batches,
)

KEY = ModelKey(kind="sentences", source="/models/one", options=(("max_tokens", 0), ("pooling", "")))


def reader(message: bytes):
    stream = io.BytesIO(message)

    def read(count):
        part = stream.read(count)
        if len(part) < count:
            raise EOFError
        return part

    return read


def message(header: object, *, length: int | None = None) -> bytes:
    body = json.dumps(header).encode()
    return struct.pack(">I", len(body) if length is None else length) + body


@pytest.mark.parametrize(
    "request_",
    [
        Request(model=KEY),
        Request(model=KEY, texts=("", "基站已断电", "\ud800 half a pair", "x" * 10_000), is_urgent=True),
        Request(model=ModelKey(kind="pairs", source="m"), texts=("a passage",), question="a question"),
    ],
)
def test_a_request_arrives_as_it_was_sent(request_):
    assert read_request(reader(encode_request(request_))) == request_


def test_numbers_arrive_bit_for_bit():
    rows = np.random.default_rng(1).standard_normal((3, 5)).astype(np.float32)

    answer = read_answer(reader(encode_answer(Answer(rows, batch=8))))

    assert isinstance(answer, Answer)
    assert answer.batch == 8
    np.testing.assert_array_equal(answer.rows, rows)


def test_signs_of_life_are_told_from_answers():
    assert read_answer(reader(encode_state("loading"))) == "loading"


def test_an_error_is_raised_as_it_was_with_what_its_sentence_needs():
    error = EmbedderRefusedError("not_loaded", model="/models/one", problem="no weights")

    with pytest.raises(EmbedderRefusedError) as raised:
        read_answer(reader(encode_error(error)))

    assert (raised.value.reason, raised.value.message) == (error.reason, error.message)


def test_a_default_sentence_arrives_too():
    with pytest.raises(ModelUnavailableError):
        read_answer(reader(encode_error(ModelUnavailableError())))


@pytest.mark.parametrize(
    "header",
    [
        [],
        "text",
        {},
        {"model": {"kind": "a", "source": "b", "options": []}, "texts": [1], "question": "", "is_urgent": False},
        {"model": {"kind": "a", "source": "b", "options": []}, "texts": [], "question": None, "is_urgent": False},
        {"model": {"kind": "a", "source": "b", "options": [["x", []]]}, "texts": [], "question": "", "is_urgent": True},
        {"model": {"kind": "a", "source": "b", "options": [1]}, "texts": [], "question": "", "is_urgent": True},
        {"model": {"kind": "a", "source": "b", "options": []}, "texts": 5, "question": "", "is_urgent": True},
        {"model": None, "texts": [], "question": "", "is_urgent": True},
    ],
)
def test_what_is_no_request_is_refused(header):
    with pytest.raises(ValueError, match="not a"):
        read_request(reader(message(header)))


@pytest.mark.parametrize("body", [b"\xff\xfe", b"{", b"[" * 100_000])
def test_what_is_no_json_is_refused(body):
    with pytest.raises(ValueError):  # noqa: PT011 - json has its own words
        read_request(reader(struct.pack(">I", len(body)) + body))


def test_a_request_is_refused_by_its_length_before_it_is_read():
    with pytest.raises(RequestTooLargeError):
        read_request(reader(struct.pack(">I", MAX_REQUEST_BYTES + 1)))


def test_half_a_message_is_an_end():
    whole = encode_request(Request(model=KEY, texts=("text",)))

    for length in (0, 2, 4, len(whole) - 1):
        with pytest.raises(EOFError):
            read_request(reader(whole[:length]))


@pytest.mark.parametrize(
    "header",
    [
        {},
        {"rows": 1, "columns": 2, "batch": 0, "bytes": 4},
        {"rows": -1, "columns": -2, "batch": 0, "bytes": 8},
        {"rows": 10**6, "columns": 10**6, "batch": 0, "bytes": 4 * 10**12},
        {"rows": None, "columns": 2, "batch": 0},
        {"error": {"class": "SystemExit", "reason": "", "data": {}}},
        {"error": {"class": "EmbedderRefusedError", "reason": "no such reason", "data": {}}},
        {"error": "words"},
    ],
)
def test_what_is_no_answer_is_refused(header):
    with pytest.raises(ValueError, match="not an answer"):
        read_answer(reader(message(header)))


class TestTextBatches:
    def test_texts_stay_in_order_and_batches_are_accepted(self):
        texts = [str(number) * 500 for number in range(2 * MAX_REQUEST_TEXTS + 3)]

        batches = list(text_batches(texts))

        assert [text for batch in batches for text in batch] == texts
        assert len(batches) == 3
        for batch in batches:
            encode_request(Request(model=KEY, texts=tuple(batch)))

    def test_long_texts_are_shared_out(self):
        texts = ["断" * 100_000] * 20

        batches = list(text_batches(texts))

        assert sum(map(len, batches)) == 20
        for batch in batches:
            encode_request(Request(model=KEY, texts=tuple(batch)))

    def test_a_text_that_no_request_takes_is_alone_and_refused(self):
        batches = list(text_batches(["a", "断" * MAX_REQUEST_BYTES, "b"]))

        assert [len(batch) for batch in batches] == [1, 1, 1]
        with pytest.raises(RequestTooLargeError):
            encode_request(Request(model=KEY, texts=tuple(batches[1])))
