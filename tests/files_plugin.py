"""Each process that shares the tests imports and collects a file when its turn comes, not all files at its start.

With pytest-xdist every process collects every test, which takes 20 s of processor time in each, and names a test by its
place in the list. Here the list holds one item for each file; the tests of the file are collected, run and reported in
its place. Only where whole files are shared out (`--dist loadfile`) and nothing is chosen by name. Loaded by
`-p tests.files_plugin` (pyproject.toml).
"""

from __future__ import annotations

import compileall
import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.services_plugin import ROOT

PACKAGES = ("accounts", "chat", "evaluation", "feedback", "knowledge", "notifications", "ragcore", "ragsite", "work")
BY_FILE = "by_file"  # key of what the process that shares out the tests tells the others
MANY_MODULES = 50  # after so many imports the collector of garbage need not walk over what they made


def pytest_configure(config: pytest.Config) -> None:
    """In a new clone the processes would otherwise compile the same modules at the same time."""
    if config.getoption("dist", "no") == "loadfile":
        for package in PACKAGES:
            compileall.compile_dir(ROOT / package, quiet=2)
    elif getattr(config, "workerinput", {}).get(BY_FILE):
        config.pluginmanager.register(FilesPlugin())


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a process what only this one knows: xdist sets the option `dist` back to "no" in the others."""
    option = node.config.option
    chosen = option.keyword or option.markexpr or any("::" in one for one in node.config.args)
    node.workerinput[BY_FILE] = option.dist == "loadfile" and not chosen


class FileInTurn(pytest.File):
    """Stands for a module of tests in the list of a process."""

    def collect(self) -> Iterator[pytest.Item]:
        yield TestsOfFile.from_parent(self, name="tests")


class TestsOfFile(pytest.Item):
    """All tests of a file."""

    __test__ = False
    tests: list[pytest.Item] | None = None

    def collected(self) -> list[pytest.Item]:
        """The tests of this form of the run, in their order. What cannot be imported is told as pytest tells it."""
        if self.tests is None:
            imported = len(sys.modules)
            assert self.parent is not None
            module = pytest.Module.from_parent(self.parent.parent, path=self.path)
            self.tests = list(self.session.genitems(module))
            self.config.hook.pytest_collection_modifyitems(session=self.session, config=self.config, items=self.tests)
            if len(sys.modules) - imported > MANY_MODULES:
                gc.collect()
                gc.freeze()
        return self.tests

    def runtest(self) -> None:
        raise NotImplementedError("FilesPlugin runs its tests")


class FilesPlugin:
    """In a process that runs tests for another one."""

    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> FileInTurn:
        return FileInTurn.from_parent(parent, path=module_path)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run the tests of a file; before the last one, the next file is collected, of which fixtures may be kept."""
        if not isinstance(item, TestsOfFile):
            return None
        listed, tests = item.session.items, item.collected()
        if not tests:  # what the file before it has kept for its folders
            item.session._setupstate.teardown_exact(first_of(nextitem))
        place = listed.index(item)
        for number, test in enumerate(tests, start=1):
            following = tests[number] if number < len(tests) else first_of(nextitem)
            listed[place] = test  # the name of a report must be the one of its place
            item.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
            if item.session.shouldfail or item.session.shouldstop:
                break
        listed[place] = item
        return True


def first_of(item: pytest.Item | None) -> pytest.Item | None:
    """The first test of a file; the file itself where it has none: without a next item, what holds for the whole run
    would end, the database with it.
    """
    return next(iter(item.collected()), item) if isinstance(item, TestsOfFile) else item
