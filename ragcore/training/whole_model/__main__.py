"""The process of one training: `python -m ragcore.training.whole_model FOLDER estimate|train MODELS`.

It tells where it stands in lines of JSON, and ends with a line `{"over": …}` or `{"refused": reason, "data": …}`. It
may be killed at any point: `train` goes on from the last state of its folder. It ends by itself when who started it
does. Of one folder one process works at a time; a second one waits.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ragcore.model_file.memory import available_bytes
from ragcore.training.whole_model.errors import TuneRefusedError
from ragcore.training.whole_model.plan import (
    AFTER,
    BEFORE,
    MODEL,
    PACKAGED,
    SCALED_EXAMPLES,
    STATE,
    TuneData,
    TunePlan,
    conflicts,
    fitting_scale,
    json_write,
    plan_read,
)

SAVED_SECONDS = 30.0  # between two states
TOLD_SECONDS = 5.0
TIMED_STEPS = 2
TIMED_TEXTS = 32
NICE = 10  # people's questions come first
PACKAGED_FOLDER = "multilingual-e5-small-trainable-1"


def main(arguments: list[str]) -> int:
    """Run; the exit code is 0 also where the training is refused."""
    folder, way, models = Path(arguments[0]), arguments[1], Path(arguments[2])
    _watch_parent()
    os.nice(NICE)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            plan, data = plan_read(folder)
            begin = _begin_folder(plan, models)
            over = estimated(plan, data, begin) if way == "estimate" else trained(folder, plan, data, begin)
        except TuneRefusedError as error:
            tell(refused=error.reason, data=error.data)
            return 0
        tell(over=over)
    return 0


def tell(**words: Any) -> None:
    """One line for who started this process."""
    print(json.dumps(words), flush=True)


def _watch_parent() -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Who started this process holds the other end of its input open."""
    sys.stdin.buffer.read()
    os._exit(1)


def _begin_folder(plan: TunePlan, models: Path) -> Path:
    """The folder of the model to begin with. Raises TuneRefusedError where memory or disk are too small for it."""
    from ragcore.training.whole_model.packaged_folder import packaged_folder

    tell(phase="loading")
    folder = packaged_folder(models / PACKAGED_FOLDER) if plan.folder == PACKAGED else Path(plan.folder)
    from ragcore.training.whole_model.encoder import needed_bytes

    needed, available = needed_bytes(folder), available_bytes()
    if available is not None and needed > available and not _has_gpu():
        raise TuneRefusedError("memory", needed=needed, available=available)
    free = shutil.disk_usage(models).free
    if needed > free:
        raise TuneRefusedError("disk", needed=needed, available=free)
    return folder


def _has_gpu() -> bool:
    import torch

    return bool(torch.cuda.is_available())


def _prepared(plan: TunePlan, data: TuneData, begin: Path) -> Any:
    """A training at its first step."""
    import torch

    from ragcore.training.whole_model.encoder import TunedEncoder
    from ragcore.training.whole_model.loop import SEED, Tuning

    torch.set_num_threads(plan.threads)
    torch.manual_seed(SEED)
    examples = data.examples
    texts = [text for example in examples for text in (example.question, example.passage, *example.negatives)]
    encoder = TunedEncoder(begin, plan, texts)
    questions = encoder.questions([example.question for example in examples], told("loading", len(examples)))
    related = conflicts(examples, questions)
    some = np.linspace(0, len(examples) - 1, min(SCALED_EXAMPLES, len(examples))).astype(int)
    passages = encoder.passages([examples[place].passage for place in some])
    scale = fitting_scale(questions[some] @ passages.T, related[np.ix_(some, some)])
    return Tuning(encoder, data, related, scale)


def told(phase: str, total: int) -> Callable[[int], None]:
    """Tells every few seconds how much is done."""
    last = time.monotonic()

    def alive(count: int) -> None:
        nonlocal last
        if time.monotonic() - last >= TOLD_SECONDS:
            last = time.monotonic()
            tell(phase=phase, done=count, total=total)

    return alive


# ── the two ways ────────────────────────────────────────────────────────────────────────────────


def estimated(plan: TunePlan, data: TuneData, begin: Path) -> dict[str, Any]:
    """Seconds of the whole training, by a few of its steps, and memory that they took. Nothing is kept."""
    import resource

    from ragcore.training.whole_model.grading import texts_to_judge

    loading = time.monotonic()
    tuning = _prepared(plan, data, begin)
    loading = time.monotonic() - loading
    tuning.advance()  # the first one allocates
    start = time.monotonic()
    steps = min(TIMED_STEPS, len(tuning.batches) - 1)
    for _ in range(steps):
        tuning.advance()
    of_step = (time.monotonic() - start) / max(steps, 1)
    some = list(data.passages[:TIMED_TEXTS])
    start = time.monotonic()
    tuning.encoder.passages(some)
    of_text = (time.monotonic() - start) / max(len(some), 1)
    texts = 2 * texts_to_judge(data)
    return {
        "device": tuning.encoder.device,
        "threads": plan.threads,
        "steps": len(tuning.batches),
        "step_seconds": round(of_step, 3),
        "judging_seconds": round(of_text * texts),
        "seconds": round(loading + of_step * len(tuning.batches) + of_text * texts),
        "memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1024 if sys.platform == "linux" else 1),
        "dimensions": tuning.encoder.dimensions,
    }


def trained(folder: Path, plan: TunePlan, data: TuneData, begin: Path) -> dict[str, Any]:
    """Go on with the training from its last state, to its end."""
    from ragcore.training.whole_model.grading import judge, texts_to_judge

    if (folder / MODEL).exists():
        return {}
    tuning = _prepared(plan, data, begin)
    if not (folder / BEFORE).exists():
        json_write(folder / BEFORE, judge(tuning.encoder, data, told("before", texts_to_judge(data))))
        tell(phase="before", saved=0)
    if (folder / STATE).exists():
        tuning.load(folder / STATE)
    saved = time.monotonic()
    while not tuning.is_over:
        tuning.advance()
        is_due = tuning.is_over or time.monotonic() - saved >= SAVED_SECONDS
        if is_due:
            tuning.save(folder / STATE)
            saved = time.monotonic()
        words = {"saved": tuning.step, "losses": tuning.epoch_losses()} if is_due else {}
        tell(phase="steps", done=tuning.step, total=len(tuning.batches), **words)
    after = judge(tuning.encoder, data, told("after", texts_to_judge(data)))
    json_write(folder / AFTER, {**after, "losses": tuning.epoch_losses(), "dimensions": tuning.encoder.dimensions})
    part = folder / f"{MODEL}.part"
    shutil.rmtree(part, ignore_errors=True)
    tuning.encoder.save(part)
    part.rename(folder / MODEL)
    return {}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
