"""Headers of GGUF files: what they say, and what is wrong with a file before anything is started with it."""

from __future__ import annotations

import os
import struct
import time

import pytest

from ragcore.model_file.errors import ModelFileError
from ragcore.model_file.gguf import read_model
from tests.ragcore.model_file.gguf_files import QWEN, header, text, write_gguf


def reason_of(path):
    with pytest.raises(ModelFileError) as caught:
        read_model(path)
    return caught.value.reason


def test_a_header_says_what_the_model_is(tmp_path):
    path = write_gguf(tmp_path / "m.gguf")

    model = read_model(path)

    assert (model.architecture, model.name, model.context_tokens) == ("qwen2", "Tiny Qwen", 4096)
    assert model.has_chat_template
    assert model.size_bytes == path.stat().st_size
    assert model.cache_bytes_per_token == 2 * 2 * (16 + 16) * 2  # layers, heads of keys and values, their size, 16 bits


def test_layers_of_different_size_are_added_up(tmp_path):
    values = {**QWEN, "qwen2.attention.head_count_kv": [2, 0], "qwen2.attention.key_length": 8}

    assert read_model(write_gguf(tmp_path / "m.gguf", values)).cache_bytes_per_token == 2 * (8 + 16) * 2


@pytest.mark.parametrize("odd", ["many", -1, 1.5, [-1, 2.5], True])
def test_odd_values_are_no_reason_to_fail(tmp_path, odd):
    values = {**QWEN, "qwen2.attention.head_count_kv": odd, "qwen2.context_length": odd, "general.name": 7}
    if odd == -1:
        values = {name: struct.pack("<Ii", 5, -1) if value == -1 else value for name, value in values.items()}
    elif isinstance(odd, list):
        values = {
            name: struct.pack("<IIQff", 9, 6, 2, *odd) if value is odd else value for name, value in values.items()
        }

    model = read_model(write_gguf(tmp_path / "m.gguf", values))

    assert (model.name, model.architecture) == ("", "qwen2")
    assert model.context_tokens >= 0
    assert model.cache_bytes_per_token >= 0


@pytest.mark.parametrize("missing", [1, 64 * 4, 64 * 4 + 500])
def test_a_file_without_its_end_is_cut(tmp_path, missing):
    assert reason_of(write_gguf(tmp_path / "m.gguf", missing_bytes=missing)) == "cut"


def test_a_file_that_ends_anywhere_in_its_header_is_cut(tmp_path):
    head, _size = header()
    for length in range(4, len(head), 7):
        path = tmp_path / "m.gguf"
        path.write_bytes(head[:length])
        assert reason_of(path) == "cut"


def test_how_much_is_there_is_said(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", tensors=((0, (1000, 1000, 500)),), missing_bytes=1_500_000_000)

    with pytest.raises(ModelFileError, match=r"m\.gguf is cut: 500 MB of at least 2\.0 GB are there"):
        read_model(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not_gguf"),
        (b"GG", "not_gguf"),
        (b"PK\x03\x04 not a model", "not_gguf"),
        (header(version=1)[0], "version"),
        (header(version=3 << 24)[0], "version"),  # written by a machine with the other order of bytes
        (header(counts=(1, 2**60))[0], "damaged"),
        (header(counts=(2**60, 1))[0], "damaged"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**63), "damaged"),  # a key of so many bytes
        (header({"a": struct.pack("<I", 99)})[0], "damaged"),  # a type that does not exist
        (header({"a": struct.pack("<IIQ", 9, 8, 2**62)})[0], "damaged"),  # an array of so many strings
        (
            header({"a": struct.pack("<IIQ", 9, 9, 1) * 1 + struct.pack("<IQ", 9, 1) * 90})[0],
            "damaged",
        ),  # in each other
        (header(QWEN, tensors=((0, (2**40, 2**40)),))[0], "damaged"),
        (header({**QWEN, "general.alignment": 2**31})[0], "damaged"),
        (header({"general.name": "no architecture"}, tensors=())[0], "damaged"),
    ],
)
def test_what_is_no_model_is_refused_by_name(tmp_path, content, reason):
    path = tmp_path / "m.gguf"
    path.write_bytes(content)

    assert reason_of(path) == reason


@pytest.mark.full
def test_a_header_that_promises_millions_of_strings_is_given_up(tmp_path):
    """80 MB of empty strings in arrays: more than the header of any model has."""
    array = struct.pack("<IIQ", 9, 8, 4_000_000) + bytes(32_000_000)
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 3) + (text("key") + array) * 3)
    started = time.process_time()

    assert reason_of(path) == "damaged"
    assert time.process_time() - started < 60


def test_a_path_that_is_no_file_is_named_as_what_it_is(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    assert reason_of(tmp_path / "none.gguf") == "missing"
    assert reason_of(tmp_path) == "folder"
    assert reason_of(tmp_path / "pipe") == "not_gguf"


@pytest.mark.parametrize(
    "values",
    [
        {**QWEN, "general.architecture": "bert"},
        {**QWEN, "general.type": "adapter"},
        {**QWEN, "general.architecture": "clip", "general.type": "mmproj"},
    ],
)
def test_models_that_do_not_write_are_refused(tmp_path, values):
    assert reason_of(write_gguf(tmp_path / "m.gguf", values)) == "other_kind"


def test_a_model_in_parts_needs_all_of_them_whole(tmp_path):
    values = {**QWEN, "split.count": 3}
    first, *further = [tmp_path / f"m-{number:05}-of-00003.gguf" for number in (1, 2, 3)]
    for path in (first, *further):
        write_gguf(path, values)

    assert read_model(first).size_bytes == 3 * first.stat().st_size
    assert reason_of(further[0]) == "first_part"
    write_gguf(further[0], values, missing_bytes=10)
    assert reason_of(first) == "cut"
    further[0].unlink()
    assert reason_of(first) == "part_missing"
    assert reason_of(write_gguf(tmp_path / "renamed.gguf", values)) == "damaged"


def test_another_model_has_another_digest_wherever_it_is(tmp_path):
    path, copy = write_gguf(tmp_path / "a.gguf"), write_gguf(tmp_path / "b.gguf")
    digest = read_model(path).digest

    assert read_model(copy).digest == digest
    with copy.open("r+b") as file:  # the same header, other weights
        file.seek(-1, 2)
        file.write(b"\1")
    assert read_model(copy).digest != digest
    assert read_model(write_gguf(copy, {**QWEN, "general.name": "B"})).digest != digest
