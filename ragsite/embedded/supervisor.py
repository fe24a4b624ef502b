"""Runs the whole product in the foreground: services, migrations, web, worker, scheduler."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from ragsite.embedded.data_dir import MODEL_SOCKET_NAME, DataLock, Runtime
from ragsite.embedded.language_model import LanguageModel
from ragsite.embedded.processes import (
    FAILURES_AT_START,
    PRIVATE,
    Process,
    ServiceError,
    SupervisedProcess,
    exit_description,
    indented,
    launcher,
    wait_until,
)
from ragsite.embedded.programs import Program, bootstrap_command, child_environment, model_program, programs
from ragsite.embedded.services import Services
from ragsite.env import Environment

LEAST_FREE_BYTES = 128 * 1024**2  # a new database with its first segments of the log takes 90 MB
HEALTHY_SECONDS = 180  # slow disks, cold caches
PREDECESSOR_SECONDS = 30
PROGRAM_STOP_SECONDS = 7.0  # shared by web, worker and scheduler
WATCH_SECONDS = 0.5
REPEAT_SECONDS = 1.0  # a signal to the process group may reach us twice
WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - only compared with


class StopRequested(BaseException):  # noqa: N818 - like KeyboardInterrupt, no error
    """Ctrl-C or a termination signal."""


def say(message: str) -> None:
    """Prints a line to the terminal; a closed terminal is no error."""
    try:
        sys.stdout.write(f"{message}\n")
        sys.stdout.flush()
    except OSError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - from now on nobody reads


@dataclass
class Supervisor:
    """One run of the product. Raises ServiceError with a message for the operator."""

    env: Environment
    programs: Sequence[Program]  # the web server, which answers GET /health, first; stopped in this order
    bootstrap: Sequence[str]  # a command that must succeed before them
    models: Program | None = None  # whom all of them may ask: started before, stopped after them
    language_model: LanguageModel | None = None  # likewise, but they do not wait for it
    supervised: list[SupervisedProcess] = field(default_factory=list, init=False)
    services: Services | None = field(default=None, init=False)
    _stopping_since: float = field(default=0.0, init=False)

    @classmethod
    def of(cls, env: Environment) -> Supervisor:
        """The product itself."""
        models = None if env.MODEL_SOCKET else model_program()  # else the one of the operator
        return cls(env, programs(env), bootstrap_command(env), models, LanguageModel.of(env, say))

    @property
    def site_url(self) -> str:
        host = WILDCARDS.get(self.env.HOST, self.env.HOST)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.env.PORT}/"

    def run(self) -> int:
        """Runs the product until Ctrl-C; returns the exit code."""
        _on_stop_signals(self._request_stop)
        with ExitStack() as stack:
            stack.enter_context(DataLock(self.env.DATA_DIR, self.site_url))
            require_space(self.env.DATA_DIR)
            stack.callback(self._stop)
            try:
                self._start()
                self._watch()
            except StopRequested:
                say("\nStopping …")
        say("Stopped.")
        return 0

    # ── start ───────────────────────────────────────────────────────────────────────────────────

    def _start(self) -> None:
        self._require_free_port()
        if self.env.LLM_FILE and self.env.LLM_BASE_URL:
            say("LLM_FILE is not used: LLM_BASE_URL is set as well, and its server counts.")
        if self.language_model:
            self.language_model.check()
        self._start_services()
        if self.models:
            self._start_program(self.models)
        self._bootstrap()
        say("Starting web, worker and scheduler …")
        web, *rest = self.programs
        self._start_program(web)
        self._wait_until_healthy()  # alone on a small machine, it is there in half the time
        self._launch_language_model()
        for program in rest:
            self._start_program(program)
        self._announce()

    def _require_free_port(self) -> None:
        """After a crash the old web process may need a moment; otherwise the port is simply taken."""
        wait_seconds = PREDECESSOR_SECONDS if Runtime.is_left_over(self.env.DATA_DIR) else 0
        if not wait_until(lambda: is_port_free(self.env.HOST, self.env.PORT), seconds=wait_seconds):
            raise ServiceError(
                f"Port {self.env.PORT} of {self.env.HOST} is in use by another program. "
                f"Stop it or choose another one: PORT={self.env.PORT + 1} make run"
            )

    def _start_services(self) -> None:
        self.services = Services.of(
            self.env.DATA_DIR,
            postgres=self.env.DATABASE_URL is None,
            redis=self.env.REDIS_URL is None,
            connections=self.env.needed_connections(),
        )
        names = " and ".join(service.title for service in self.services)
        if names:
            say(f"Starting {names} in {self.env.DATA_DIR} …")
        self.services.start()
        for service in self.services:
            self.supervised.append(SupervisedProcess(service.process, service.start, say))
        Runtime(
            pid=os.getpid(),
            database_url=self.services.database_url,
            redis_url=self.services.redis_url,
            site_url=self.site_url,
            model_socket=str(self.env.DATA_DIR / MODEL_SOCKET_NAME) if self.models else None,
            language_model=str(self.language_model.state_file) if self.language_model else None,
        ).write(self.env.DATA_DIR)

    def _bootstrap(self) -> None:
        """Runs with our terminal, because it prints the administrator's password once."""
        say("Preparing the database …")
        process = subprocess.run(
            [*launcher(), *self.bootstrap],
            env=child_environment(self.env),
            stdin=subprocess.DEVNULL,
            umask=PRIVATE,
            check=False,
        )
        if process.returncode != 0:
            raise ServiceError(f"The database could not be prepared: bootstrap {exit_description(process.returncode)}.")

    def _start_program(self, program: Program) -> None:
        process = program.process(self.env)
        self.supervised.append(SupervisedProcess(process, process.start, say))
        self.supervised[-1].launch()

    def _launch_language_model(self) -> None:
        """Once the site is there: what memory is free now is free for the model."""
        if self.language_model:
            self.language_model.launch()
            if self.language_model.supervised:
                self.supervised.append(self.language_model.supervised)

    def _wait_until_healthy(self) -> None:
        """Raises ServiceError when the web server fails again and again or does not answer."""

        def healthy() -> bool:
            self._restart_ended()
            return is_healthy(self.site_url)

        def hopeless() -> bool:
            return any(each.failures >= FAILURES_AT_START for each in self.supervised)

        if wait_until(healthy, seconds=HEALTHY_SECONDS, unless=hopeless):
            return
        culprit = max(reversed(self.supervised), key=lambda each: each.failures).process  # the web server, if none fell
        raise ServiceError(f"{culprit.name} does not start. The end of {culprit.log}:\n{indented(culprit.log_tail())}")

    def _announce(self) -> None:
        password = "is ADMIN_PASSWORD" if self.env.ADMIN_PASSWORD else "is printed once, at the first start"
        say(f"\nReady: {self.site_url}\nSign in as admin; the password {password}. Ctrl-C stops everything.")

    # ── run ─────────────────────────────────────────────────────────────────────────────────────

    def _watch(self) -> None:
        while True:
            self._restart_ended()
            time.sleep(WATCH_SECONDS)

    def _restart_ended(self) -> None:
        for each in self.supervised:
            each.restart_if_ended()
        if self.language_model:
            self.language_model.look()

    # ── stop ────────────────────────────────────────────────────────────────────────────────────

    def _request_stop(self, number: int, frame: FrameType | None) -> None:
        """The first signal stops in order. A later Ctrl-C leaves at once; other repetitions are make's doing."""
        if not self._stopping_since:
            self._stopping_since = time.monotonic()
            raise StopRequested
        if number == signal.SIGINT and time.monotonic() - self._stopping_since > REPEAT_SECONDS:
            for each in self.supervised:
                each.process.kill_group(each.process.death_signal)
            os._exit(128 + number)

    def _stop(self) -> None:
        """Programs first, then what they use. Called once, also after a failed start."""
        self._stopping_since = self._stopping_since or time.monotonic()
        served = {id(service.process) for service in self.services or ()}
        running = [each.process for each in self.supervised if id(each.process) not in served]
        names = {part.name for part in (self.models, self.language_model) if part}
        models = [process for process in running if process.name in names]
        stop_programs([process for process in running if process not in models])
        stop_programs(models)
        if self.language_model:
            self.language_model.remove_state()
        if self.models:
            (self.env.DATA_DIR / MODEL_SOCKET_NAME).unlink(missing_ok=True)  # of one that had to be killed
        if self.services:
            self.services.stop()
            Runtime.remove(self.env.DATA_DIR)


def require_space(data_dir: Path) -> None:
    """Raise ServiceError where the database could not even start."""
    status = os.statvfs(data_dir)
    free = status.f_bavail * status.f_frsize
    if free < LEAST_FREE_BYTES:
        least = LEAST_FREE_BYTES // 1024**2
        raise ServiceError(
            f"{data_dir} has {free // 1024**2} MB of free space, and at least {least} MB are needed. "
            "Make room, or choose another DATA_DIR."
        )


def stop_programs(processes: list[Process]) -> None:
    """Ask all, in order, and give them one common time before they are killed with all that they started."""
    for process in processes:
        process.send(process.stop_signal)
    deadline = time.monotonic() + PROGRAM_STOP_SECONDS
    for process in processes:
        process.stop(seconds=deadline - time.monotonic())


def is_port_free(host: str, port: int) -> bool:
    """Whether a server could listen here now."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the web server does
        try:
            probe.bind(address)
        except OSError:
            return False
    return True


def is_healthy(site_url: str) -> bool:
    """Whether GET /health answers 200. No proxy of the environment is asked."""
    connection = http.client.HTTPConnection(site_url.removeprefix("http://").rstrip("/"), timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _on_stop_signals(handler: signal._HANDLER) -> None:
    """For Ctrl-C, termination and a closed terminal, the last one unless nohup asked to ignore it.

    Scripts start background commands with Ctrl-C ignored; who then sends it still means it.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)
