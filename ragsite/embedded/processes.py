"""Child processes: each has a log, stops in order, ends with its parent, is restarted after a crash; waiting."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import BinaryIO, Protocol

PAUSE_SECONDS = 0.05
START_SECONDS = 30  # an older instance may still be writing
START_ATTEMPTS = 3  # at another port each

LAUNCHER = Path(__file__).with_name("launch.py")
PRIVATE = 0o077  # umask: documents and logs are for their owner only
LOG_LIMIT_BYTES = 10 * 1024 * 1024
FIRST_PAUSE_SECONDS = 1.0  # before a crashed child is started again; doubles
LONGEST_PAUSE_SECONDS = 30.0
STEADY_SECONDS = 60.0  # a child that ran this long is healthy again
FAILURES_AT_START = 3


def wait_until(condition: Callable[[], bool], *, seconds: float, unless: Callable[[], bool] = lambda: False) -> bool:
    """Whether the condition came true in time; gives up early when `unless` does."""
    deadline = time.monotonic() + seconds
    while not condition():
        if unless() or time.monotonic() >= deadline:
            return False
        time.sleep(PAUSE_SECONDS)
    return True


class PortService(Protocol):
    """What Postgres and Redis have in common."""

    process: Process

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def choose_port(self) -> None: ...

    def answers(self) -> bool: ...


def wait_until_ready(service: PortService, *, name: str) -> None:
    """Return when the service answers; a service that ends at once is started again at another port.

    Someone may have taken the port between our choice and the start. Raises ServiceError with the end of the log.
    """
    for _attempt in range(START_ATTEMPTS):
        if wait_until(service.answers, seconds=START_SECONDS, unless=lambda: not service.process.is_running()):
            return
        service.stop()
        service.choose_port()
        service.start()
    raise ServiceError(f"{name} does not start ({service.process.log}):\n{service.process.log_tail()}")


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
    log: Path | None  # None: where our own output goes
    stop_signal: int = signal.SIGTERM
    death_signal: int = signal.SIGKILL  # what it gets when we vanish
    identity: Mapping[str, object] | None = None
    environment: Mapping[str, str] | None = None
    folder: Path | None = None
    _child: subprocess.Popen[bytes] | None = field(default=None, init=False, repr=False)

    def start(self) -> None:
        """Start it; raises ServiceError where the program cannot be executed at all."""
        with ExitStack() as stack:
            output = stack.enter_context(_opened(self.log)) if self.log else None
            self._child = subprocess.Popen(
                [*launcher(self.identity, death_signal=self.death_signal), *self.command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT if output else None,
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
        if self.log is None or not self.log.exists():
            return ""
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - 16_384))
            return "\n".join(file.read().decode("utf-8", "replace").splitlines()[-lines:])


def _opened(log: Path) -> BinaryIO:
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    rotate(log)
    return log.open("ab")


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
    pids = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):  # it ended meanwhile, or is not ours to look at
            if os.readlink(link) == str(folder.resolve()):  # noqa: PTH115 - Path.readlink fails on "(deleted)" names
                pids.append(int(link.parent.name))
    return pids


@dataclass
class SupervisedProcess:
    """A child that is restarted after a crash, after a pause that doubles with each failure.

    `most_failures`: after so many in a row it is left alone; None: never. A child that `has_to_load` counts as steady
    from `note_ready` on, however long it loads.
    """

    process: Process
    start: Callable[[], None]
    say: Callable[[str], None]
    now: Callable[[], float] = time.monotonic
    most_failures: int | None = None
    has_to_load: bool = False
    failures: int = field(default=0, init=False)
    is_given_up: bool = field(default=False, init=False)
    _started_at: float = field(default=0.0, init=False)
    _due_at: float | None = field(default=None, init=False)  # when a stopped child is started again

    def launch(self) -> None:
        """Start the process, for the first time or again."""
        self._due_at, self._started_at = None, inf if self.has_to_load else self.now()
        self.start()

    def note_ready(self) -> None:
        """It has loaded what it needs."""
        self._started_at = self.now()

    def restart_if_ended(self) -> None:
        """Report a crash, or start the process again when its pause is over. Returns at once."""
        if self.is_given_up:
            return
        if self._due_at is not None:
            if self.now() >= self._due_at:
                self.launch()
        elif not self.process.is_running():
            self._note_crash()

    def _note_crash(self) -> None:
        if self.now() - self._started_at >= STEADY_SECONDS:
            self.failures = 0
        pause = min(FIRST_PAUSE_SECONDS * 2**self.failures, LONGEST_PAUSE_SECONDS)
        self.failures += 1
        self.is_given_up = self.most_failures is not None and self.failures >= self.most_failures
        self._due_at = None if self.is_given_up else self.now() + pause
        follows = f"it is started again in {pause:g} s." if self._due_at else "it is left alone."
        ended = f"{self.process.name} {exit_description(self.process.exit_code())}; {follows}"
        log = self.process.log
        self.say(f"{ended} The end of {log}:\n{indented(self.process.log_tail())}" if log else ended)


def exit_description(exit_code: int | None) -> str:
    """An exit code in words."""
    if exit_code is None:
        return "is gone"
    return f"was ended by signal {-exit_code}" if exit_code < 0 else f"ended with code {exit_code}"


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
