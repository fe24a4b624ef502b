"""A model that counts letters, for tests of the process around models; `python -m … SOCKET WAY` serves it.

The program prints the texts of each slice that it begins. Over the text "hold" it `stays` for ever, `dies`, or, with
any other word, goes on.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ragcore.model_process.protocol import ModelKey
from ragcore.model_process.server import ModelServer

LETTERS = "abcdefghijklmnopqrstuvwxyz"
HOLD = "hold"


class LettersModel:
    """Implements ServedModel; `before` is called with the texts of each slice."""

    batch = 5

    def __init__(self, before: Callable[[Sequence[str]], None] = lambda texts: None) -> None:
        self._before = before

    def compute(self, question: str, texts: Sequence[str]) -> np.ndarray:
        self._before(texts)
        return counts(texts) + counts([question])


def counts(texts: Sequence[str]) -> np.ndarray:
    """float32[n, 26]"""
    return np.array([[text.count(letter) for letter in LETTERS] for text in texts], np.float32)


def letters(source: str = "letters", **options: str | int | bool) -> ModelKey:
    return ModelKey(kind="letters", source=source, options=tuple(sorted(options.items())))


@contextmanager
def serving(path: Path, *, most_models: int = 4, **loaders: Callable[..., object]) -> Iterator[ModelServer]:
    """A server in threads of this process."""
    loaders = loaders or {"letters": lambda source: LettersModel()}
    with ModelServer(path, loaders, most_models=most_models) as server:
        thread = threading.Thread(target=server.serve)
        thread.start()
        try:
            yield server
        finally:
            server.stop()
            thread.join()


def main(path: Path, over: str) -> None:
    def load(source: str) -> LettersModel:
        return LettersModel(before)

    def before(texts: Sequence[str]) -> None:
        tell(" ".join(texts))
        if HOLD in texts and over == "stays":
            threading.Event().wait()
        if HOLD in texts and over == "dies":
            os._exit(1)

    with ModelServer(path, {"letters": load}, most_models=4) as server:
        tell("ready")
        server.serve()


def tell(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
