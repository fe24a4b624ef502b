"""Files, versions and shared links: axe finds nothing and nothing scrolls sideways, in both languages."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.content import English
from tests.browser.test_admin_pages import AXE, CHECK, RULES, faults_of
from tests.scripted_llm import Reply

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)]


@pytest.mark.parametrize("language", [pytest.param("en-GB", marks=pytest.mark.full), "zh-CN"])
def test_files_versions_and_shared_links_have_no_fault_that_axe_finds(open_page, live_site, language):
    live_site.llm.default = Reply(texts=English.pieces)
    page = open_page(live_site.reader, bypass_csp=True, locale=language)
    page.locator("#attach-input").set_input_files(
        [{"name": "a.md", "mimeType": "text/markdown", "buffer": b"The allowance is 34 euros."}]  # type: ignore[list-item]
    )
    expect(page.locator("#attached > li")).to_have_attribute("data-state", "ready")
    faults = faults_of(page, "a file")
    page.locator("#question").fill(English.question)
    page.locator("#question").press("Enter")
    expect(page.locator(".turn").last).to_have_attribute("data-state", "done")

    page.locator("[data-menu=again-menu]").click()
    page.wait_for_function("document.getAnimations().length === 0")
    page.evaluate(AXE)  # a change of the window's size would close the menu
    faults += [f"ways to answer again: {fault}" for fault in page.evaluate(CHECK, RULES)]
    page.locator("[data-again]").first.click()
    expect(page.locator(".versions")).to_contain_text("2 / 2")
    page.locator("[data-edit-question]").click()
    page.evaluate("document.querySelector('#main').scrollTop = 0")
    faults += faults_of(page, "versions and an edited question")
    page.keyboard.press("Escape")
    page.locator("[data-share]").click()
    page.locator("#share-make").click()
    expect(page.locator("#share-link")).to_have_value(re.compile("/shared/"))
    faults += faults_of(page, "the dialog of a link")
    page.goto(page.locator("#share-link").input_value())
    faults += faults_of(page, "a shared answer")
    page.goto(f"{live_site.url}/shared")
    faults += faults_of(page, "one's own links")

    assert faults == [], json.dumps(faults, indent=1)
