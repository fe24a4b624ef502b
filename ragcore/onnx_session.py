"""Sessions of ONNX Runtime, set up alike for every model of the product."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragcore.model_memory import model_load

CPU = "CPUExecutionProvider"


def onnx_session(file: Path, *, name: str, threads: int = 0, providers: Sequence[str] = (CPU,)) -> Any:
    """An InferenceSession over a file. `name`: of the model whose memory is counted; `threads`: 0 for all cores."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # others need the cores
    with model_load(name):
        return onnxruntime.InferenceSession(str(file), options, providers=list(providers))
