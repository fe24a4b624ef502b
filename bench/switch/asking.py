"""People who ask without a pause: each answer with its time, its documents, or what failed. `python -m` for a process.

Arguments: a JSON file with what is asked, and the file that answers are written to. It ends when its input is closed.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODES = ("vector", "hybrid")


@dataclass(frozen=True, slots=True)
class Answered:
    """One question as it was answered."""

    question: int
    mode: str
    start: float  # seconds since the epoch
    seconds: float
    model: str  # in use in the process when it was asked
    found: tuple[str, ...]  # external ids, best first
    error: str = ""


def asked_once(scope: Any, set_id: int, questions: list[str], number: int, mode: Any) -> Answered:
    """Ask one question; an error is a figure, too."""
    from knowledge import model_registry
    from knowledge.services import retrieve
    from knowledge.types import RetrievalRequest

    start, begin = time.time(), time.perf_counter()
    model = model_registry.live_model()
    try:
        request = RetrievalRequest(query=questions[number], sets=(set_id,), top_k=10, mode=mode)
        state = retrieve(scope=scope, request=request).state
        names = dict.fromkeys(c.passage.external_id for c in state.candidates if c.passage is not None)
        return Answered(number, mode, start, time.perf_counter() - begin, model, tuple(names))
    except Exception as error:  # noqa: BLE001 - whatever fails is what is counted
        text = f"{type(error).__name__}: {error}"
        return Answered(number, mode, start, time.perf_counter() - begin, model, (), text)


def asked_until(
    scope: Any, set_id: int, questions: list[str], is_over: Callable[[], bool], *, first: int = 0
) -> Iterator[Answered]:
    """One question after the other, in both modes, from `first` on and round again."""
    number = first
    while not is_over():
        for mode in MODES:
            yield asked_once(scope, set_id, questions, number % len(questions), mode)
        number += 1


def main() -> None:
    """A process of its own, which learns of changes as every process does."""
    import django

    django.setup()
    from accounts.models import User
    from accounts.selectors import scope_for

    asked = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    over = threading.Event()
    threading.Thread(target=_wait_for_end, args=(over,), daemon=True).start()
    scope = scope_for(User.objects.get(username=asked["user"]))
    with Path(sys.argv[2]).open("w", encoding="utf-8") as written, suppress(BrokenPipeError):
        for one in asked_until(scope, asked["set"], asked["questions"], over.is_set, first=asked["first"]):
            row = [one.question, one.mode, one.start, one.seconds, one.model, one.found, one.error]
            written.write(json.dumps(row) + "\n")
            written.flush()


def _wait_for_end(over: threading.Event) -> None:
    """Sets the event when the input is closed."""
    sys.stdin.read()
    over.set()


if __name__ == "__main__":
    main()
