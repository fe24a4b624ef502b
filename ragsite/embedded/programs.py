"""The programs of the product beside PostgreSQL and Redis: web, worker, scheduler."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from ragsite.embedded.processes import Process
from ragsite.env import PROJECT_ROOT, Environment

QUEUES = ("ingest", "embed", "ocr", "chat", "nightly")
CONCURRENCY = 2


@dataclass(frozen=True, slots=True)
class Program:
    """A name, which is also that of its log, and a command for this interpreter."""

    name: str
    arguments: tuple[str, ...]

    def process(self, env: Environment) -> Process:
        """Not started yet."""
        return Process(
            name=self.name,
            command=[sys.executable, *self.arguments],
            log=env.DATA_DIR / "logs" / f"{self.name}.log",
            environment=child_environment(env),
            folder=PROJECT_ROOT,
        )


def child_environment(env: Environment) -> dict[str, str]:
    """Ours, with the data folder made absolute. Children find the services in its runtime.json."""
    return {**os.environ, "DATA_DIR": str(env.DATA_DIR), "PYTHONUNBUFFERED": "1"}


def bootstrap_command(env: Environment) -> list[str]:
    """Migrates, and at the first start creates the administrator and the sample sets."""
    return [sys.executable, str(PROJECT_ROOT / "manage.py"), "bootstrap", "--demo", str(int(env.DEMO))]


def programs(env: Environment) -> tuple[Program, ...]:
    """All programs in the order in which they are started and stopped."""
    return (_web(env), _worker(env), _scheduler(env.LOG_LEVEL))


def _web(env: Environment) -> Program:
    address = ("--host", env.HOST, "--port", str(env.PORT))
    limits = ("--timeout-graceful-shutdown", "5", "--ws", "websockets-sansio", "--no-access-log")
    return Program("web", ("-m", "uvicorn", "ragsite.asgi:application", *address, *limits))


def _worker(env: Environment) -> Program:
    size = ("--concurrency", str(CONCURRENCY), "--prefetch-multiplier", "1")
    alone = ("--without-gossip", "--without-mingle")  # there is no second worker to talk to
    queues = ("-Q", ",".join(QUEUES))
    return Program("worker", ("-m", "celery", "-A", "ragsite", "worker", "-l", env.LOG_LEVEL, *queues, *size, *alone))


def _scheduler(log_level: str) -> Program:
    # no schedule file that a crash could damage, and no pid file: our lock does what it would
    memory = ("--scheduler", "celery.beat:Scheduler", "--pidfile", "")
    return Program("scheduler", ("-m", "celery", "-A", "ragsite", "beat", "-l", log_level, *memory))
