"""Keys and passwords of one DATA_DIR, generated once."""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ragsite.embedded.files import write_private

FILE_NAME = "secrets.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """What nobody needs to know: the signing key and the passwords of the embedded services."""

    secret_key: str = field(default_factory=lambda: secrets.token_urlsafe(48), repr=False)
    postgres_password: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    redis_password: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @classmethod
    def of(cls, data_dir: Path) -> Secrets:
        """The secrets of this folder; of several processes that ask first, one generates them (mode 0600)."""
        path = data_dir / FILE_NAME
        if not path.exists():
            with suppress(FileExistsError):  # another process was faster, and its file counts
                write_private(path, json.dumps(asdict(cls()), indent=1), replace=False)
        return cls(**json.loads(path.read_text(encoding="utf-8")))
