"""Which acts the pages offer to people, and which of them a test does by a person's means (`acts.tsv`)."""

from __future__ import annotations

import ast
import os
from collections import defaultdict
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path

from playwright.sync_api import BrowserContext, Page

FOLDER = Path(__file__).parent
SCRIPT = (FOLDER / "acts.js").read_text(encoding="utf-8")
OPEN = "open"  # in place of a test: an act that no test does yet
Act = tuple[str, str]  # page, control
performed: dict[str, set[Act]] = defaultdict(set)  # test → acts that trusted events did while it ran


def record_acts(context: BrowserContext, *, test: str) -> None:
    """Remember each act that a press, a choice or a key does on a page of this context, for this test.

    Events that a test sends itself are not trusted by the browser and do not count.
    """
    acts = performed[test]
    context.expose_binding("actDone", lambda source, act: acts.add((act[0], act[1])))
    context.add_init_script(SCRIPT)


def acts_on(page: Page) -> set[Act]:
    """All acts that the page offers; those in closed menus and dialogs, too."""
    return {(place, control) for place, control in page.evaluate("window.actsOnPage()")}


def table() -> dict[Act, str]:
    """Act → the test that does it, as `file::function`, or `open`."""
    lines = (FOLDER / "acts.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {(page, control): test for page, control, test in rows}


def is_writing() -> bool:
    return os.environ.get("ACTS") == "write"


def has_test(test: str) -> bool:
    """The test may stand with the parameter that does the act: `file::function[parameter]`."""
    file, _, name = test.partition("::")
    return name.partition("[")[0] in functions(file)


@cache
def functions(file: str) -> set[str]:
    path = FOLDER / file
    tree = ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.Module([], [])
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def write_table(offered: AbstractSet[Act] = frozenset()) -> None:
    """Add to `acts.tsv` what the tests of this run did and what pages offer (ACTS=write); no test is run for it again.

    A row whose test is gone, or ran and no longer does the act, loses the test. One without a test is an act that
    pages offer: where all of them were looked at (`offered`), the others leave.
    """
    known = table()
    doers = {act: test for test, done in sorted(performed.items(), reverse=True) for act in done}
    outdated = {act for act, test in known.items() if test in performed and act not in performed[test]}
    valid = {act: test for act, test in known.items() if has_test(test) and act not in outdated}
    waiting = set(offered) or {act for act in known if act not in valid}
    still_open = {act: OPEN for act, test in known.items() if test == OPEN}
    rows = {act: (still_open | doers | valid).get(act, "") for act in waiting | set(valid) | set(doers)}
    lines = [f"{page}\t{control}\t{test}" for (page, control), test in sorted(rows.items())]
    (FOLDER / "acts.tsv").write_text("# page\tact\ttest that does it\n" + "\n".join(lines) + "\n", encoding="utf-8")
