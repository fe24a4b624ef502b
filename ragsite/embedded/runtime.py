"""Where the running instance of a DATA_DIR can be reached: runtime.json."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ragsite.embedded.files import write_private

FILE_NAME = "runtime.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """Addresses of the embedded services while process `pid` runs them; None: not ours."""

    pid: int = 0
    database_url: str | None = field(default=None, repr=False)
    redis_url: str | None = field(default=None, repr=False)
    site_url: str | None = None

    @classmethod
    def read(cls, data_dir: Path) -> Runtime:
        """The record of the running instance; an empty one where nothing runs, also after a crash."""
        try:
            found = cls(**json.loads((data_dir / FILE_NAME).read_text(encoding="utf-8")))
        except FileNotFoundError:
            return cls()
        return found if is_running(found.pid) else cls()

    def write(self, data_dir: Path) -> None:
        write_private(data_dir / FILE_NAME, json.dumps(asdict(self), indent=1))

    @staticmethod
    def remove(data_dir: Path) -> None:
        (data_dir / FILE_NAME).unlink(missing_ok=True)

    @staticmethod
    def left_over(data_dir: Path) -> bool:
        """Whether the last instance did not stop in order."""
        return (data_dir / FILE_NAME).exists()


def is_running(pid: int) -> bool:
    """Whether a process with this id exists, whoever owns it; one that is dead but not yet reaped does not count."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Linux only; elsewhere False."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] == "Z"
