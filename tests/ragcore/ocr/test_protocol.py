from __future__ import annotations

import json
import struct
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.ocr import protocol
from ragcore.types import Pixels, RecognisedLine

numbers = st.floats(min_value=0, max_value=5000, width=32)
lines = st.builds(
    RecognisedLine, text=st.text(max_size=30), score=numbers, x0=numbers, y0=numbers, x1=numbers, y1=numbers
)


def exactly(source: BytesIO):
    def read(count: int) -> bytes:
        data = source.read(count)
        if len(data) < count:
            raise EOFError
        return data

    return read


@st.composite
def pictures(draw):
    width, height = draw(st.integers(1, 20)), draw(st.integers(1, 20))
    channels = draw(st.sampled_from((1, 3)))
    size = width * height * channels
    return Pixels(width=width, height=height, channels=channels, data=draw(st.binary(min_size=size, max_size=size)))


@given(st.lists(pictures(), max_size=3))
def test_pictures_sent_one_after_the_other_arrive_as_they_were(sent):
    channel = exactly(BytesIO(b"".join(map(protocol.encode_request, sent))))

    assert [protocol.read_request(channel) for _ in sent] == sent


@given(st.lists(lines, max_size=5))
def test_lines_survive_an_answer(sent):
    message = protocol.encode_answer({"lines": protocol.lines_to_json(sent), "rss_bytes": 1})

    assert protocol.lines_from_json(protocol.read_answer(exactly(BytesIO(message)))) == sent


@pytest.mark.parametrize(
    "said", [{}, {"lines": 3}, {"lines": [{"text": "no box"}]}, {"lines": [{"text": "x", "score": None}]}]
)
def test_an_answer_that_is_none_is_refused(said):
    with pytest.raises(ValueError, match="not an answer"):
        protocol.lines_from_json(said)


def test_a_worker_that_hangs_up_ends_the_reading():
    message = protocol.encode_answer({"lines": []})

    with pytest.raises(EOFError):
        protocol.read_answer(exactly(BytesIO(message[:-1])))


def test_an_endless_answer_is_refused_before_it_is_read():
    with pytest.raises(ValueError, match="too long"):
        protocol.read_answer(exactly(BytesIO(struct.pack(">I", 2**31))))


def test_an_answer_must_be_an_object():
    body = json.dumps([1]).encode()

    with pytest.raises(ValueError, match="not an answer"):
        protocol.read_answer(exactly(BytesIO(struct.pack(">I", len(body)) + body)))
