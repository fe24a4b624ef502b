"""The header of a GGUF file: what the model is, and whether the whole file is there.

The format: github.com/ggml-org/ggml, docs/gguf.md. Counts and lengths come from the file and are believed only as far
as it has the bytes for them, and within limits that no real model reaches: a hostile header costs seconds at most.
Little-endian files of the versions 2 and 3 are read, which is what llama.cpp loads.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ragcore.model_file.errors import ModelFileError
from ragcore.model_file.sizes import size_words

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MOST_HEADER_BYTES = 64 * 1024 * 1024  # vocabularies of 300,000 words take 15
MOST_FIELDS = 10_000
MOST_TENSORS = 100_000
MOST_ELEMENTS = 4_000_000  # of an array: the largest vocabularies have 300,000 words
MOST_STRING_BYTES = 16 * 1024 * 1024  # chat templates have some kilobytes
MOST_DIMENSIONS = 8
MOST_DEPTH = 4  # arrays in arrays
MOST_PARTS = 1000
MOST_BYTES = 2**62  # of a tensor
SAMPLES, SAMPLE_BYTES = 16, 4096  # of the weights, in the digest

STRING, ARRAY = 8, 9
NUMBERS: Mapping[int, struct.Struct] = {  # type of a value → how it is packed
    number: struct.Struct(f"<{code}")
    for number, code in zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True)
}
U32, U64 = NUMBERS[4], NUMBERS[10]
# Type of a tensor → weights in a block, bytes of a block (ggml, GGML_QUANT_SIZES). Others: the offset alone is checked.
BLOCKS: Mapping[int, tuple[int, int]] = {
    0: (1, 4),
    1: (1, 2),
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    10: (256, 84),
    11: (256, 110),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
    15: (256, 292),
    16: (256, 66),
    17: (256, 74),
    18: (256, 98),
    19: (256, 50),
    20: (32, 18),
    21: (256, 110),
    22: (256, 82),
    23: (256, 136),
    24: (1, 1),
    25: (1, 2),
    26: (1, 4),
    27: (1, 8),
    28: (1, 8),
    29: (256, 56),
    30: (1, 2),
    34: (256, 54),
    35: (256, 66),
    39: (32, 17),
}
PART = re.compile(r"(?P<stem>[^/]{1,200})-(?P<number>\d{5})-of-(?P<total>\d{5})\.gguf")
# Architectures of models that make vectors or read pictures; all others write.
NOT_WRITING = frozenset({
    *("bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2", "jina-bert-v3", "eurobert"),
    *("gemma-embedding", "t5encoder", "clip", "wavtokenizer-dec"),
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufModel:
    """What the header says. Zero and "" where it says nothing."""

    path: Path
    size_bytes: int  # of all parts
    architecture: str
    name: str  # general.name
    context_tokens: int  # that it was trained for
    has_chat_template: bool
    cache_bytes_per_token: int  # of keys and values as 16-bit numbers
    digest: str  # of the header, the size and samples of the weights: another one for another model


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """One file as it says itself."""

    values: Mapping[str, Any]  # numbers, strings and short arrays of numbers by key
    end: int  # bytes of the header
    needed_bytes: int  # that the file must have at least


def read_model(path: Path) -> GgufModel:
    """The model of a file, with its further parts where it is split. Raises ModelFileError: see its reasons."""
    header, size = _checked(path)
    values = header.values
    architecture = _text(values, "general.architecture")
    kind = _text(values, "general.type")
    if architecture in NOT_WRITING or kind in ("adapter", "mmproj"):
        raise ModelFileError("other_kind", path=str(path), kind=kind if kind in ("adapter", "mmproj") else architecture)
    if not architecture:
        raise ModelFileError("damaged", path=str(path))
    return GgufModel(
        path=path,
        size_bytes=size + sum(_checked(part)[1] for part in _further_parts(path, values)),
        architecture=architecture,
        name=_text(values, "general.name"),
        context_tokens=_number(values, f"{architecture}.context_length"),
        has_chat_template=bool(_text(values, "tokenizer.chat_template")),
        cache_bytes_per_token=_cache_bytes_per_token(values, architecture),
        digest=_digest(path, header.end, size),
    )


def _checked(path: Path) -> tuple[Header, int]:
    """The header of one file that is whole, and its size in bytes."""
    try:
        if path.is_dir():
            raise ModelFileError("folder", path=str(path))
        if path.exists() and not path.is_file():  # a device, a pipe
            raise ModelFileError("not_gguf", path=str(path))
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            header = _Reader(file, size, path).header()
    except FileNotFoundError:
        raise ModelFileError("missing", path=str(path)) from None
    except OSError as error:
        raise ModelFileError("unreadable", path=str(path), fault=error.strerror or type(error).__name__) from None
    if size < header.needed_bytes:
        raise _cut(path, size, header.needed_bytes)
    return header, size


def _cut(path: Path, size: int, needed: int) -> ModelFileError:
    return ModelFileError("cut", path=str(path), size=size_words(size), needed=size_words(needed))


class _Reader:
    """Reads the header from the beginning of an open file."""

    def __init__(self, file: BinaryIO, size: int, path: Path) -> None:
        self._file, self._size, self._path = file, size, path
        self._position = 0

    def header(self) -> Header:
        """Raises ModelFileError where this is none, or not a whole one."""
        if self._take(min(4, self._size)) != MAGIC:
            raise ModelFileError("not_gguf", path=str(self._path))
        version = self._number(U32)
        if version not in VERSIONS:
            raise ModelFileError("version", path=str(self._path), version=str(version))
        tensors, fields = self._number(U64), self._number(U64)
        self._expect(tensors <= MOST_TENSORS and fields <= MOST_FIELDS)
        values: dict[str, Any] = {}
        for _ in range(fields):
            key = self._string()
            value = self._value(self._number(U32))
            if value is not None:
                values[key] = value
        ends = [self._tensor_end() for _ in range(tensors)]
        alignment = _number(values, "general.alignment") or 32
        self._expect(alignment <= 2**20)
        begin = -(-self._position // alignment) * alignment
        return Header(values=values, end=self._position, needed_bytes=begin + max(ends) if ends else self._position)

    def _tensor_end(self) -> int:
        """Where a tensor ends, in bytes after the beginning of all tensors."""
        self._string()
        dimensions = self._number(U32)
        self._expect(dimensions <= MOST_DIMENSIONS)
        weights: int = 1
        for _ in range(dimensions):
            weights *= self._number(U64)
            self._expect(weights <= MOST_BYTES)
        kind: int = self._number(U32)
        offset: int = self._number(U64)
        self._expect(offset <= MOST_BYTES)
        block, block_bytes = BLOCKS.get(kind, (1, 0))
        return offset + -(-weights // block) * block_bytes

    def _value(self, kind: int, depth: int = 0) -> Any:
        """A number, a string or an array of numbers; None for arrays of anything else, which are skipped."""
        if kind in NUMBERS:
            return self._number(NUMBERS[kind])
        if kind == STRING:
            return self._string()
        self._expect(kind == ARRAY and depth < MOST_DEPTH)
        element, count = self._number(U32), self._number(U64)
        self._expect(count <= MOST_ELEMENTS)
        if element in NUMBERS:
            return self._numbers(NUMBERS[element], count)
        for _ in range(count):
            if element == STRING:
                self._skip(self._length())
            else:
                self._value(element, depth + 1)
        return None

    def _numbers(self, packed: struct.Struct, count: int) -> list[Any] | None:
        """Of each layer there is one number at most; longer arrays, of tokens, are skipped."""
        if count > MOST_PARTS:
            self._skip(count * packed.size)
            return None
        return [self._number(packed) for _ in range(count)]

    def _string(self) -> str:
        return self._take(self._length()).decode("utf-8", "replace")

    def _length(self) -> int:
        length: int = self._number(U64)
        self._expect(length <= MOST_STRING_BYTES)
        return length

    def _number(self, packed: struct.Struct) -> Any:
        return packed.unpack(self._take(packed.size))[0]

    def _take(self, count: int) -> bytes:
        content = self._file.read(count)
        self._position += count
        self._expect(self._position <= MOST_HEADER_BYTES)
        if len(content) < count:
            raise _cut(self._path, self._size, self._position)
        return content

    def _skip(self, count: int) -> None:
        self._position += count
        self._expect(self._position <= MOST_HEADER_BYTES)
        if self._position > self._size:
            raise _cut(self._path, self._size, self._position)
        self._file.seek(count, 1)

    def _expect(self, is_possible: bool) -> None:
        if not is_possible:
            raise ModelFileError("damaged", path=str(self._path))


def _further_parts(path: Path, values: Mapping[str, Any]) -> list[Path]:
    """The other files of a model that is split, as llama.cpp looks for them beside the first one."""
    total = _number(values, "split.count")
    if total <= 1:
        return []
    match = PART.fullmatch(path.name)
    if total > MOST_PARTS or match is None or int(match["total"]) != total:
        raise ModelFileError("damaged", path=str(path))
    names = [f"{match['stem']}-{number:05}-of-{total:05}.gguf" for number in range(1, total + 1)]
    if path.name != names[0]:
        raise ModelFileError("first_part", path=str(path), first=names[0])
    parts = [path.with_name(name) for name in names[1:]]
    if missing := [part.name for part in parts if not part.is_file()]:
        raise ModelFileError("part_missing", path=str(path), parts=str(total), missing=missing[0])
    return parts


def _cache_bytes_per_token(values: Mapping[str, Any], architecture: str) -> int:
    """Bytes of keys and values of one token, at 16 bits. An upper bound: windows and compression are not counted."""
    layers = min(_number(values, f"{architecture}.block_count"), MOST_PARTS)
    heads = max(1, _number(values, f"{architecture}.attention.head_count"))
    size = _number(values, f"{architecture}.embedding_length") // heads
    key = _number(values, f"{architecture}.attention.key_length") or size
    value = _number(values, f"{architecture}.attention.value_length") or size
    by_layer = values.get(f"{architecture}.attention.head_count_kv")
    if isinstance(by_layer, list):
        all_heads = sum(count for count in by_layer if isinstance(count, int) and count > 0)
    else:
        all_heads = (_number(values, f"{architecture}.attention.head_count_kv") or heads) * layers
    return all_heads * (key + value) * 2


def _number(values: Mapping[str, Any], key: str) -> int:
    """A whole number above zero, the largest one of an array; 0 for anything else."""
    value = values.get(key)
    if isinstance(value, list):
        value = max((item for item in value if isinstance(item, int)), default=0)
    return value if isinstance(value, int) and 0 < value < MOST_BYTES else 0


def _text(values: Mapping[str, Any], key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""


def _digest(path: Path, header_bytes: int, size: int) -> str:
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        digest.update(file.read(header_bytes))
        for number in range(SAMPLES):
            file.seek(header_bytes + (size - header_bytes) * number // SAMPLES)
            digest.update(file.read(SAMPLE_BYTES))
    return digest.hexdigest()[:32]
