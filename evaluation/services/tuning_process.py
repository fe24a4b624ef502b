"""The program that trains a model, as its job sees it: lines that it says, and what is left in its folder.

It is a process of its own, so that no worker has PyTorch in its memory afterwards; see decision 067.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from django.conf import settings

import ragcore
from evaluation.training_errors import ModelTrainingError
from ragcore.model_file.sizes import size_words

logger = logging.getLogger(__name__)

PROGRAM = "ragcore.training.whole_model"
NEEDED = ("torch", "sentence_transformers")  # PyTorch is installed apart from the rest
INSTALL = "pip install -r requirements-torch.lock"
PASSED_ON = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "TMPDIR", "VIRTUAL_ENV")
LOG = "log"
LOG_CHARACTERS = 2000


def torch_check() -> None:
    """Raises ModelTrainingError, which says how to install it, where PyTorch is missing."""
    if any(find_spec(name) is None for name in NEEDED):
        raise ModelTrainingError("torch", command=INSTALL)


def models_folder() -> Path:
    """Where models are."""
    return Path(settings.DATA_DIR) / "models"


def work_folder(training_id: int) -> Path:
    """Of one training; it has people's words, and is gone when the training is over."""
    return Path(settings.DATA_DIR) / "trainings" / str(training_id)


def work_folder_remove(training_id: int) -> None:
    """Remove it with all that is in it."""
    shutil.rmtree(work_folder(training_id), ignore_errors=True)


@contextmanager
def tuning_process(folder: Path, way: Literal["estimate", "train"]) -> Iterator[Iterator[dict[str, Any]]]:
    """Lines of the program; the last one has `over`. It is ended with the context, wherever it is.

    The lines raise ModelTrainingError with the reason where it refuses, or ends by itself.
    """
    models_folder().mkdir(parents=True, exist_ok=True)
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    offline = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    with (folder / LOG).open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", PROGRAM, str(folder), way, str(models_folder())],
            stdin=subprocess.PIPE,  # which it reads until we are gone
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=Path(ragcore.__file__).parents[1],
            env={**environment, **offline},
        )
    try:
        yield _lines(process, folder)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def _lines(process: subprocess.Popen[bytes], folder: Path) -> Iterator[dict[str, Any]]:
    assert process.stdout is not None
    for line in process.stdout:
        if not line.startswith(b"{"):
            continue
        words: dict[str, Any] = json.loads(line)
        if "refused" in words:
            raise _refused(words["refused"], words["data"])
        yield words
        if "over" in words:
            return
    log = (folder / LOG).read_text(encoding="utf-8", errors="replace")[-LOG_CHARACTERS:]
    logger.error("the training in %s ended with %s: %s", folder, process.wait(), log)
    raise ModelTrainingError("ended")


def _refused(reason: str, data: dict[str, Any]) -> ModelTrainingError:
    sizes: dict[str, Any] = {name: size_words(data[name]) for name in ("needed", "available") if name in data}
    return ModelTrainingError(reason, **(data | sizes))
