"""Models that are converted to ONNX once, in a process of its own, and kept in the folder of models."""

from __future__ import annotations

import fcntl
import logging
import subprocess
import sys
from pathlib import Path

import ragcore
from ragcore.errors import EmbedderRefusedError

EXPORT_TIMEOUT_SECONDS = 900  # half a minute on an idle machine

logger = logging.getLogger(__name__)


def ensure_exported(target: Path, exporter: str) -> Path:
    """The file or folder that the module `exporter` makes; of several processes one exports and the others wait.

    Raises EmbedderRefusedError where the export fails; nothing is left then.
    """
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(f"{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _export(target, exporter)
    return target


def _export(target: Path, exporter: str) -> None:
    logger.info("preparing the packaged embedding model %s: once, up to some minutes", target)
    try:
        subprocess.run(
            [sys.executable, "-m", exporter, str(target.resolve())],
            cwd=Path(ragcore.__file__).parents[1],
            capture_output=True,
            text=True,
            timeout=EXPORT_TIMEOUT_SECONDS,
            check=True,
        )
    except subprocess.SubprocessError as error:
        detail = str(getattr(error, "stderr", None) or error)[-2000:]
        raise EmbedderRefusedError("not_prepared", detail=detail) from error
