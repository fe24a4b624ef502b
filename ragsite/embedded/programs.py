"""The programs of the product beside PostgreSQL and Redis: models, web, three workers, scheduler."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragsite.embedded.processes import Process
from ragsite.env import PROJECT_ROOT, Environment

INGESTION_QUEUES = ("ingest", "embed")
RECOGNITION_QUEUES = ("ocr", "diagnosis")
BACKGROUND_QUEUES = ("chat", "nightly")
INGESTION_PROCESSES = 2
BACKGROUND_THREADS = 4  # its tasks wait for the database most of the time
COURTESY = 10  # of 19: ingestion takes the processor that people's questions leave
MOST_COURTESY = 19  # scans, diagnoses, evaluation runs and trainings take what is left then


@dataclass(frozen=True, slots=True)
class Program:
    """A name, which is also that of its log, and a command for this interpreter."""

    name: str
    arguments: tuple[str, ...]
    niceness: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)

    def process(self, env: Environment) -> Process:
        """Not started yet."""
        return Process(
            name=self.name,
            command=[*nice(self.niceness), sys.executable, *self.arguments],
            log=env.DATA_DIR / "logs" / f"{self.name}.log",
            environment={**child_environment(env), **self.environment},
            folder=PROJECT_ROOT,
        )


def nice(niceness: int) -> list[str]:
    """The front of a command that runs with less priority; nothing where the system has no such program."""
    program = shutil.which("nice")
    return [program, "-n", str(niceness)] if niceness and program else []


def child_environment(env: Environment) -> dict[str, str]:
    """Ours, with the data folder made absolute. Children find the services in its runtime.json."""
    return {**os.environ, "DATA_DIR": str(env.DATA_DIR), "PYTHONUNBUFFERED": "1"}


def bootstrap_command(env: Environment) -> list[str]:
    """Collects static files, prepares the packaged model, migrates; at the first start also makes the administrator
    and the sample sets.
    """
    return [
        sys.executable,
        str(PROJECT_ROOT / "manage.py"),
        "bootstrap",
        "--static",
        "--models",
        "--demo",
        str(int(env.DEMO)),
    ]


def programs(env: Environment) -> tuple[Program, ...]:
    """All programs in the order in which they are started and stopped."""
    return (_web(), _ingestion(env), _recognition(env), _background(env), _scheduler(env.LOG_LEVEL))


def model_program() -> Program:
    """Holds the models of folders for all others."""
    return Program("models", ("-m", "ragsite.model_process"))


def _web() -> Program:
    return Program("web", ("-m", "ragsite.web_server", "--graceful-seconds", "5", "--stop-seconds", "6"))


def _ingestion(env: Environment) -> Program:
    """Two processes share the cores: while one reads or publishes, the other one embeds."""
    size = ("--concurrency", str(INGESTION_PROCESSES))
    threads = {} if env.EMBEDDER_THREADS else {"EMBEDDER_THREADS": "1"}
    return _worker(env, "worker", INGESTION_QUEUES, size, niceness=COURTESY, environment=threads)


def _recognition(env: Environment) -> Program:
    """One scan at a time, apart: texts never wait for scans. Between scans it diagnoses cases."""
    return _worker(env, "ocr", RECOGNITION_QUEUES, ("--pool", "solo"), niceness=MOST_COURTESY)


def _background(env: Environment) -> Program:
    """What must not queue behind ingestion: the upkeep of conversations and of indexes.

    With courtesy: nobody waits for one of its tasks by the second. Answers, their titles and stored answers are made in
    the web processes; sweeps, summaries of earlier turns, mail, sources and lexicons may come a little later.
    One thread for linear algebra: those of OpenBLAS wait for each other by spinning, and beside other programs on two
    cores a factorisation took ten times the processor time.
    """
    size = ("--pool", "threads", "--concurrency", str(BACKGROUND_THREADS))
    threads = {} if "OPENBLAS_NUM_THREADS" in os.environ else {"OPENBLAS_NUM_THREADS": "1"}
    return _worker(env, "background", BACKGROUND_QUEUES, size, niceness=COURTESY, environment=threads)


def _worker(env: Environment, name: str, queues: Sequence[str], size: Sequence[str], **options: Any) -> Program:
    common = ("--prefetch-multiplier", "1", "--without-gossip", "--without-mingle")
    arguments = ("-m", "celery", "-A", "ragsite", "worker", "-n", f"{name}@%h", "-l", env.LOG_LEVEL)
    return Program(name, (*arguments, "-Q", ",".join(queues), *size, *common), **options)


def _scheduler(log_level: str) -> Program:
    # no schedule file that a crash could damage, and no pid file: our lock does what it would
    memory = ("--scheduler", "celery.beat:Scheduler", "--pidfile", "")
    return Program("scheduler", ("-m", "celery", "-A", "ragsite", "beat", "-l", log_level, *memory))
