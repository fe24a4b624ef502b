"""Pages under the content security policy: no script of a page is refused, and what the theme's scripts do still works.

`open_page` fails a test for each violation and each error of a script.
"""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.urls import NoReverseMatch, reverse
from playwright.sync_api import Page, expect

from tests.forms_plugin import is_full

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(600)]

FEW = ("accounts.User", "knowledge.Document", "knowledge.Source", "evaluation.GoldenSet")  # of the short form


def admin_lists() -> list[str]:
    """Lists of the admin that have an address: in the short form those with the most kinds of fields and parts."""
    found = []
    for model in sorted(admin.site._registry, key=lambda one: one._meta.label):
        if is_full() or model._meta.label in FEW:
            try:
                found.append(reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"))
            except NoReverseMatch:
                continue
    return found


def visit(page: Page, address: str) -> bool:
    """Whether the page is there; its scripts have run."""
    answer = page.goto(address)
    page.wait_for_load_state("load")
    return answer is not None and answer.status == 200


def test_no_page_runs_what_the_policy_refuses(open_page, live_site):
    page = open_page()
    warnings: list[str] = []
    page.on("console", lambda message: warnings.append(message.text) if "Alpine" in message.text else None)

    for address in (*admin_lists(), "/admin/", "/profile", "/"):
        assert visit(page, live_site.url + address), address
        if address.startswith("/admin/") and address != "/admin/":
            visit(page, f"{live_site.url}{address}add/")
            visit(page, live_site.url + address)
            rows = page.locator("#result_list th a")
            if rows.count():
                visit(page, live_site.url + str(rows.first.get_attribute("href")))
    visit(page, f"{live_site.url}/api/docs")
    expect(page.get_by_role("heading", name="Ragsite API")).to_be_visible()

    assert not warnings


def test_the_theme_works_without_evaluating_code(open_page):
    page = open_page(at="/admin/accounts/user/")
    html = page.locator("html")

    page.keyboard.press("Control+e")  # the theme's own shortcut
    expect(html).to_have_class("light")  # from "auto", the first choice
    page.reload()
    page.locator("[x-on\\:click*=sidebarDesktopOpen]").click()
    expect(page.locator("#nav-sidebar")).to_be_hidden()
    page.reload()
    expect(page.locator("#nav-sidebar")).to_be_hidden()
    page.locator("[x-on\\:click*=sidebarDesktopOpen]").click()
    expect(page.locator("#nav-sidebar")).to_be_visible()
