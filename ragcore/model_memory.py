"""Memory of the models that this process has loaded: what a worker may use is counted beside it."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_STATM = Path("/proc/self/statm")
_models: dict[str, int] = {}  # kilobytes by name


def resident_kb() -> int:
    """Memory of this process now; on systems that only tell the most that it has had, that."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most // 1024 if sys.platform == "darwin" else most


def models_kb() -> int:
    """Of all models that were loaded, each counted once."""
    return sum(_models.values())


class LoadedModel:
    """What is known of the size of a model while it is loaded."""

    def __init__(self) -> None:
        self.weights_kb = 0

    def weigh(self, parameters: Any) -> None:
        """Parameters of a torch module: files that are mapped into memory are read only with the first texts."""
        self.weights_kb = sum(parameter.numel() * parameter.element_size() for parameter in parameters) // 1024


@contextmanager
def model_load(name: str) -> Iterator[LoadedModel]:
    """Note how much memory the model takes that is loaded inside: what the process has grown, or what it weighs."""
    loaded, before = LoadedModel(), resident_kb()
    yield loaded
    _models[name] = max(_models.get(name, 0), resident_kb() - before, loaded.weights_kb)
