"""Runs one of our modules as a process for one untrusted file: starts, limits, watches and ends it."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

import ragcore
from ragcore.errors import CorruptDocumentError, ResourceLimitError, SandboxUnavailableError
from ragcore.parsing.sandbox.confine import MEASURES, UNCONFINED_EXIT

LIMIT_EXIT = 70  # even the answer did not fit into the memory or output that is allowed
STARVED_SHARE = 0.4  # of the address space; not all of it is ever resident
RSS_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024
# no secrets of the server; more threads than one would escape the system call filter and the namespaces
ENVIRONMENT = {"LC_ALL": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
_ROOT = Path(ragcore.__file__).resolve().parents[1]
_KILLED_BY_LIMIT = (-signal.SIGKILL, -signal.SIGXCPU, -signal.SIGXFSZ)


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """What one file may cost."""

    memory_bytes: int = 512 * 1024 * 1024  # address space
    cpu_seconds: int = 60
    wall_seconds: float = 120.0
    output_bytes: int = 128 * 1024 * 1024


DEFAULT_LIMITS = SandboxLimits()


@dataclass
class SandboxPolicy:
    """What holds for all files that this process has read. Set once, when it starts."""

    required: bool = False  # no file is read where a process cannot be confined


POLICY = SandboxPolicy()


def run_in_sandbox(
    module: str,
    source: IO[bytes],
    target: IO[bytes],
    *,
    order: Mapping[str, object],
    name: str,
    limits: SandboxLimits = DEFAULT_LIMITS,
) -> bytes:
    """The output of one of our modules: see `write_in_sandbox`."""
    write_in_sandbox(module, source, target, order=order, name=name, limits=limits)
    return target.read(limits.output_bytes + 1)


def write_in_sandbox(
    module: str,
    source: IO[bytes],
    target: IO[bytes],
    *,
    order: Mapping[str, object],
    name: str,
    limits: SandboxLimits = DEFAULT_LIMITS,
) -> None:
    """Run one of our modules as a sandboxed process with a file on its standard input; its output is in `target`.

    The module gets the order, the name and the limits as JSON in its first argument and calls `confine` itself.
    Raises ResourceLimitError when a limit was reached, CorruptDocumentError when the process crashed,
    SandboxUnavailableError when POLICY requires what this machine does not offer.
    """
    # a new process is charged with the peak of the one that started it; below that its own peak is not known
    inherited_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT_BYTES
    status, peak_bytes = _run(module, source, target, order, name, limits)
    # native code that gets no memory crashes in many ways; what it had taken tells this from a broken file
    starved = status < 0 and peak_bytes > max(STARVED_SHARE * limits.memory_bytes, inherited_bytes)
    if status in _KILLED_BY_LIMIT or status == LIMIT_EXIT or starved:
        raise ResourceLimitError(name=name, status=status, peak_bytes=peak_bytes)
    if status == UNCONFINED_EXIT:
        raise SandboxUnavailableError(name=name)
    if status != 0:
        raise CorruptDocumentError(name=name, problem=f"the parser crashed with status {status}")
    target.seek(0)


def _run(
    module: str, source: IO[bytes], target: IO[bytes], order: Mapping[str, object], name: str, limits: SandboxLimits
) -> tuple[int, int]:
    """Exit status of the process (negative: the signal that ended it) and the memory that it had at most."""
    limit_values = {
        "memory_bytes": limits.memory_bytes,
        "cpu_seconds": limits.cpu_seconds,
        "output_bytes": limits.output_bytes,
        "required": POLICY.required,
    }
    message = json.dumps({**order, "name": Path(name).name, "limits": limit_values})
    process = subprocess.Popen(
        [sys.executable, "-E", "-s", "-m", module, message],
        stdin=source,
        stdout=target,
        stderr=subprocess.DEVNULL,
        cwd=_ROOT,
        env=ENVIRONMENT,
        close_fds=True,
        start_new_session=True,
    )
    ended = False
    try:
        ended = _wait_for_end(process, limits.wall_seconds)
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # also what it started; the process itself is not reaped yet
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)  # Popen would wait for it once more
    if not ended:
        raise ResourceLimitError(name=name, wall_seconds=limits.wall_seconds)
    return process.returncode, usage.ru_maxrss * RSS_UNIT_BYTES


def _wait_for_end(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for the end of a process, without reaping it; False if the time was over before."""
    if not hasattr(os, "pidfd_open"):  # not on Linux
        return _poll_for_end(process, seconds)
    descriptor = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    finally:
        os.close(descriptor)


def _poll_for_end(process: subprocess.Popen[bytes], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return True
        time.sleep(0.01)
    return False


@cache
def sandbox_measures() -> dict[str, bool]:
    """Which of MEASURES are in force for parsing processes on this machine, as one says that does nothing else."""
    command = [sys.executable, "-E", "-s", "-m", "ragcore.parsing.sandbox.probe"]
    process = subprocess.run(command, capture_output=True, timeout=30, check=False, cwd=_ROOT, env=ENVIRONMENT)
    in_force = set(process.stdout.decode(errors="replace").split()) if process.returncode == 0 else set()
    return {name: name in in_force for name in MEASURES}
