"""Memory and processor time of programs and of all processes below them, as Linux tells them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


def family_of(pids: Sequence[int]) -> list[int]:
    """These processes and all below them."""
    found, waiting = [], list(pids)
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                waiting += [int(child) for child in children.read_text().split()]
            except FileNotFoundError:  # it ended meanwhile
                continue
    return found


def resident_bytes(pid: int) -> int:
    """What a process holds itself: memory shared with its parent is counted once, with the parent."""
    try:
        rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
    return sum(int(row.split()[1]) * 1024 for row in rows if row.startswith("Pss:"))


class HasPid(Protocol):
    @property
    def pid(self) -> int | None: ...


def processor_seconds(programs: Sequence[HasPid]) -> float:
    """Of these programs, all below them, and those of them that have ended; without PostgreSQL and Redis."""
    ticks = 0
    for pid in family_of([program.pid for program in programs if program.pid]):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:  # it ended meanwhile
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")
