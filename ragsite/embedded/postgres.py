"""PostgreSQL with pgvector from a wheel, kept in DATA_DIR/postgres, and as whom it runs.

PostgreSQL refuses root; containers and fresh machines often have nobody else.
"""

from __future__ import annotations

import locale
import os
import pwd
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import psycopg
from psycopg import sql

from ragsite.embedded.data_dir import Secrets
from ragsite.embedded.processes import (
    START_SECONDS,
    Process,
    ServiceError,
    free_port,
    launcher,
    processes_in,
    wait_until,
    wait_until_ready,
)

UNPRIVILEGED_NAMES = ("nobody", "postgres", "daemon")

USER = DATABASE = "ragsite"
EXTENSIONS = ("vector", "pg_trgm")
SHARED_MEMORY_BYTES = 512 * 1024 * 1024  # a parallel index build takes maintenance_work_mem from /dev/shm
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",  # their paths may have 107 bytes only
    "maintenance_work_mem": "256MB",  # HNSW builds are several times slower once their graph does not fit
    "random_page_cost": "1.1",
    "wal_level": "minimal",  # nobody replicates from here, and a COPY into a new table skips the log
    "max_wal_senders": "0",
    "max_wal_size": "1GB",  # with the next line: what is replayed after a crash, while nobody can ask
    "checkpoint_timeout": "5min",
    "wal_compression": "on",
    "jit": "off",  # our queries are short
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
}
BUFFERS_SHARE = 8  # one part in so many of the memory keeps pages of the database; it fills as the database grows
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
BUFFERS_BYTES = (256 * 1024**2, 4 * 1024**3)  # at least and at most
NOT_DURABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@dataclass(frozen=True, slots=True)
class NamespaceIdentity:
    """Root outside, `uid` inside a user namespace; files stay root's."""

    uid: int

    def options(self) -> dict[str, object]:
        return {"kind": "namespace", "uid": self.uid}


@dataclass(frozen=True, slots=True)
class UserIdentity:
    """Another user of this machine, who must be able to reach the data folder and the programs."""

    uid: int
    gid: int

    def options(self) -> dict[str, object]:
        return {"kind": "user", "uid": self.uid, "gid": self.gid}

    def take_over(self, folder: Path) -> None:
        """Give an empty folder to the user."""
        os.chown(folder, self.uid, self.gid)

    def require_access(self, *paths: Path) -> None:
        """Raises ServiceError naming the first folder that the user cannot enter; nobody else's mode is changed."""
        for path in paths:
            for folder in reversed(path.resolve().parents):
                if not self._may_enter(folder):
                    raise ServiceError(
                        f"PostgreSQL does not run as root, and user {pwd.getpwuid(self.uid).pw_name} cannot enter "
                        f"{folder}. Start as an ordinary user, or choose a DATA_DIR that every user can reach."
                    )

    def _may_enter(self, folder: Path) -> bool:
        status = folder.stat()
        if status.st_uid == self.uid:
            return bool(status.st_mode & 0o100)
        return bool(status.st_mode & (0o010 if status.st_gid == self.gid else 0o001))


Identity = NamespaceIdentity | UserIdentity | None  # None: as we are


def choose_identity(database: Path) -> Identity:
    """Ourselves where we are no root and have a name; else the owner of the database, a namespace, another user."""
    if os.geteuid() != 0:
        return None if _has_name(os.geteuid()) else _nameless()
    if database.exists() and (owner := database.stat()).st_uid != 0:
        return UserIdentity(owner.st_uid, owner.st_gid)
    account = _unprivileged_account()
    inside = NamespaceIdentity(account.pw_uid)
    return inside if _is_allowed(inside) else UserIdentity(account.pw_uid, account.pw_gid)


def _nameless() -> Identity:
    """Containers run with user ids that the system does not know by name; initdb insists on one."""
    inside = NamespaceIdentity(_unprivileged_account().pw_uid)
    return inside if _is_allowed(inside) else None


def _has_name(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _unprivileged_account() -> pwd.struct_passwd:
    """A user that the system knows by name, because initdb looks it up."""
    accounts = {account.pw_name: account for account in pwd.getpwall() if account.pw_uid != 0}
    if not accounts:
        raise ServiceError("PostgreSQL does not run as root, and this system knows no other user.")
    return next((accounts[name] for name in UNPRIVILEGED_NAMES if name in accounts), next(iter(accounts.values())))


def _is_allowed(identity: NamespaceIdentity) -> bool:
    """Whether the kernel lets us make a user namespace; many containers forbid it."""
    probe = [*launcher(identity.options()), sys.executable, "-I", "-S", "-c", "import os; assert os.geteuid()"]
    return subprocess.run(probe, capture_output=True, check=False, timeout=20).returncode == 0


def shared_buffers() -> str:
    """What PostgreSQL keeps of its files, by the memory of this machine or container."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if CONTAINER_LIMIT.is_file() and (limit := CONTAINER_LIMIT.read_text(encoding="ascii").strip()).isdigit():
        memory = min(memory, int(limit))
    least, most = BUFFERS_BYTES
    return f"{min(max(memory // BUFFERS_SHARE, least), most) // 1024**2}MB"


def binaries() -> Path:
    """The folder of the wheel's programs. Raises ServiceError where the wheel is not installed."""
    spec = find_spec("pgserver")  # found, not imported: its own start-up code changes modes of parent folders
    for location in (spec.submodule_search_locations or ()) if spec else ():
        if (folder := Path(location) / "pginstall" / "bin").is_dir():
            return folder
    raise ServiceError(
        "Embedded PostgreSQL is not installed. Run `make install`, or set DATABASE_URL to a server "
        "with PostgreSQL 16 or newer and pgvector 0.8 or newer."
    )


@dataclass
class Postgres:
    """The server of one DATA_DIR. `start` returns at once, `wait_ready` when it can be used."""

    data_dir: Path
    connections: int = 120  # at most
    durable: bool = True  # False: faster, and lost when the machine fails; for tests
    title: ClassVar[str] = "PostgreSQL"
    process: Process = field(init=False)

    def __post_init__(self) -> None:
        self.folder = self.data_dir / "postgres"
        self.password = Secrets.of(self.data_dir).postgres_password
        self.identity: Identity = choose_identity(self.folder)
        self.choose_port()

    @property
    def url(self) -> str:
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{self.port}/{DATABASE}"

    def start(self) -> None:
        """Initialise the folder if it is new, wait for an older instance to finish, and start."""
        if isinstance(self.identity, UserIdentity):
            self.identity.require_access(self.folder, binaries() / "postgres")
        if not self.folder.exists():
            self._initialise()
        self._wait_for_predecessor()
        self.process.start()

    def wait_ready(self) -> None:
        """Return when the database `ragsite` can be used; raises ServiceError with the end of the log."""
        wait_until_ready(self, name="PostgreSQL")
        self._create_database()

    def stop(self, *, seconds: float = 8) -> None:
        """Disconnect everyone and write a checkpoint; without it after `seconds`, and the log is replayed later."""
        self.process.send(self.process.stop_signal)
        if not self.process.wait(seconds):
            self.process.send(signal.SIGQUIT)
        self.process.stop(seconds=3)

    def choose_port(self) -> None:
        self.port = free_port()
        self.process = Process(
            name="postgres",
            command=[str(binaries() / "postgres"), "-D", str(self.folder), *self._arguments()],
            log=self.data_dir / "logs" / "postgres.log",
            stop_signal=signal.SIGINT,  # fast shutdown
            death_signal=signal.SIGINT,
            identity=self.identity.options() if self.identity else None,
        )

    def _arguments(self) -> Iterator[str]:
        settings = (
            SETTINGS
            | {"shared_buffers": shared_buffers(), "port": str(self.port)}
            | {"max_connections": str(self.connections)}
            | ({} if self.durable else NOT_DURABLE)
        )
        if _shared_memory_bytes() < SHARED_MEMORY_BYTES:
            settings["dynamic_shared_memory_type"] = "mmap"
        for key, value in settings.items():
            yield from ("-c", f"{key}={value}")

    def _initialise(self) -> None:
        """Make the cluster beside its final place, so that an interrupted start leaves nothing half done."""
        nascent, password = self.data_dir / "postgres.new", self.data_dir / ".postgres-password"
        shutil.rmtree(nascent, ignore_errors=True)
        nascent.mkdir(mode=0o700)
        password.touch(mode=0o600)
        password.write_text(self.password, encoding="utf-8")
        if isinstance(self.identity, UserIdentity):
            self.identity.take_over(nascent)
            self.identity.take_over(password)
        try:
            command = [str(binaries() / "initdb"), "-D", str(nascent), f"--pwfile={password}", *_cluster_options()]
            if not self.durable:
                command.append("--no-sync")
            front = launcher(self.identity.options() if self.identity else None)
            process = subprocess.run([*front, *command], capture_output=True, text=True, check=False, cwd="/")
        finally:
            password.unlink()
        if process.returncode != 0:
            raise ServiceError(
                f"PostgreSQL could not be set up in {self.data_dir}:\n{process.stderr or process.stdout}"
            )
        nascent.rename(self.folder)

    def _wait_for_predecessor(self) -> None:
        """After a crash the old server may need a moment; then its pid file is void, whatever number is in it."""
        if not wait_until(lambda: not processes_in(self.folder), seconds=START_SECONDS):
            pids = ", ".join(map(str, processes_in(self.folder)))
            raise ServiceError(f"An older PostgreSQL (process {pids}) still works in {self.folder} and does not end.")
        if Path("/proc/self/cwd").exists():
            (self.folder / "postmaster.pid").unlink(missing_ok=True)

    def answers(self) -> bool:
        try:
            with self._connect("postgres"):
                return True
        except psycopg.OperationalError:
            return False

    def _connect(self, database: str) -> psycopg.Connection:
        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user=USER,
            password=self.password,
            dbname=database,
            connect_timeout=3,
            autocommit=True,
        )

    def _create_database(self) -> None:
        with self._connect("postgres") as connection:
            row = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
            if not row:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
        with self._connect(DATABASE) as connection:
            for extension in EXTENSIONS:
                connection.execute(sql.SQL("CREATE EXTENSION IF NOT EXISTS {}").format(sql.Identifier(extension)))


def _cluster_options() -> list[str]:
    """Unicode everywhere, the same sort order on every machine, and letters of all scripts for pg_trgm."""
    return [
        f"--username={USER}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--locale=C",
        f"--lc-ctype={_unicode_ctype()}",
        "--no-instructions",
    ]


def _unicode_ctype() -> str:
    """C.UTF-8 where the C library has it: with plain C, pg_trgm sees no letters in Chinese names."""
    present = locale.setlocale(locale.LC_CTYPE)
    try:
        locale.setlocale(locale.LC_CTYPE, "C.UTF-8")
    except locale.Error:
        return "C"
    locale.setlocale(locale.LC_CTYPE, present)
    return "C.UTF-8"


def _shared_memory_bytes() -> int:
    """Size of /dev/shm; containers often have 64 MB."""
    try:
        status = os.statvfs("/dev/shm")  # noqa: S108 - asked for its size, nothing is written
    except OSError:
        return 0
    return status.f_frsize * status.f_blocks
