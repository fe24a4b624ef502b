"""`python -m bench.peers.worker ENGINE FOLDER ANSWER`: one system on one set, in a process of its own."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Protocol, cast

from bench.peers.exchange import TOP_K, Answer, Task, answer_write, task_read

Search = Callable[[int], list[str]]  # number of a question -> ids, best first


class Engine(Protocol):
    """A module of bench.peers.engines."""

    DISTRIBUTIONS: tuple[str, ...]  # whose versions are reported

    def build(self, task: Task, variant: str) -> Search:
        """Index the passages."""


def main() -> None:
    """Whatever goes wrong ends the process with its traceback; the last line of it becomes the reason reported."""
    name, folder, out = sys.argv[1:]
    answer_write(Path(out), answer(name, task_read(Path(folder))))


def answer(name: str, task: Task) -> Answer:
    """`name`: a module of bench.peers.engines, and after a colon which way to use it."""
    module, _, variant = name.partition(":")
    engine = cast(Engine, import_module(f"bench.peers.engines.{module}"))
    start = time.perf_counter()
    search = engine.build(task, variant)
    index_seconds = time.perf_counter() - start
    search(0)  # what is loaded late is loaded now
    ranked, milliseconds = [], []
    for number in range(len(task.questions)):
        start = time.perf_counter()
        ranked.append(search(number)[:TOP_K])
        milliseconds.append(1000 * (time.perf_counter() - start))
    return Answer(
        ranked=ranked,
        milliseconds=milliseconds,
        index_seconds=index_seconds,
        peak_bytes=peak_bytes(),
        versions={distribution: version(distribution) for distribution in engine.DISTRIBUTIONS},
    )


def peak_bytes() -> int:
    """The most memory that this process held. Not ru_maxrss, which begins with that of the parent."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    main()
