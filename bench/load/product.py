"""The product and a model of known speed, started for a load, and what each of their processes uses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bench.load.figures import ProcessUse
from bench.load.people import Account
from ragsite.embedded.processes import free_port
from ragsite.env import PROJECT_ROOT

START_SECONDS = 300
STOP_SECONDS = 40
SAMPLE_SECONDS = 2.0
NOT_INHERITED = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "ADMIN_PASSWORD", "DJANGO_SETTINGS_MODULE")


@dataclass(frozen=True, slots=True)
class Product:
    """A running product in a folder of its own."""

    url: str
    process: psutil.Process
    environment: dict[str, str]

    def make_people(self, number: int) -> list[Account]:
        """Accounts in its database."""
        command = [sys.executable, "-m", "bench.load.people", str(number)]
        done = subprocess.run(command, cwd=PROJECT_ROOT, env=self.environment, capture_output=True, check=True)
        return [Account(**person) for person in json.loads(done.stdout)]


@contextmanager
def running_product(*, with_model: bool) -> Iterator[Product]:
    """`make run` with the demo sets, in a folder that is removed; `with_model`: with a model of known speed."""
    with tempfile.TemporaryDirectory(prefix="ragsite-load-") as folder, _model(is_wanted=with_model) as model:
        environment = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
        environment |= {"DATA_DIR": folder, "PORT": str(free_port()), "DEMO": "1", **model}
        output = Path(folder) / "output.txt"
        with output.open("wb") as file:
            child = subprocess.Popen(
                [sys.executable, "-m", "ragsite.embedded"],
                cwd=PROJECT_ROOT,
                env=environment,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            _wait_until_ready(child, output)
            yield Product(f"http://127.0.0.1:{environment['PORT']}", psutil.Process(child.pid), environment)
        finally:
            child.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                child.wait(STOP_SECONDS)
            child.kill()
            child.wait()


def _wait_until_ready(child: subprocess.Popen[bytes], output: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while "Ready: " not in output.read_text(encoding="utf-8"):
        if child.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"The product did not start:\n{output.read_text(encoding='utf-8')[-4000:]}")
        time.sleep(0.5)


@contextmanager
def _model(*, is_wanted: bool) -> Iterator[dict[str, str]]:
    """The variables that lead to the model."""
    if not is_wanted:
        yield {}
        return
    port = free_port()
    child = subprocess.Popen(
        [sys.executable, "-m", "bench.latency.model_server", "--port", str(port)], cwd=PROJECT_ROOT
    )
    try:
        yield {"LLM_BASE_URL": f"http://127.0.0.1:{port}/v1", "LLM_API_KEY": "none", "LLM_MODEL": "known-speed"}
    finally:
        child.terminate()
        child.wait()


def is_idle(site: str, account: Account) -> bool:
    """Whether no document that the account sees is being ingested."""
    address = f"{site}/api/v1/documents?state=processing"
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {account.key}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return bool(json.load(answer)["count"] == 0)


@dataclass
class Meter:
    """Processor time and largest memory of every process below one, between `start` and `stop`."""

    root: psutil.Process
    _before: dict[int, float] = field(default_factory=dict)
    _seen: dict[int, tuple[str, float, float]] = field(default_factory=dict)  # pid -> name, processor s, largest MB

    def start(self) -> None:
        self._seen.clear()
        self.sample()
        self._before = {pid: cpu for pid, (_, cpu, _) in self._seen.items()}

    def sample(self) -> None:
        """Call every few seconds; what a process used after the last sample is lost when it ends."""
        for process in [self.root, *self.root.children(recursive=True)]:
            with suppress(psutil.Error):
                times, name = process.cpu_times(), name_of(process.cmdline())
                memory = process.memory_full_info().pss / 1e6
                largest = max(memory, self._seen.get(process.pid, ("", 0.0, 0.0))[2])
                self._seen[process.pid] = (name, times.user + times.system, largest)

    def stop(self) -> list[ProcessUse]:
        """One row for each kind of process."""
        self.sample()
        uses: dict[str, ProcessUse] = {}
        for pid, (name, cpu, memory) in self._seen.items():
            so_far = uses.get(name, ProcessUse(name=name, cpu_seconds=0.0, memory_mb=0.0))
            spent = cpu - self._before.get(pid, 0.0)
            uses[name] = ProcessUse(
                name=name, cpu_seconds=so_far.cpu_seconds + spent, memory_mb=so_far.memory_mb + memory
            )
        return list(uses.values())


def name_of(command: list[str]) -> str:
    """What a process is, in a word."""
    text = " ".join(command)
    if "ragsite.web_server" in command:
        return f"web {command[command.index('--number') + 1]}" if "--number" in command else "web"
    if "celery" in text:
        return command[command.index("-Q") + 1] + " worker" if "-Q" in command else "scheduler"
    for word in ("postgres", "redis-server", "valkey-server", "ragsite.embedded"):
        if word in text:
            return word
    return "other"
