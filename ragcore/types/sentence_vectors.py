"""Vectors of the sentences of a passage, found by their text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

SENTENCE_DIMENSIONS = 384
KEY_BYTES = 8
LARGEST = 127


@dataclass(frozen=True, slots=True)
class HeadedSentence:
    """A sentence, and the title and heading that it stands under."""

    head: str
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class SentenceVectors:
    """Directions of sentences in 8 bits a number: cosines differ by less than .01 from those of the numbers given."""

    keys: npt.NDArray[np.uint64]  # [n], of the texts
    numbers: npt.NDArray[np.int8]  # [n, 384]

    @classmethod
    def of(cls, texts: Sequence[str], vectors: npt.NDArray[np.float32]) -> SentenceVectors:
        """Of each text its vector, float32[n, 384] of any length but 0."""
        largest = np.abs(vectors).max(axis=1, keepdims=True, initial=1e-9)
        numbers = np.rint(vectors * (LARGEST / largest)).astype(np.int8)
        return cls(np.array([sentence_key(text) for text in texts], np.uint64), numbers)

    @classmethod
    def unpacked(cls, keys: bytes, numbers: bytes) -> SentenceVectors:
        """From what `packed` gives. Raises ValueError for anything else."""
        rows = np.frombuffer(numbers, np.int8).reshape(-1, SENTENCE_DIMENSIONS)
        names = np.frombuffer(keys, "<u8")
        if len(names) != len(rows):
            raise ValueError("as many keys as vectors are needed")
        return cls(names, rows)

    def packed(self) -> tuple[bytes, bytes]:
        """Keys and numbers."""
        return self.keys.astype("<u8").tobytes(), self.numbers.tobytes()

    def cosines(self, question: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """float32[n] with float32[384], L2-normalised."""
        rows = self.numbers.astype(np.float32)
        return np.asarray(rows @ question / np.maximum(np.linalg.norm(rows, axis=1), 1e-9), np.float32)


def direction(question: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """float32[384], L2-normalised, of a question's vector: what is compared with sentences."""
    first = question[:SENTENCE_DIMENSIONS]
    return np.asarray(first / max(float(np.linalg.norm(first)), 1e-9), np.float32)


def sentence_key(text: str) -> int:
    """Of 64 bits, the same in every process."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=KEY_BYTES).digest(), "little")
