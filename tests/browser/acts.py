"""Which acts the pages offer to people, and which of them a test does by a person's means (`acts.tsv`)."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from playwright.sync_api import BrowserContext, Page

FOLDER = Path(__file__).parent
SCRIPT = (FOLDER / "acts.js").read_text(encoding="utf-8")
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
    """Act → the test that does it, as `file::function`."""
    lines = (FOLDER / "acts.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {(page, control): test for page, control, test in rows}


def write_table(acts: set[Act]) -> None:
    """Rewrite `acts.tsv` from what the tests of this run did; acts without a test stand without one (ACTS=write)."""
    known = table()
    doers = {act: test for test, done in sorted(performed.items(), reverse=True) for act in done}
    rows = {act: doers.get(act) or known.get(act, "") for act in acts | set(doers)}
    lines = [f"{page}\t{control}\t{test}" for (page, control), test in sorted(rows.items())]
    (FOLDER / "acts.tsv").write_text("# page\tact\ttest that does it\n" + "\n".join(lines) + "\n", encoding="utf-8")
