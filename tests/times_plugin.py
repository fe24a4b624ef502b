"""Says at the end of each run which files and tests took longest, in processor time and by the clock.

Processor time is that of the test process and of the programs that it started and saw end; PostgreSQL's is not in it.
It says more than the clock where other work runs beside the tests. `TESTS_TIMES=FILE` writes the processor seconds of
every test there, the longest first. Loaded by `-p tests.times_plugin` (pyproject.toml).
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.forms_plugin import LONG_FILES, scope_of

SHOWN_FILES = 25
SHOWN_SECONDS = 2.0
LONG_TEST_SECONDS = 0.5  # of processor time: some hundreds of such tests take more than a third of a run
LONG_SECONDS = 30.0  # of processor time: such a file stands in tests/long_files.txt, or becomes shorter


def processor_seconds() -> float:
    """Of this process and of the children that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


@dataclass
class Times:
    """Sums by file in the process that reports; the moment of the last report in the process that tests."""

    processor: Counter[str] = field(default_factory=Counter)
    clock: Counter[str] = field(default_factory=Counter)
    tests: Counter[str] = field(default_factory=Counter)
    by_test: Counter[str] = field(default_factory=Counter)
    collecting: list[float] = field(default_factory=list)
    last: float = 0.0


times = Times()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    found = yield
    times.last = processor_seconds()
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["collecting"] = times.last
    elif session.items:
        times.collecting.append(times.last)
    return found


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    if seconds := getattr(node, "workeroutput", {}).get("collecting"):
        times.collecting.append(seconds)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Everything since the last report of this process belongs to this one, hooks between the phases, too."""
    report = yield
    now = processor_seconds()
    report.processor_seconds, times.last = now - times.last, now
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    file = scope_of(report.nodeid)
    seconds = getattr(report, "processor_seconds", 0.0)
    times.processor[file] += seconds
    times.by_test[report.nodeid] += seconds
    times.clock[file] += report.duration
    times.tests[file] += report.when == "call"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The slowest files, and the sums of a run."""
    if path := os.environ.get("TESTS_TIMES"):
        lines = [f"{seconds:.2f}\t{test}\n" for test, seconds in times.by_test.most_common()]
        Path(path).write_text("".join(lines), encoding="utf-8")
    slow = [(file, seconds) for file, seconds in times.processor.most_common(SHOWN_FILES) if seconds >= SHOWN_SECONDS]
    if not slow:
        return
    terminalreporter.section("slowest files (processor time, by the clock, tests)")
    for file, seconds in slow:
        line = f"{seconds:7.1f} s {times.clock[file]:7.1f} s {times.tests[file]:5}  {file}"
        late = seconds > LONG_SECONDS and file not in LONG_FILES
        terminalreporter.write_line(line + " begins late: not in tests/long_files.txt" * late, yellow=late)
    tests, collecting = sum(times.processor.values()), ", ".join(f"{s:.0f}" for s in sorted(times.collecting))
    terminalreporter.write_line(f"{tests:7.1f} s {sum(times.clock.values()):7.1f} s {times.tests.total():5}  all files")
    longer = [seconds for seconds in times.by_test.values() if seconds > LONG_TEST_SECONDS]
    terminalreporter.write_line(f"{sum(longer):7.1f} s in {len(longer)} tests of more than {LONG_TEST_SECONDS} s")
    terminalreporter.write_line(f"before the first test, in each process: {collecting} s; the run: {_elapsed()}")


def _elapsed() -> str:
    seconds = int(time.monotonic() - STARTED)
    return f"{seconds // 60}:{seconds % 60:02}"


STARTED = time.monotonic()
