"""One instance per DATA_DIR."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from ragsite.embedded.processes import ServiceError

FILE_NAME = "lock"


class AlreadyRunningError(ServiceError):
    """Another process holds the folder."""

    exit_code = 2


@dataclass
class DataLock:
    """Holds DATA_DIR while the context lasts; the kernel lets go of it when the process ends, however it ends.

    Children do not inherit the descriptor (PEP 446), so an orphan cannot keep the folder locked.
    Raises AlreadyRunningError that names the holder.
    """

    data_dir: Path
    holder: str  # what a second start is told, e.g. the URL of the site
    _descriptor: int = field(default=-1, init=False, repr=False)

    def __enter__(self) -> DataLock:
        # the database of root may have to run as another user, who must be able to pass, not to look around
        self.data_dir.mkdir(parents=True, exist_ok=True, mode=0o711 if os.geteuid() == 0 else 0o700)
        self._descriptor = os.open(self.data_dir / FILE_NAME, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            told = self._told()
            os.close(self._descriptor)
            if error.errno not in {errno.EAGAIN, errno.EACCES}:
                raise
            raise AlreadyRunningError(f"{self.data_dir} is in use by {told}. Stop it first.") from None
        record = json.dumps({"pid": os.getpid(), "holder": self.holder})
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, record.encode(), 0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def _told(self) -> str:
        try:
            record = json.loads(os.pread(self._descriptor, 4096, 0))
            return f"process {record['pid']} ({record['holder']})"
        except ValueError:  # the holder has not written yet
            return "another process"
