"""The real product, started as `make run` does, with its processes by the part that they play."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg

from ragcore.client_registry import tls_context
from ragsite.embedded.processes import free_port, processes_in, wait_until
from ragsite.env import PROJECT_ROOT

NOT_INHERITED = (
    *("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "ADMIN_PASSWORD", "LLM_BASE_URL", "LLM_FILE"),
    "DJANGO_SETTINGS_MODULE",
)
START_SECONDS = 240
SUPERVISOR, WEB, SCHEDULER, POSTGRES, REDIS = "supervisor", "web", "scheduler", "postgres", "redis"
WEB_PROCESS = "web process"  # one of those that the web server starts


@dataclass
class Product:
    """One DATA_DIR and whoever runs it. `models`: a folder with the exported model, so that no start has to make it.

    `web_processes`: None for as many as the product chooses.
    """

    data_dir: Path
    models: Path
    web_processes: int | None = None
    port: int = field(default_factory=free_port)
    child: subprocess.Popen[bytes] | None = None
    key: str = ""

    def __post_init__(self) -> None:
        self.data_dir.mkdir(parents=True, exist_ok=True)
        self.models.mkdir(parents=True, exist_ok=True)
        if not (self.data_dir / "models").exists():
            (self.data_dir / "models").symlink_to(self.models.resolve())
        self.output = self.data_dir / "output.txt"
        self.url = f"http://127.0.0.1:{self.port}"

    # ── starting and stopping ───────────────────────────────────────────────────────────────────

    def start(self) -> None:
        """Start it and return when all its programs run; raises AssertionError with what it said."""
        with self.output.open("ab") as output:
            self.child = subprocess.Popen(
                [sys.executable, "-m", "ragsite.embedded", "--with-parent"],
                cwd=PROJECT_ROOT,
                env=self._environment(),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        ready = wait_until(self.is_complete, seconds=START_SECONDS, unless=lambda: self.child.poll() is not None)
        assert ready, f"the product did not start:\n{self.output.read_text()[-4000:]}"

    def stop(self) -> None:
        """In order; what does not end is killed."""
        if self.child is not None and self.child.poll() is None:
            self.child.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self.child.wait(30)
            self.child.kill()
            self.child.wait()
        assert wait_until(self.has_ended, seconds=60), "processes of the product are left"

    def has_ended(self) -> bool:
        return not any(processes_in(self.data_dir / name) for name in (POSTGRES, REDIS)) and not self.answers()

    def _environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
        chosen = {"WEB_PROCESSES": str(self.web_processes)} if self.web_processes else {}
        return {**inherited, **chosen, "DATA_DIR": str(self.data_dir), "PORT": str(self.port), "DEMO": "0"}

    def manage(self, *arguments: str) -> str:
        """The output of a management command on the running product."""
        command = [sys.executable, str(PROJECT_ROOT / "manage.py"), *arguments]
        done = subprocess.run(command, env=self._environment(), capture_output=True, text=True, check=True, timeout=120)
        return done.stdout

    # ── processes ───────────────────────────────────────────────────────────────────────────────

    def parts(self) -> dict[str, int]:
        """Process ids by part: supervisor, web, worker, scheduler, postgres, redis, and further workers by queue."""
        if self.child is None or self.child.poll() is not None:
            return {}
        found = {SUPERVISOR: self.child.pid}
        for pid in children_of(self.child.pid):
            if part := part_of(arguments_of(pid)):
                found[part] = pid
        if processes := [pid for pid in children_of(found.get(WEB, 0)) if part_of(arguments_of(pid)) == WEB]:
            found[WEB_PROCESS] = min(processes)
        return found

    def is_complete(self) -> bool:
        """Whether every part runs and both services and the web server answer."""
        parts = self.parts()
        return {SUPERVISOR, WEB, SCHEDULER, POSTGRES, REDIS, "worker"} <= set(parts) and self.answers()

    def kill(self, part: str) -> int:
        """kill -9 to one part, unannounced; returns its process id. A killed supervisor takes its children along."""
        pid = self.parts()[part]
        os.kill(pid, signal.SIGKILL)
        if part == SUPERVISOR and self.child is not None:
            self.child.wait()
        return pid

    # ── asking it ───────────────────────────────────────────────────────────────────────────────

    def answers(self) -> bool:
        try:
            answer = httpx.get(f"{self.url}/health", timeout=5, trust_env=False, verify=tls_context())
            return answer.status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def client(self) -> httpx.Client:
        """Signed in as the administrator."""
        if not self.key:
            self.key = self.manage("api_key", "create", "--user", "admin", "--name", "faults").split()[-1]
        headers = {"Authorization": f"Bearer {self.key}"}
        return httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=60, trust_env=False)

    def rows(self, sql: str, params: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """What a statement returns, in a connection of its own; raises psycopg.OperationalError while it is down."""
        runtime = json.loads((self.data_dir / "runtime.json").read_text())
        with psycopg.connect(runtime["database_url"], autocommit=True, connect_timeout=5) as connection:
            cursor = connection.execute(sql, params)
            return cursor.fetchall() if cursor.description else []


def children_of(pid: int) -> list[int]:
    """Process ids of the direct children."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for thread in threads for child in (thread / "children").read_text().split()]
    except FileNotFoundError:  # it ended meanwhile
        return []


def arguments_of(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return []


def part_of(arguments: list[str]) -> str | None:
    """Which part of the product a command line is; None for the launcher on its way and for one-off programs."""
    if not arguments or any(argument.endswith("launch.py") for argument in arguments):
        return None
    if "ragsite.web_server" in arguments:
        return WEB
    if "beat" in arguments:
        return SCHEDULER
    if "worker" in arguments:
        queues = arguments[arguments.index("-Q") + 1].split(",")
        return "worker" if "ingest" in queues else f"{queues[0]} worker"
    return {"postgres": POSTGRES, "redis-server": REDIS, "valkey-server": REDIS}.get(
        Path(arguments[0].split(" ")[0]).name
    )
