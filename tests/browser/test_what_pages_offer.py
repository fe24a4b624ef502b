"""The table of pages and acts: each act that a page offers is done by a test with the means that a person has.

`acts.tsv` is written by a run of this folder with ACTS=write. A new button, form or file field stands there without
a test until one presses it. `open` stands where no test does the act yet: that list only becomes shorter.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.acts import FOLDER, OPEN, Act, acts_on, has_test, is_writing, performed, table, write_table
from tests.browser.conftest import SHORT_FORM
from tests.browser.test_admin_pages import kinds_of_pages
from tests.forms_plugin import is_full

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(600)]

OF_EMPLOYEES = ("/", "/profile", "/profile/second-factor", "/sets", "/shared", "/inbox")
FORMS = (
    *(f"accounts/{name}/add/" for name in ("usergroup", "tenant", "apikey")),
    *(f"knowledge/{name}/add/" for name in ("attribute", "searchmodel", "sourcehandler", "lexiconterm")),
    "evaluation/goldencase/add/",
    "chat/announcement/add/",
)  # besides those among the kinds of pages
OPEN_ACTS = 0  # rows of the table that say `open`; lower it with each act that gets a test
SHARE = 3  # one page of so many in the short form


@pytest.fixture(scope="module")
def addresses(live_site, beside) -> list[str]:
    of_admin: list[str] = [f"/admin/{address}" for address in (*beside(kinds_of_pages), *FORMS)]
    return [*OF_EMPLOYEES, *(of_admin if is_full() or is_writing() else of_admin[::SHARE])]


def offered(page: Page, url: str, addresses: list[str]) -> dict[Act, str]:
    """Act → the first of the addresses that offers it."""
    acts: dict[Act, str] = {}
    for address in addresses:
        answer = page.goto(url + address, wait_until="domcontentloaded")
        assert answer is not None
        assert answer.status == 200, address
        acts |= dict.fromkeys(acts_on(page) - set(acts), address)
    return acts


def test_every_act_that_a_page_offers_is_in_the_table(addresses, open_page, live_site):
    acts = offered(open_page(), live_site.url, addresses)
    if is_writing():
        write_table(set(acts))

    assert len(acts) > 60
    assert {act: address for act, address in acts.items() if act not in table()} == {}


def test_every_act_of_the_table_has_a_test():
    assert {act: test for act, test in table().items() if test != OPEN and not has_test(test)} == {}
    assert sum(test == OPEN for test in table().values()) == OPEN_ACTS


def test_the_short_form_names_tests_that_there_are():
    assert [one for one in sorted(SHORT_FORM) if not has_test(one)] == []


def test_these_tests_run_after_all_others_of_the_folder():
    assert Path(__file__) == max(FOLDER.glob("test_*.py"))


def test_each_test_did_the_acts_that_the_table_says_of_it():
    """Of the tests that ran before: in the short form, and where a part of the folder runs, those are not all."""
    assert [(*act, test) for act, test in table().items() if test in performed and act not in performed[test]] == []
