"""Private files of an instance in DATA_DIR: generated secrets, addresses of the running services, the lock."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType

from ragsite.embedded.processes import ServiceError

SECRETS_FILE = "secrets.json"
RUNTIME_FILE = "runtime.json"
LOCK_FILE = "lock"
MODEL_SOCKET_NAME = "models.sock"
LANGUAGE_MODEL_FILE = "language_model.json"


def write_private(path: Path, content: str, *, replace: bool = True) -> None:
    """Write a file that only its owner can read, at once or not at all.

    With `replace=False` an existing file is kept and FileExistsError is raised.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            temporary.replace(path)
        else:
            os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """Generated secrets: the signing key and the passwords of the embedded services."""

    secret_key: str = field(default_factory=lambda: secrets.token_urlsafe(48), repr=False)
    postgres_password: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    redis_password: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @classmethod
    def of(cls, data_dir: Path) -> Secrets:
        """The secrets of this folder; of several processes that ask first, one generates them (mode 0600)."""
        path = data_dir / SECRETS_FILE
        if not path.exists():
            with suppress(FileExistsError):  # another process was faster, and its file counts
                write_private(path, json.dumps(asdict(cls()), indent=1), replace=False)
        return cls(**json.loads(path.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """Addresses of the embedded services while process `pid` runs them; None: not ours."""

    pid: int = 0
    database_url: str | None = field(default=None, repr=False)
    redis_url: str | None = field(default=None, repr=False)
    site_url: str | None = None
    model_socket: str | None = None
    language_model: str | None = None  # file with the state of the model of LLM_FILE

    @classmethod
    def read(cls, data_dir: Path) -> Runtime:
        """The record of the running instance; an empty one where nothing runs, also after a crash."""
        try:
            runtime = cls(**json.loads((data_dir / RUNTIME_FILE).read_text(encoding="utf-8")))
        except FileNotFoundError:
            return cls()
        return runtime if is_running(runtime.pid) else cls()

    def write(self, data_dir: Path) -> None:
        write_private(data_dir / RUNTIME_FILE, json.dumps(asdict(self), indent=1))

    @staticmethod
    def remove(data_dir: Path) -> None:
        (data_dir / RUNTIME_FILE).unlink(missing_ok=True)

    @staticmethod
    def is_left_over(data_dir: Path) -> bool:
        """Whether the last instance did not stop in order."""
        return (data_dir / RUNTIME_FILE).exists()


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
        self._descriptor = os.open(self.data_dir / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = self._holder()
            os.close(self._descriptor)
            if error.errno not in {errno.EAGAIN, errno.EACCES}:
                raise
            raise AlreadyRunningError(f"{self.data_dir} is in use by {holder}. Stop it first.") from None
        record = json.dumps({"pid": os.getpid(), "holder": self.holder})
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, record.encode(), 0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def _holder(self) -> str:
        try:
            record = json.loads(os.pread(self._descriptor, 4096, 0))
            return f"process {record['pid']} ({record['holder']})"
        except ValueError:  # the holder has not written yet
            return "another process"
