"""Child processes that have a log, stop in order, and never outlive us."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

LAUNCHER = Path(__file__).with_name("launch.py")
PRIVATE = 0o077  # umask: documents and logs are for their owner only
LOG_LIMIT_BYTES = 10 * 1024 * 1024


class ServiceError(Exception):
    """Something could not be started; the message tells an operator what to do."""

    exit_code = 1


def launcher(identity: Mapping[str, object] | None = None, *, death_signal: int = signal.SIGKILL) -> list[str]:
    """The front of a command whose process gets `death_signal` when this process ends, however it ends.

    The kernel watches the thread that starts the child: start children from the main thread only.
    """
    options = {"parent": os.getpid(), "death_signal": int(death_signal), "identity": identity}
    return [sys.executable, "-I", "-S", str(LAUNCHER), json.dumps(options)]


@dataclass(kw_only=True)
class Process:
    """One program in its own process group, so that Ctrl-C in the terminal reaches only us."""

    name: str
    command: Sequence[str]
    log: Path
    stop_signal: int = signal.SIGTERM
    death_signal: int = signal.SIGKILL  # what it gets when we vanish
    identity: Mapping[str, object] | None = None
    environment: Mapping[str, str] | None = None
    folder: Path | None = None
    _child: subprocess.Popen[bytes] | None = field(default=None, init=False, repr=False)

    def start(self) -> None:
        """Start it; raises ServiceError where the program cannot be executed at all."""
        self.log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        rotate(self.log)
        with self.log.open("ab") as output:
            self._child = subprocess.Popen(
                [*launcher(self.identity, death_signal=self.death_signal), *self.command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self.environment,
                cwd=self.folder,
                start_new_session=True,
                umask=PRIVATE,
            )

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child else None

    def exit_code(self) -> int | None:
        """None while it runs or before it was started; below zero: ended by that signal."""
        return self._child.poll() if self._child else None

    def is_running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def send(self, number: int) -> None:
        """Signal the program, not its children."""
        if self._child is not None and self.is_running():
            self._child.send_signal(number)

    def wait(self, seconds: float) -> bool:
        """Whether it has ended within this time."""
        with suppress(subprocess.TimeoutExpired):
            if self._child is not None:
                self._child.wait(max(0.0, seconds))
        return not self.is_running()

    def kill_group(self, number: int = signal.SIGKILL) -> None:
        """Signal the program and all that it started and that stayed in its group."""
        if self._child is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._child.pid, number)

    def stop(self, *, seconds: float) -> None:
        """Ask, wait, then insist."""
        self.send(self.stop_signal)
        if not self.wait(seconds):
            self.kill_group()
            self.wait(5)
        self.kill_group()  # pool processes whose parent is gone

    def log_tail(self, lines: int = 12) -> str:
        """The end of its log, for people."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - 16_384))
            return "\n".join(file.read().decode("utf-8", "replace").splitlines()[-lines:])


def rotate(log: Path) -> None:
    """Keep one older log beside a log that has grown large."""
    if log.exists() and log.stat().st_size > LOG_LIMIT_BYTES:
        log.replace(log.with_name(f"{log.name}.1"))


def free_port() -> int:
    """A TCP port of the loopback interface that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def processes_in(folder: Path) -> list[int]:
    """Processes whose working directory is this folder: PostgreSQL and Redis work in their data folder.

    More reliable than a pid file, whose number may by now belong to someone else. Empty where there is no /proc.
    """
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):  # it ended meanwhile, or is not ours to look at
            if os.readlink(link) == str(folder.resolve()):  # noqa: PTH115 - Path.readlink fails on "(deleted)" names
                found.append(int(link.parent.name))
    return found
