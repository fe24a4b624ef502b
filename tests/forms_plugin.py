"""The two forms of the test run: the short one of `make test`, and the full one of `make test-full` (TESTS_FULL=1).

docs/testing.md says what only the full form does. Loaded by `-p tests.forms_plugin` (pyproject.toml).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

SHORT, FULL = "short", "full"
MANY = 10  # times as many examples in the full form
SYSTEMATIC_REQUESTS = 3  # for each operation of the API in the short form
MANY_ROWS, SOME_ROWS = 6, 4  # of a test with more rows over the database, the short form takes so many
EVERY_ROW = ("tests/security/", "tests/browser/")  # their rows are addresses, attacks and walks, each a case of its own
NEEDS_DATABASE = {"db", "transactional_db", "django_db_setup", "live_server"}
# what one process runs: files that share a running product, the parsed modules of the product, or a world of people
TOGETHER = ("tests/browser/", "tests/house/")
ONE_WORLD = {"tests/security/test_bad_values.py": "tests/security/test_every_route.py"}
# the longest one first: a process that begins one at the end leaves the others without work; the second and the third
# need no database, so that two processes work while the first one migrates
LONG_FILES = (Path(__file__).parent / "long_files.txt").read_text(encoding="utf-8").split()
settings.register_profile(SHORT, max_examples=12, derandomize=True, deadline=None, database=None)
settings.register_profile(FULL, max_examples=500, deadline=None, print_blob=True)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile(FULL if is_full() else SHORT)


def is_full() -> bool:
    return os.environ.get("TESTS_FULL") == "1"


def examples(number: int) -> int:
    """Examples of a law in this form, for `@settings(max_examples=examples(…))`: the number, or many times as many."""
    return number * MANY if is_full() else number


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave long forms out of the short one, give every test a name of its own, and put the longest files first."""
    if not is_full():
        left_out = {id(item) for item in items if is_long(item)} | {id(item) for item in rows_between(items)}
        config.hook.pytest_deselected(items=[item for item in items if id(item) in left_out])
        items[:] = [item for item in items if id(item) not in left_out]
    for item in items:
        if label := getattr(item, "operation_label", None):
            name_schemathesis_test(item, label)
    if len({item.nodeid for item in items}) < len(items):
        raise pytest.UsageError("two tests have the same id: processes that share the work would run one of them")
    places = {scope: place for place, scope in enumerate(LONG_FILES)}
    items.sort(key=lambda item: places.get(scope_of(item.nodeid), len(places)))


def is_long(item: pytest.Item) -> bool:
    """Whether a test is left to the full form; `full(but_for=…)` names classes or tests that run in both."""
    mark = item.get_closest_marker("full")
    if mark is None:
        return False
    names = {getattr(getattr(item, "cls", None), "__name__", ""), getattr(item, "originalname", item.name)}
    return names.isdisjoint(mark.kwargs.get("but_for", "").split())


def rows_between(items: list[pytest.Item]) -> list[pytest.Item]:
    """What the short form leaves out of parametrised tests over the database: rows between the first and the last.

    SOME_ROWS of them run, evenly from all over the list. The mark `every_row` says that each is a case of its own, as
    in the folders EVERY_ROW and for operations of the API.
    """
    tables: dict[str, list[pytest.Item]] = {}
    for item in items:
        if hasattr(item, "callspec") and needs_database(item) and not is_long(item) and not has_own_rows(item):
            tables.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out = []
    for rows in tables.values():
        if len(rows) > MANY_ROWS:
            run = {id(row) for row in spread(rows, SOME_ROWS)}
            left_out += [row for row in rows if id(row) not in run]
    return left_out


def spread(rows: Sequence[Any], number: int) -> list[Any]:
    """So many of the rows, evenly from the first to the last; all where there are no more."""
    if len(rows) <= number:
        return list(rows)
    return [rows[round(n * (len(rows) - 1) / (number - 1))] for n in range(number)]


def has_own_rows(item: pytest.Item) -> bool:
    return (
        item.nodeid.startswith(EVERY_ROW)
        or item.get_closest_marker("every_row") is not None
        or getattr(item, "operation_label", None) is not None
    )


def needs_database(item: pytest.Item) -> bool:
    return bool(item.get_closest_marker("django_db") or NEEDS_DATABASE & set(getattr(item, "fixturenames", ())))


def scope_of(nodeid: str) -> str:
    """What one process runs as a whole: a file, or files that share what is made once, by the name of one of them."""
    file = nodeid.partition("::")[0]
    return next((folder for folder in TOGETHER if nodeid.startswith(folder)), ONE_WORLD.get(file, file))


def name_schemathesis_test(item: Any, label: str) -> None:
    """Put the operation into the id, where schemathesis leaves it out."""
    if item.id.params is None:
        item._id = item.id.with_params(label)


def some_of(requests: list[Any]) -> list[Any]:
    """All systematic requests of an operation in the full form, a few of them from all over the list in the short."""
    return requests if is_full() else spread(requests, SYSTEMATIC_REQUESTS)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """`--dist loadfile`, and folders whose files share what is made once, as if each were one file."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

        def _reschedule(self, node: Any) -> None:
            """A process has the file that it runs and the next one, without which it would not begin; no more."""
            while not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
                super()._reschedule(node)

    return Scheduling(config, log)
