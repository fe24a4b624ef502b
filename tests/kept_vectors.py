"""What a packaged model computes of a list of tokens, kept on disk for all processes of a run, and for later runs.

A row is found by the tokens and by what makes the model: the code of the embedders and of their export, and the
packages with the weights and the runtime. Tests of the models themselves compute each time.
"""

from __future__ import annotations

import hashlib
import platform
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any

import numpy as np
import pytest

from ragcore.embedding.e5 import E5Small
from ragcore.embedding.minilm import MiniLm
from ragcore.ports import FloatArray
from tests.services_plugin import ROOT, kept_folder

MINILM_RUN, E5_OUTPUT = MiniLm._run, E5Small._output  # where nothing is kept
SOURCES = ("ragcore/embedding/*.py", "ragcore/embedding/e5_pairs_1.npz", "ragcore/onnx_session.py", "requirements.lock")
KEPT_FILES = 5
MOST_NUMBERS = 1000  # of a text on disk; the states of all its tokens stay in the process
WAIT_SECONDS = 60.0  # while another process writes a row
TABLE = "CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, numbers BLOB, width INT) WITHOUT ROWID"


class KeptVectors:
    """float32 arrays by model and tokens. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._memory: dict[bytes, FloatArray] = {}
        self._file: sqlite3.Connection | None = None

    def of(self, model: str, tokens: Sequence[int], compute: Callable[[], FloatArray]) -> FloatArray:
        """What `compute` returns, or has returned before."""
        key = hashlib.blake2b(model.encode() + np.asarray(tokens, np.int64).tobytes(), digest_size=16).digest()
        if key not in self._memory:
            if (numbers := self._read(key)) is None:
                self._write(key, numbers := compute())
            self._memory[key] = numbers
        return self._memory[key]

    def _read(self, key: bytes) -> FloatArray | None:
        with self._lock:
            row = self._opened().execute("SELECT numbers, width FROM kept WHERE key = ?", [key]).fetchone()
        if row is None:
            return None
        numbers = np.frombuffer(row[0], dtype=np.float32).copy()
        return numbers.reshape(-1, row[1]) if row[1] else numbers

    def _write(self, key: bytes, numbers: FloatArray) -> None:
        if numbers.size > MOST_NUMBERS or numbers.ndim > 2:
            return
        row = (key, numbers.tobytes(), numbers.shape[1] if numbers.ndim == 2 else 0)
        with self._lock:
            self._opened().execute("INSERT OR IGNORE INTO kept VALUES (?, ?, ?)", row)

    def _opened(self) -> sqlite3.Connection:
        if self._file is None:
            folder = kept_folder("vectors")
            path = folder / f"{_version()}.sqlite3"
            self._file = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
            self._file.execute("PRAGMA synchronous = OFF")
            self._file.execute(TABLE)
            for old in sorted(folder.glob("*.sqlite3"), key=lambda file: file.stat().st_mtime)[:-KEPT_FILES]:
                with suppress(FileNotFoundError):  # another process deletes it, too
                    old.unlink()
        return self._file


def vectors_keep(patch: pytest.MonkeyPatch) -> None:
    """From now on each text is computed once."""
    kept = KeptVectors()

    def run(self: MiniLm, token_ids: Sequence[int]) -> FloatArray:
        return kept.of("minilm", token_ids, lambda: MINILM_RUN(self, token_ids))

    def output(self: E5Small, session: Any, name: str, token_ids: Sequence[int]) -> FloatArray:
        return kept.of(f"e5 {name}", token_ids, lambda: E5_OUTPUT(self, session, name, token_ids))

    patch.setattr(MiniLm, "_run", run)
    patch.setattr(E5Small, "_output", output)


def _version() -> str:
    made_from = hashlib.sha256(platform.machine().encode())
    for pattern in SOURCES:
        for file in sorted(ROOT.glob(pattern)):
            made_from.update(file.read_bytes())
    return made_from.hexdigest()[:16]
