"""`python -m ragsite.web_server`: WEB_PROCESSES web processes behind one address.

A parent reserves the address, starts the processes, restarts one that ends, and stops all of them in order. Each
process listens with a socket of its own (SO_REUSEPORT), among which the kernel spreads new connections evenly; of one
shared socket the process that happens to be quickest takes most of a burst (decision 019). A process listens once its
models are loaded, so that no question meets one that is still starting. With one process there is no parent.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import uvicorn

from ragsite.embedded.processes import Process, SupervisedProcess
from ragsite.env import LEAST_POOL, PROJECT_ROOT, RESERVED_CONNECTIONS, Environment, env
from ragsite.http_protocol import LimitedProtocol

READY_SUFFIX = ".ready"
WATCH_SECONDS = 0.5
CANNOT_START = 1
MOST_FILES = 65_536
MAX_SOCKET_MESSAGE_BYTES = 256 * 1024  # a question has 2000 characters


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m ragsite.web_server", description=__doc__)
    parser.add_argument("--graceful-seconds", type=int, default=18, help="that open connections get to end")
    parser.add_argument("--stop-seconds", type=float, default=28, help="after which a process is killed")
    parser.add_argument("--number", type=int, help=argparse.SUPPRESS)  # of one process that the parent starts
    arguments = parser.parse_args()
    if arguments.number is None and env.WEB_PROCESSES > 1:
        return WebServer(env, arguments.graceful_seconds, arguments.stop_seconds).run()
    try:
        sockets = bind_sockets(env.HOST, env.PORT, is_shared=arguments.number is not None)
    except OSError as error:
        return _fail(error)
    serve(sockets, graceful_seconds=arguments.graceful_seconds)
    return 0


def serve(sockets: list[socket.socket], *, graceful_seconds: int) -> None:
    """Run one web process until a signal stops it; it listens when the application has started."""
    raise_file_limit()
    configuration = uvicorn.Config(
        "ragsite.asgi:application",
        http=LimitedProtocol,
        ws="websockets-sansio",
        ws_max_size=MAX_SOCKET_MESSAGE_BYTES,
        forwarded_allow_ips=list(env.TRUSTED_PROXIES),
        access_log=False,
        timeout_graceful_shutdown=graceful_seconds,
    )
    server = uvicorn.Server(configuration)
    server.run(sockets=sockets)
    if not server.started:
        sys.exit(CANNOT_START)


def raise_file_limit() -> None:
    """As many open files as the system allows this process: each connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def bind_sockets(host: str, port: int, *, is_shared: bool) -> list[socket.socket]:
    """A socket for each address of the host, bound and not yet listening. Raises OSError when the port is taken."""
    sockets = []
    for family, kind, protocol, _, address in socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    ):
        listener = socket.socket(family, kind, protocol)
        sockets.append(listener)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if is_shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
    return sockets


# ── what the processes know of each other ───────────────────────────────────────────────────────


def mark_ready(folder: Path) -> None:
    """Called by a process that is about to listen."""
    (folder / f"{os.getpid()}{READY_SUFFIX}").touch()


def is_complete(folder: Path | None, processes: int) -> bool:
    """Whether every process has been ready once; one that is restarted later does not make the site unready."""
    return folder is None or len(list(folder.glob(f"*{READY_SUFFIX}"))) >= processes


# ── the parent ──────────────────────────────────────────────────────────────────────────────────


@dataclass
class WebServer:
    """The parent of the web processes."""

    env: Environment
    graceful_seconds: int
    stop_seconds: float
    folder: Path = field(init=False)  # metrics of the processes, and who was ready
    workers: list[SupervisedProcess] = field(default_factory=list, init=False)
    _stop: threading.Event = field(default_factory=threading.Event, init=False)

    def run(self) -> int:
        """Runs the web processes until a signal; returns the exit code, above 0 if a process could not start."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop.set())
        try:
            reserved = bind_sockets(self.env.HOST, self.env.PORT, is_shared=True)
        except OSError as error:
            return _fail(error)
        self.folder = Path(tempfile.mkdtemp(prefix="ragsite-web-"))
        try:
            self._start()
            return self._watch()
        finally:
            self._stop_workers()
            shutil.rmtree(self.folder, ignore_errors=True)
            for each in reserved:
                each.close()

    def _start(self) -> None:
        environment = self._environment()
        for number in range(1, self.env.WEB_PROCESSES + 1):
            arguments = ("--number", str(number), "--graceful-seconds", str(self.graceful_seconds))
            process = Process(
                name=f"web process {number}",
                command=[sys.executable, "-m", "ragsite.web_server", *arguments],
                log=None,
                environment=environment,
                folder=PROJECT_ROOT,
            )
            self.workers.append(SupervisedProcess(process, process.start, _say))
            self.workers[-1].launch()

    def _environment(self) -> Mapping[str, str]:
        pool = affordable_pool(self.env)
        variables = {"PROMETHEUS_MULTIPROC_DIR": str(self.folder), "DATABASE_POOL": str(pool)}
        if not self.env.EMBEDDER_THREADS:
            variables["EMBEDDER_THREADS"] = "1"  # the processes share the cores
        return {**os.environ, "WEB_PROCESSES": str(self.env.WEB_PROCESSES), **variables}

    def _watch(self) -> int:
        """Restart what ends. While not all have been ready once, an end is a failed start, as with one process."""
        while not self._stop.wait(WATCH_SECONDS):
            for worker in self.workers:
                if (code := worker.process.exit_code()) is not None:
                    forget_process(self.folder, worker.process.pid)
                    if not is_complete(self.folder, self.env.WEB_PROCESSES):
                        return code if code > 0 else CANNOT_START
                worker.restart_if_ended()
        return 0

    def _stop_workers(self) -> None:
        for worker in self.workers:
            worker.process.send(worker.process.stop_signal)
        deadline = time.monotonic() + self.stop_seconds
        for worker in self.workers:
            worker.process.stop(seconds=deadline - time.monotonic())


def forget_process(folder: Path, pid: int | None) -> None:
    """Drop the gauges of a process that has ended; what it counted stays (`prometheus_client.multiprocess`)."""
    for file in folder.glob(f"gauge_live*_{pid}.db"):
        file.unlink(missing_ok=True)


def affordable_pool(environment: Environment) -> int:
    """Connections of each process: what its threads need, or its part of those that the server allows."""
    needed = environment.pool_size()
    url = environment.database_url()
    if url is None:
        return needed
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            row = connection.execute("SHOW max_connections").fetchone()
    except psycopg.Error as error:
        _say(f"The number of connections that the database allows is not known: {error}")
        return needed
    allowed = (int(row[0] if row else 0) - RESERVED_CONNECTIONS) // environment.WEB_PROCESSES
    if allowed >= needed:
        return needed
    _say(
        f"PostgreSQL allows {row[0] if row else 0} connections: {environment.WEB_PROCESSES} web processes get "
        f"{max(allowed, LEAST_POOL)} each instead of {needed}. Raise max_connections or lower WEB_PROCESSES."
    )
    return max(allowed, LEAST_POOL)


def _say(message: str) -> None:
    sys.stdout.write(f"{message}\n")
    sys.stdout.flush()


def _fail(error: OSError) -> int:
    _say(f"The web server cannot listen on port {env.PORT} of {env.HOST}: {error}")
    return CANNOT_START


if __name__ == "__main__":
    sys.exit(main())
