"""Files from strangers are parsed in a process of their own with limits on memory, time, output and network (D9)."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import ragcore
from ragcore.errors import CorruptDocumentError, ResourceLimitError
from ragcore.parsing import format_of
from ragcore.parsing.child import LIMIT_EXIT
from ragcore.parsing.wire import load
from ragcore.types import ParsedDocument

SMALL_BYTES = 256 * 1024
STARVED_SHARE = 0.4  # of the address space; not all of it is ever resident
RSS_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024
_HARMLESS = frozenset({".txt", ".log", ".md", ".markdown", ".html", ".htm"})  # no nested or compressed structure
_ROOT = Path(ragcore.__file__).resolve().parents[1]
_KILLED_BY_LIMIT = (-signal.SIGKILL, -signal.SIGXCPU, -signal.SIGXFSZ)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseLimits:
    """What one file may cost."""

    memory_bytes: int = 512 * 1024 * 1024  # address space
    cpu_seconds: int = 60
    wall_seconds: float = 120.0
    output_bytes: int = 128 * 1024 * 1024


DEFAULT_LIMITS = ParseLimits()


def needs_containment(name: str, size: int) -> bool:
    """False for small text formats, which the caller may parse itself: a process costs about 0.1 s.

    Raises UnsupportedFormatError.
    """
    return format_of(name) not in _HARMLESS or size >= SMALL_BYTES


def parse_contained(content: bytes, *, name: str, limits: ParseLimits = DEFAULT_LIMITS) -> ParsedDocument:
    """Like `parse`, in a fresh process that may not harm anyone.

    Raises what `parse` raises; ResourceLimitError when a limit was reached; CorruptDocumentError with the
    signal when the process crashed.
    """
    format_of(name)  # no process for a format that nobody can read
    with TemporaryFile() as source, TemporaryFile() as target:
        source.write(content)
        source.seek(0)
        status, peak_bytes = _run(source, target, name, limits)
        target.seek(0)
        answer = target.read(limits.output_bytes + 1)
    # native code that gets no memory crashes in many ways; what it had taken tells this from a broken file
    starved = status < 0 and peak_bytes > STARVED_SHARE * limits.memory_bytes
    if status in _KILLED_BY_LIMIT or status == LIMIT_EXIT or starved:
        raise ResourceLimitError(name=name, status=status, peak_bytes=peak_bytes)
    if status != 0:
        raise CorruptDocumentError(name=name, problem=f"the parser crashed with status {status}")
    try:
        return load(answer)
    except ValueError as problem:
        raise CorruptDocumentError(name=name, problem="the parser gave no answer") from problem


def _run(source: IO[bytes], target: IO[bytes], name: str, limits: ParseLimits) -> tuple[int, int]:
    """Exit status of the process (negative: the signal that ended it) and the memory that it had at most."""
    given = {
        "memory_bytes": limits.memory_bytes,
        "cpu_seconds": limits.cpu_seconds,
        "output_bytes": limits.output_bytes,
    }
    order = json.dumps({"name": Path(name).name, "limits": given})
    process = subprocess.Popen(
        [sys.executable, "-E", "-s", "-m", "ragcore.parsing.child", order],
        stdin=source,
        stdout=target,
        stderr=subprocess.DEVNULL,
        cwd=_ROOT,
        env={"LC_ALL": "C.UTF-8"},  # no secrets of the server
        close_fds=True,
        start_new_session=True,
    )
    ended = False
    try:
        ended = _ended(process, limits.wall_seconds)
    finally:
        if not ended:
            os.killpg(process.pid, signal.SIGKILL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)  # Popen would wait for it once more
    if not ended:
        raise ResourceLimitError(name=name, wall_seconds=limits.wall_seconds)
    return process.returncode, usage.ru_maxrss * RSS_UNIT_BYTES


def _ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for the end of a process, without reaping it; False if the time was over before."""
    if not hasattr(os, "pidfd_open"):  # not on Linux
        return _polled(process, seconds)
    descriptor = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    finally:
        os.close(descriptor)


def _polled(process: subprocess.Popen[bytes], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return True
        time.sleep(0.01)
    return False
