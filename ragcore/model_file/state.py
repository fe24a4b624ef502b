"""What the program that serves a model file is doing: written by it, read by every process of the site."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from ragcore.model_file.errors import ModelFileError

Phase = Literal["loading", "ready", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModel:
    """The model of LLM_FILE. `reason` and `data` say why it is not served, as those of ModelFileError."""

    name: str
    path: str
    phase: Phase = "loading"
    since: float = 0.0  # seconds since 1970
    url: str = ""  # with /v1; "" before there is a server
    key: str = field(default="", repr=False)
    identity: str = ""  # the same for the same model with the same context, wherever it is served
    context_tokens: int = 0
    reason: str = ""
    data: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def error(self) -> ModelFileError | None:
        """Why it is not served."""
        return ModelFileError(self.reason, **self.data) if self.reason in ModelFileError.reasons else None

    def as_json(self) -> str:
        """For the file that `read_state` reads; it is private, because it holds the key."""
        return json.dumps(asdict(self), ensure_ascii=False)


def read_state(path: Path) -> ServedModel | None:
    """The state of a moment ago; None without a file. Reading it again costs a look at the file's time."""
    try:
        status = path.stat()
        return _read(path, (status.st_mtime_ns, status.st_size, status.st_ino))
    except (OSError, ValueError, TypeError):  # gone, or written by another version
        return None


@lru_cache(maxsize=4)
def _read(path: Path, stamp: tuple[int, int, int]) -> ServedModel:
    """`stamp` is another one after each change of the file, which is replaced as a whole."""
    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    names = {item.name for item in fields(ServedModel)}
    return ServedModel(**{name: value for name, value in values.items() if name in names})
