"""How much memory is free for a model, and the longest context that it can have there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ragcore.model_file.errors import ModelFileError
from ragcore.model_file.gguf import GgufModel
from ragcore.model_file.sizes import size_words

LEAST_CONTEXT_TOKENS = 2048  # below, rules, question and answer leave no room for sources
BUFFER_BYTES = 512 * 1024**2  # of the computation: logits and activations of a batch of 512 tokens
SPARE_BYTES = 512 * 1024**2  # left to the site: documents are read, searches sort


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """A context length that fits, and what the model takes with it."""

    context_tokens: int
    needed_bytes: int


def plan_memory(model: GgufModel, *, most_tokens: int, available: int | None) -> MemoryPlan:
    """The longest context up to `most_tokens` and the model's own, halved until it fits into `available` bytes.

    `available` None: not known, and nothing is refused. Raises ModelFileError (too_large).
    """
    tokens = min(most_tokens, model.context_tokens or most_tokens)
    while True:
        needed = model.size_bytes + tokens * model.cache_bytes_per_token + BUFFER_BYTES
        if available is None or needed + SPARE_BYTES <= available:
            return MemoryPlan(context_tokens=tokens, needed_bytes=needed)
        if tokens // 2 < LEAST_CONTEXT_TOKENS:
            sizes = {"needed": size_words(needed + SPARE_BYTES), "available": size_words(available)}
            raise ModelFileError("too_large", path=str(model.path), **sizes)
        tokens //= 2


def available_bytes(root: Path = Path("/")) -> int | None:
    """Memory that can be had now without swapping: of the machine, or of the container where that is less.

    Pages of files that the kernel may drop count as free. None where the system does not tell (no Linux).
    `root` has `proc` and `sys`.
    """
    figures = [figure for figure in (_of_machine(root), *_of_control_groups(root)) if figure is not None]
    return max(0, min(figures)) if figures else None


def _of_machine(root: Path) -> int | None:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _of_control_groups(root: Path) -> Iterator[int | None]:
    """What the group of this process and each group above it leave; versions 1 and 2 of cgroups."""
    for line in _lines(root / "proc/self/cgroup"):
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            base, limit, usage, cached = root / "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            base, limit = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
            usage, cached = "memory.usage_in_bytes", "total_inactive_file"
        else:
            continue
        for folder in _folders(base, path):
            most, used = _number(folder / limit), _number(folder / usage)
            if most is not None and used is not None:
                yield most - used + _statistic(folder / "memory.stat", cached)


def _folders(base: Path, path: str) -> Iterator[Path]:
    """The folder of a group and those above it. A container sees its own group as the base, whatever its path is."""
    parts = [part for part in path.split("/") if part not in ("", "..")]
    for length in range(len(parts), -1, -1):
        folder = base.joinpath(*parts[:length])
        if folder.is_dir():
            yield folder


def _statistic(file: Path, name: str) -> int:
    values = (line.split() for line in _lines(file))
    return next((int(value[1]) for value in values if len(value) == 2 and value[0] == name), 0)


def _number(file: Path) -> int | None:
    """The number in a file; None for "max", and where there is none."""
    text = "".join(_lines(file)).strip()
    return int(text) if text.isdigit() else None


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []


def free_threads(cores: int) -> int:
    """Threads for a model that leaves a core to the site, two of more than four."""
    return max(1, cores - (1 if cores <= 4 else 2))
